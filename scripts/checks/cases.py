# scripts/checks/cases.py — tests/cases.tsv: each public bug report that is a test input, and the tests that cover it.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
#   cases.py <build folder> [--ran <JUnit file of ctest>] [--update]
#
# Each test that the table names has to be one of the build's; with --ran it also has to have run and passed, or to have
# told why it cannot run on this machine (NOT RUN: …), which is repeated here. Each test whose name has the id of a case
# (BL_085_…) has to stand in the table: --update writes those in. A row whose tests cover a part of the case says what is
# missing: `tests; later: area (what)`.
import json
import pathlib
import re
import subprocess
import sys
import xml.etree.ElementTree

import files

TABLE = files.ROOT / "tests" / "cases.tsv"
ID = re.compile(r"BL_(\d{3})(?!\d)")
# What a row may say in place of tests, and behind them.
NOT_YET = re.compile(r"(later: \S|not applicable: \S)")
HALF = re.compile(r"; later: [^;()]+ \([^;]+\)$")
# What a test prints with which it skips itself.
NOT_RUN = re.compile(r"^NOT RUN: .+", re.MULTILINE)


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
    """{name: True when every instance ran and passed, or told why not}, {name: what one told}."""
    well, told = {}, {}
    for case in xml.etree.ElementTree.parse(junit).getroot().iter("testcase"):
        name, status = plain(case.get("name")), case.get("status")
        # What could not be started is `notrun` too, and tells nothing.
        why = NOT_RUN.search(case.findtext("system-out", "")) if status == "notrun" else None
        if why:
            told[name] = why.group()
        well[name] = well.get(name, True) and (status == "run" or why is not None)
    return well, told


def split(column):
    """The tests that a row names, and what it says in place of them or behind them."""
    if NOT_YET.match(column):
        return [], column
    half = HALF.search(column)
    rest = half.group() if half else ""
    return column.removesuffix(rest).split(" "), rest


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
        elif ";" in columns[2] and not NOT_YET.match(columns[2]) and not HALF.search(columns[2]):
            faults.append(f"tests/cases.tsv:{number}: not `tests; later: area (what)`: {columns[2]}")
        else:
            rows[columns[0]] = (columns[1], columns[2])
    return rows, faults


def update(rows, found):
    head = [line for line in TABLE.read_text(encoding="utf-8").splitlines() if line.startswith("#")]
    lines = []
    for name, (what, column) in rows.items():
        tests, rest = split(column)
        # Tests that a hand wrote in, whose names have no id, stay; so does what is missing, where there were tests.
        named = sorted(set(found.get(name, [])) | {test for test in tests if not ID.search(test)})
        lines.append("\t".join([name, what, " ".join(named) + (rest if tests else "") if named else column]))
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
    well, told = ran(junit) if junit else (None, {})
    covered = halves = 0
    for name, (_, column) in rows.items():
        named, rest = split(column)
        covered += bool(named)
        halves += bool(named and rest)
        for test in named:
            if test not in known:
                faults.append(f"tests/cases.tsv: {name}: there is no test {test}")
            elif well is not None and not well.get(test, False):
                faults.append(f"tests/cases.tsv: {name}: {test} did not run, or failed")
        for test in sorted(set(found.get(name, [])) - set(named)):
            faults.append(f"tests/cases.tsv: {name}: does not name {test} (scripts/check --build … cases --update)")
    for name in sorted(set(found) - set(rows)):
        faults.append(f"tests/cases.tsv: no row for {name}, which {found[name][0]} names")
    other = [tests.split(":")[0] for _, tests in rows.values() if NOT_YET.match(tests)]
    counts = ", ".join(f"{other.count(kind)} {kind}" for kind in ("later", "not applicable"))
    print(f"cases: {covered} with tests, {halves} of them a part of the case, {counts}")
    skipped = sorted({test for _, column in rows.values() for test in split(column)[0]} & told.keys())
    if skipped:
        print(f"cases: {len(skipped)} tests not run here")
    for test in skipped:
        print(f"  {test}: {told[test]}")
    return files.report(faults)


sys.exit(main())
