# scripts/checks/notices.py — THIRD_PARTY_NOTICES names what a build links and includes, and nothing else.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
#   notices.py <build folder> [--strict]
#
# Something linked or included without a section is a fault. A section without anything is one with --strict; else it
# is only said, since a build may leave parts out.
import pathlib
import re
import subprocess
import sys

import files

# The platform: the C library and the compiler's own headers and libraries.
PLATFORM = re.compile(
    r"^-l?(pthread|dl|rt|m)$|/lib(m|dl|rt|c|pthread)\.(so|a)"
    r"|/include/(c\+\+|x86_64-linux-gnu|aarch64-linux-gnu|linux|asm|asm-generic|bits|sys|gnu|arpa|net|netinet|rpc)/"
    r"|/lib/gcc/|/lib/clang/|/lib/llvm-22/lib/clang/|/include/[\w-]+\.h$")


def sections():
    """{name: pattern} of THIRD_PARTY_NOTICES."""
    text = (files.ROOT / "THIRD_PARTY_NOTICES").read_text(encoding="utf-8")
    found = re.findall(r"^-{80}\n(.+)\nUsed: .+\nFound by: (.+)$", text, re.MULTILINE)
    return {name: re.compile(pattern) for name, pattern in found}


def linked(build):
    """{static library: a target that links it}, from the build's own link lines. Of the shared libraries there, some
    are only offered to the linker; loaded() knows which are needed."""
    out, target = {}, ""
    for line in (build / "build.ninja").read_text(encoding="utf-8").splitlines():
        if line.startswith("build "):
            target = line.split(":")[0].removeprefix("build ").split()[0]
        elif line.startswith("  LINK_LIBRARIES = "):
            for item in line.split(" = ", 1)[1].split():
                if item.startswith("/") and item.endswith(".a") and not item.startswith(str(build)):
                    out.setdefault(item, target)
    return out


def loaded(build):
    """{shared library: a program that needs it}, from the programs themselves."""
    out = {}
    for path in build.rglob("*"):
        if not path.is_file() or path.is_symlink() or "CMakeFiles" in path.parts or path.suffix in (".o", ".a"):
            continue
        with path.open("rb") as f:
            if f.read(4) != b"\x7fELF":
                continue
        shown = subprocess.run(["readelf", "-d", str(path)], capture_output=True, text=True).stdout
        for name in re.findall(r"\(NEEDED\).*\[(.+)\]", shown):
            if not re.match(r"lib(c|m|dl|rt|pthread|tlxjit.*)\.so|ld-linux", name):
                out.setdefault(name, str(path.relative_to(build)))
    return out


def included(build):
    """{header outside the repository: an object that includes it}."""
    out, target = {}, ""
    shown = subprocess.run(["ninja", "-C", str(build), "-t", "deps"], capture_output=True, text=True).stdout
    for line in shown.splitlines():
        if line and not line.startswith(" "):
            target = line.split(":")[0]
            continue
        header = line.strip()
        if header.startswith("/") and not header.startswith((str(files.ROOT) + "/", str(build) + "/")):
            out.setdefault(header, target)
    return out


def main():
    build = pathlib.Path(sys.argv[1]).resolve()
    known, used, faults = sections(), set(), []
    if not known:
        return files.report(["THIRD_PARTY_NOTICES: no section was understood"])
    for items, verb in ((linked(build), "links"), (loaded(build), "needs"), (included(build), "includes")):
        for item, user in sorted(items.items()):
            names = [name for name, pattern in known.items() if pattern.search(item)]
            used.update(names)
            if not names and not PLATFORM.search(item):
                faults.append(f"{user} {verb} {item}, which THIRD_PARTY_NOTICES does not name")
    for name in known:
        if name not in used:
            message = f"THIRD_PARTY_NOTICES: nothing of {name} is in this build"
            if "--strict" in sys.argv:
                faults.append(message)
            else:
                print("note: " + message)
    return files.report(faults)


sys.exit(main())
