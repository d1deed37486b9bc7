# scripts/checks/docs.py — code shown in the documentation stands, line for line, in a file that is compiled and run.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# A block of C++ or CMake of the guide or the README follows a line `<!-- from: path -->`; each of its lines, comments and indentation aside, must
# stand in that file, in this order. A line `…` in a block leaves lines out.
import re
import sys

import files

BLOCK = re.compile(r"(?:<!-- from: (?P<path>\S+) -->\n)?```(?:cpp|cmake)\n(?P<code>.*?)```", re.S)
SHOWN = ("docs/guide/", "README.md")


def bare(line):
    return re.sub(r"\s+", " ", re.sub(r"\s*//.*$", "", line)).strip()


def faults():
    for path in files.tracked():
        name = str(path)
        if path.suffix != ".md" or not name.startswith(SHOWN):
            continue
        text = files.text_of(path)
        for block in BLOCK.finditer(text):
            number = text.count("\n", 0, block.start()) + 1
            if not block["path"]:
                yield f"{name}:{number}: code without a line `<!-- from: path -->` before it"
                continue
            source = files.ROOT / block["path"]
            if not source.is_file():
                yield f"{name}:{number}: no file {block['path']}"
                continue
            rest = iter([bare(line) for line in source.read_text(encoding="utf-8").splitlines()])
            for line in block["code"].splitlines():
                wanted = bare(line)
                if wanted and wanted != "…" and wanted not in rest:
                    yield f"{name}:{number}: not in {block['path']}, or not in this order: {line.strip()}"
                    break


sys.exit(files.report(list(faults())))
