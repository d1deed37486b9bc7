# scripts/checks/headers.py — each installed header compiles alone, also without exceptions and RTTI.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
import concurrent.futures
import os
import shutil
import subprocess
import sys

import files

MODES = (["-std=c++20"], ["-std=c++2b", "-fno-exceptions", "-fno-rtti"])


def compilers():
    for name, why in (("g++", "the compiler of the release"), ("clang++-22", "Clang")):
        if shutil.which(name):
            yield name
        else:
            print(f"headers: left out, not found: {name} ({why})")


def compile_alone(job):
    compiler, mode, header = job
    name = header.removeprefix("include/")
    command = [compiler, *mode, "-Wall", "-Wextra", "-Werror", "-fsyntax-only", "-Iinclude", "-xc++", "-"]
    done = subprocess.run(command, cwd=files.ROOT, input=f'#include "{name}"\n', capture_output=True, text=True)
    if done.returncode == 0:
        return None
    return f"{header}: does not compile alone with {compiler} {' '.join(mode)}\n{done.stderr[:2000]}"


def main():
    headers = [str(p) for p in files.tracked() if str(p).startswith("include/") and p.suffix == ".h"]
    jobs = [(c, m, h) for c in compilers() for m in MODES for h in headers]
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        return files.report([fault for fault in pool.map(compile_alone, jobs) if fault])


sys.exit(main())
