# scripts/checks/cases.py — tests/cases.tsv: each public bug report that is a test input, and the tests that cover it.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
#   cases.py <build folder> [--ran <JUnit file of ctest>] [--update]
#
# Each test that the table names has to be one of the build's; with --ran it also has to have run and passed. Each test
# whose name has the id of a case (BL_085_…) has to stand in the table: --update writes those in.
import json
import pathlib
import re
import subprocess
import sys
import xml.etree.ElementTree

import files

TABLE = files.ROOT / "tests" / "cases.tsv"
ID = re.compile(r"BL_(\d{3})(?!\d)")
# What a row may say in place of tests.
NOT_YET = re.compile(r"(later: \S|not applicable: \S)")


def tests_of(build):
    """Names of ctest's tests; those of one parametrised test are one: Suite.Case/0, Suite.Case/1 … are Suite.Case. Tests
    of a GPU are left out: they are the same sources, and do not run where there is none."""
    shown = subprocess.run(["ctest", "--test-dir", build, "--show-only=json-v1", "-LE", "gpu"], check=True,
                           capture_output=True, text=True)
    return {plain(test["name"]) for test in json.loads(shown.stdout)["tests"]}


def plain(name):
    """The name without the value of a parameter: `program.Instance/Suite.Case` of `program.Instance/Suite.Case/7`."""
    found = re.match(r"[\w-]+\.[\w/]+\.\w+", name)
    return found.group() if found else name


def ran(junit):
    """{name: True when every instance ran and passed}."""
    out = {}
    for case in xml.etree.ElementTree.parse(junit).getroot().iter("testcase"):
        name = plain(case.get("name"))
        out[name] = out.get(name, True) and case.get("status") == "run"
    return out


def read_table():
    rows, faults = {}, []
    for number, line in enumerate(TABLE.read_text(encoding="utf-8").splitlines(), 1):
        if line.startswith("#"):
            continue
        columns = line.split("\t")
        if len(columns) != 3 or not re.fullmatch(r"BL-\d{3}", columns[0]) or not all(columns):
            faults.append(f"tests/cases.tsv:{number}: not `BL-nnn<tab>what<tab>tests`: {line[:60]}")
        elif columns[0] in rows or (rows and columns[0] < next(reversed(rows))):
            faults.append(f"tests/cases.tsv:{number}: {columns[0]} stands twice or out of order")
        else:
            rows[columns[0]] = (columns[1], columns[2])
    return rows, faults


def update(rows, found):
    head = [line for line in TABLE.read_text(encoding="utf-8").splitlines() if line.startswith("#")]
    lines = []
    for name, (what, tests) in rows.items():
        # Tests that a hand wrote in, whose names have no id, stay.
        kept = [] if NOT_YET.match(tests) else [t for t in tests.split(" ") if not ID.search(t)]
        named = sorted(set(found.get(name, [])) | set(kept))
        lines.append("\t".join([name, what, " ".join(named) or tests]))
    TABLE.write_text("\n".join(head + lines) + "\n", encoding="utf-8")


def main():
    arguments = sys.argv[1:]
    junit = arguments[arguments.index("--ran") + 1] if "--ran" in arguments else None
    known = tests_of(arguments[0])
    found = {}
    for test in known:
        for number in ID.findall(test):
            found.setdefault(f"BL-{number}", []).append(test)
    rows, faults = read_table()
    if "--update" in arguments and not faults:
        update(rows, found)
        rows, faults = read_table()
    passed = ran(junit) if junit else None
    covered = 0
    for name, (_, tests) in rows.items():
        named = [] if NOT_YET.match(tests) else tests.split(" ")
        covered += bool(named)
        for test in named:
            if test not in known:
                faults.append(f"tests/cases.tsv: {name}: there is no test {test}")
            elif passed is not None and not passed.get(test, False):
                faults.append(f"tests/cases.tsv: {name}: {test} did not run, or failed")
        for test in sorted(set(found.get(name, [])) - set(named)):
            faults.append(f"tests/cases.tsv: {name}: does not name {test} (scripts/check --build … cases --update)")
    for name in sorted(set(found) - set(rows)):
        faults.append(f"tests/cases.tsv: no row for {name}, which {found[name][0]} names")
    other = [tests.split(":")[0] for _, tests in rows.values() if NOT_YET.match(tests)]
    counts = ", ".join(f"{other.count(kind)} {kind}" for kind in ("later", "not applicable"))
    print(f"cases: {covered} with tests, {counts}")
    return files.report(faults)


sys.exit(main())
