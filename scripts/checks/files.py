# scripts/checks/files.py — which files the checks look at.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
import pathlib
import subprocess

ROOT = pathlib.Path(__file__).resolve().parents[2]
CPP = {".h", ".cpp"}
SOURCES = CPP | {".py", ".sh", ".cmake", ".def", ".map"}


def tracked():
    """Paths, relative to the root, of files that are committed or about to be."""
    listed = subprocess.run(
        ["git", "-c", "safe.directory=*", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT, check=True, capture_output=True, text=True).stdout
    paths = sorted({pathlib.PurePosixPath(p) for p in listed.split("\0") if p})
    return [p for p in paths if (ROOT / p).is_file()]


def text_of(path):
    """The text of a file, or None when it is not text."""
    try:
        return (ROOT / path).read_text(encoding="utf-8")
    except UnicodeDecodeError:
        return None


def is_source(path, text):
    return path.suffix in SOURCES or path.name == "CMakeLists.txt" or text.startswith("#!")


def head(text):
    """The comment that a file begins with, and at least five lines."""
    lines = text.splitlines()
    end = 5
    while end < len(lines) and lines[end].startswith(("//", "#")) and not lines[end].startswith("#include"):
        end += 1
    return lines[:end]


def report(faults):
    """Prints the faults; returns the exit status."""
    for fault in faults:
        print(fault)
    return 1 if faults else 0
