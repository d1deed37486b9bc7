# scripts/checks/includes.py — includes go one way through the layers, and installed headers show no third party.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
import re
import sys

import files

# A layer may include those of a lower rank. Layers of one rank do not see each other.
RANKS = {"core": 0, "ir": 1, "builder": 2, "layout": 2, "passes": 3, "codegen": 4, "cache": 4, "runtime": 5,
         "kernels": 6}
BACKEND_RANK = 5.5  # a back end sees runtime and below
REGISTRY = re.compile(r"src/runtime/registry\w*\.(h|cpp)$")
INCLUDE = re.compile(r'^\s*#\s*include\s*(["<])([^">]+)[">]')
THIRD_PARTY = re.compile(r"^(fmt|llvm|boost|cuda|hip|nvrtc|gtest|benchmark)\b")


def place(path):
    """(kind, layer) of a path relative to the root: ("layer", "ir"), ("backend", "cpu"), ("tests", "")…"""
    parts = path.split("/")
    if parts[:2] == ["include", "tlxjit"] and len(parts) > 3:
        return "layer", parts[2]
    if parts[0] == "src" and len(parts) > 2:
        return "layer", parts[1]
    if parts[0] == "backends" and len(parts) > 2:
        return "backend", parts[1]
    return parts[0], ""


def target(path, name):
    """The path, relative to the root, of an included file of this project, or None."""
    for candidate in ("include/" + name if name.startswith("tlxjit/") else name, str(path.parent / name)):
        if (files.ROOT / candidate).is_file() and candidate.startswith(
                ("include/", "src/", "backends/", "tests/", "bench/", "samples/", "tools/")):
            return candidate
    return None


def fault_of(path, included):
    kind, layer = place(str(path))
    to_kind, to_layer = place(included)
    if to_kind == "tests" and kind != "tests":
        return "only tests include tests"
    if to_kind == "tools" and kind not in ("tools", "tests"):
        return "only tools and tests include tools"
    if kind in ("samples", "docs") and not included.startswith(("include/", "samples/")):
        return "samples see installed headers only"
    if str(path).startswith("include/") and not included.startswith("include/"):
        return "an installed header includes installed headers only"
    if to_kind == "backend":
        if kind == "backend" and layer != to_layer:
            return f"back end {layer} sees back end {to_layer}"
        if kind not in ("backend", "tests", "bench", "tools") and not REGISTRY.search(str(path)):
            return "of the library, only src/runtime/registry* sees a back end"
    if to_kind != "layer" or kind not in ("layer", "backend"):
        return None
    if to_layer not in RANKS or (kind == "layer" and layer not in RANKS):
        return f"unknown layer in {path} or {included}"
    rank = BACKEND_RANK if kind == "backend" else RANKS[layer]
    if (kind == "backend" or layer != to_layer) and RANKS[to_layer] >= rank:
        return f"{layer} may not include {to_layer}"
    return None


def faults():
    for path in files.tracked():
        if path.suffix not in files.CPP | {".def"}:
            continue
        text = files.text_of(path) or ""
        for number, line in enumerate(text.splitlines(), 1):
            match = INCLUDE.match(line)
            if not match:
                continue
            name = match.group(2)
            if THIRD_PARTY.match(name):
                if str(path).startswith("include/"):
                    yield f"{path}:{number}: an installed header includes {name}"
                elif name.startswith("llvm") and not str(path).startswith(("backends/cpu/", "tests/")):
                    yield f"{path}:{number}: LLVM outside the CPU plug-in: {name}"
                continue
            included = target(path, name)
            if included is None:
                if match.group(1) == '"' and not name.endswith((".inc", ".def")):
                    yield f"{path}:{number}: {name} is no file of this project"
                continue
            fault = fault_of(path, included)
            if fault:
                yield f"{path}:{number}: {fault} ({name})"


sys.exit(files.report(list(faults())))
