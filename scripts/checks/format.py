# scripts/checks/format.py — C++ files are as clang-format leaves them, where clang-format is there.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
import re
import shutil
import subprocess
import sys

import files

TOOL = "clang-format-22"


def main():
    if not shutil.which(TOOL):
        print(f"format: left out, not found: {TOOL}")
        return 0
    paths = [str(p) for p in files.tracked() if p.suffix in files.CPP]
    if not paths:
        return 0
    done = subprocess.run([TOOL, "--dry-run", "-Werror", *paths], cwd=files.ROOT, capture_output=True, text=True)
    if done.returncode == 0:
        return 0
    places = re.findall(r"^(\S+?):(\d+):\d+: (?:error|warning)", done.stderr, re.MULTILINE)
    first = {}
    for path, line in places:
        first.setdefault(path, line)
    if not first:
        print(done.stderr[:2000])
    return files.report([f"{p}:{line}: not formatted (scripts/format)" for p, line in first.items()]) or 1


sys.exit(main())
