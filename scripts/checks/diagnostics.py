# scripts/checks/diagnostics.py — texts of errors that no test provokes: there should be none.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
#   diagnostics.py <JSON of `llvm-cov export`> [--write] [--others]      (scripts/coverage makes it)
#
# A text is a string literal of several words in the verifier, the builder, a pass or a kernel of the library; it counts
# as provoked when the region of code that it stands in was run. tests/unprovoked.txt lists the exceptions,
# `file: "text"`; one that a test provokes by now, or that is gone, is a fault too, so that the list can only shrink.
# --write makes it anew. In other layers texts that become part of an error are counted, and --others lists them: some
# need a device.
import json
import pathlib
import re
import sys

import files

EXCEPTIONS = files.ROOT / "tests" / "unprovoked.txt"
# Where all texts are such, and where code and reports are written too.
PLACES = re.compile(r"src/(ir/(check|verify|parse|type)|(builder|kernels|passes)/)\w*\.cpp$")
MIXED = re.compile(r"(src/(codegen|layout|runtime)|backends/(cpu|nvidia))/(emit/)?\w+\.(cpp|h)$")
ERROR = re.compile(r"([Ee]rror\w*|message|why|(\b|_)(bad|fail|fault|malformed|missing|refuse|report)\w*)\b[^;{}]*$|\breturn\s*$")
TOKEN = re.compile(r'//[^\n]*|"((?:[^"\\\n]|\\.)*)"|\'(?:[^\'\\]|\\.)\'')
WORDS = re.compile(r"[a-z]\S* \S*[a-z]")


def texts_of(source, mixed):
    """(line, column, text) of each literal of several words; literals that follow each other are one."""
    out, end = [], -1
    for match in TOKEN.finditer(source):
        if match.group(1) is None:
            continue
        if out and end >= 0 and not source[end:match.start()].strip():
            out[-1][2] += match.group(1)
        else:
            start = match.start()
            if mixed and not ERROR.search(source, max(0, start - 400), start):
                end = -1
                continue
            line = source.count("\n", 0, start) + 1
            out.append([line, start - source.rfind("\n", 0, start), match.group(1)])
        end = match.end()
    return [item for item in out if WORDS.search(item[2])]


def count_at(segments, line, column):
    """How often the region at a place was run; None where the compiler made no code."""
    count = None
    for segment in segments:
        if (segment[0], segment[1]) > (line, column):
            break
        count = segment[2] if segment[3] else None
    return count


def unprovoked(regions):
    for item in regions["data"][0]["files"]:
        path = pathlib.Path(item["filename"]).resolve()
        if not path.is_relative_to(files.ROOT):
            continue
        name = str(path.relative_to(files.ROOT))
        if not PLACES.match(name) and not MIXED.match(name):
            continue
        for line, column, text in texts_of(path.read_text(encoding="utf-8"), MIXED.match(name)):
            if count_at(item["segments"], line, column) == 0:
                yield name, line, text


def main():
    regions = json.loads(pathlib.Path(sys.argv[1]).read_text(encoding="utf-8"))
    found, others = {}, []
    for name, line, text in unprovoked(regions):
        if PLACES.match(name):
            found[f'{name}: "{text}"'] = line
        else:
            others.append(f'{name}:{line}: "{text}"')
    old = EXCEPTIONS.read_text(encoding="utf-8").splitlines() if EXCEPTIONS.exists() else []
    if "--write" in sys.argv:
        head = [line for line in old if line.startswith("#")]
        EXCEPTIONS.write_text("\n".join(head + sorted(found)) + "\n", encoding="utf-8")
        old = head + sorted(found)
    allowed = {line for line in old if line and not line.startswith("#")}
    faults = []
    for entry, line in sorted(found.items()):
        if entry not in allowed:
            name, text = entry.split(": ", 1)
            faults.append(f"{name}:{line}: no test provokes: {text}")
    faults += [f"tests/unprovoked.txt: provoked by now, or gone; remove: {entry}" for entry in sorted(allowed - set(found))]
    print(f"diagnostics: {len(found)} texts that no test provokes, {len(allowed)} of them listed in tests/unprovoked.txt")
    print(f"diagnostics: {len(others)} likewise in other layers; --others lists them")
    if "--others" in sys.argv:
        print("\n".join(others))
    return files.report(faults)


sys.exit(main())
