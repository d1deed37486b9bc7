# scripts/checks/tolerances.py — tests compare by the one formula of tests/reference/tolerance.h, never by a literal.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
import re
import sys

import files

NEAR = re.compile(r"\b(?:\w+_NEAR|(?:NanSensitive)?(?:Float|Double)Near)\(")
NUMBER = r"(?:0x[\da-fA-F.]+p[-+]?\d+|\d[\d.']*(?:[eE][-+]?\d+)?)[fFlL]*"
LITERAL = re.compile(rf"[\s()+\-*/]*{NUMBER}(?:[\s()+\-*/]+{NUMBER})*[\s()]*$")
# |a − b| < 1e-3, and small literals within a bound.
COMPARED = re.compile(rf"\bf?abs\(.*\)\s*<=?\s*{NUMBER}\s*[;)&|<]")
SMALL = re.compile(r"(?<![\w.])(?:0x1p-\d+|\d[\d.]*[eE]-\d+)[fF]?")
BOUND = re.compile(r"(?:EXPECT|ASSERT)_L[TE]\(|\b(?:tolerance|allowed|bound)\w*\s*=|\breturn\b.*\bmagnitude\b")


def arguments(text, start):
    """The arguments of the call whose parenthesis opens before `start`."""
    out, depth, begin = [], 1, start
    for at in range(start, len(text)):
        c = text[at]
        if c in "([{":
            depth += 1
        elif c in ")]}":
            depth -= 1
            if depth == 0:
                return out + [text[begin:at]]
        elif c == "," and depth == 1:
            out.append(text[begin:at])
            begin = at + 1
    return out


def faults():
    for path in files.tracked():
        if path.suffix not in files.CPP or path.parts[0] != "tests" or path.name == "tolerance.h":
            continue
        text = re.sub(r"//[^\n]*", "", files.text_of(path) or "")
        for match in NEAR.finditer(text):
            given = arguments(text, match.end())
            if given and LITERAL.match(given[-1]):
                yield f"{path}:{text.count(chr(10), 0, match.start()) + 1}: a literal tolerance: {given[-1].strip()}"
        for number, line in enumerate(text.splitlines(), 1):
            if COMPARED.search(line) or (BOUND.search(line) and SMALL.search(line)):
                yield f"{path}:{number}: a literal tolerance: {line.strip()[:90]}"


sys.exit(files.report(sorted(set(faults()))))
