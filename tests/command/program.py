# tests/command/program.py — runs tlxjit for the tests of this folder.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# TLXJIT_PROGRAM is the program, TLXJIT_TEXTS a folder of the samples' kernels as text, TLXJIT_HAS_CPU is 0 in a build
# without the CPU plug-in.
import functools
import json
import os
import pathlib
import re
import subprocess
import tempfile
import unittest

PROGRAM = os.environ["TLXJIT_PROGRAM"]
TEXTS = pathlib.Path(os.environ["TLXJIT_TEXTS"])
HAS_CPU = os.environ.get("TLXJIT_HAS_CPU", "1") == "1"
DONE, REFUSED, USAGE, ENVIRONMENT, INTERNAL = 0, 1, 2, 3, 4

needs_cpu = unittest.skipUnless(HAS_CPU, "this build has no CPU plug-in")


def text(name):
    return str(TEXTS / f"{name}.tlx")


def members_of(json_value):
    """The names of all members of a document; those of `dims` are the kernel's."""
    if isinstance(json_value, list):
        return set().union(*map(members_of, json_value))
    if not isinstance(json_value, dict):
        return set()
    return set(json_value).union(*(members_of(value) for name, value in json_value.items() if name != "dims"))


@functools.cache
def documented(command):
    """The words of what the help of a command says of its JSON."""
    def said_after(words, *path):
        said = subprocess.run([PROGRAM, *path, "--help"], capture_output=True, text=True, check=True).stdout
        return said.rpartition(words)[2] if words in said else ""

    return set(re.findall(r"\w+", said_after("With --json") + (said_after("JSON:", *command.split()) if command else
                                                               "")))


class Case(unittest.TestCase):
    """Has a folder of its own, `self.folder`, which is the tests' cache and home too."""

    def setUp(self):
        holder = tempfile.TemporaryDirectory()
        self.addCleanup(holder.cleanup)
        self.folder = pathlib.Path(holder.name)
        self.environment = dict(os.environ, HOME=holder.name, TLXJIT_CACHE_DIR=str(self.folder / "cache"))
        self.environment.pop("TLXJIT_DISK_CACHE", None)  # other tests have none

    def run_program(self, *arguments, code=DONE, stdin=b"", **options):
        """Runs it; both streams as bytes. A crash is never what is expected."""
        done = subprocess.run([PROGRAM, *map(str, arguments)], input=stdin, capture_output=True, timeout=100,
                              env=self.environment, **options)
        self.assertGreaterEqual(done.returncode, 0, f"{arguments} ended by signal: {done.stderr}")
        if code is not None:
            self.assertEqual(done.returncode, code, f"{arguments}: {done.stdout[-2000:]} {done.stderr[-2000:]}")
        return done

    def run_json(self, *arguments, code=DONE, **options):
        """The document that --json gives: one, whatever happens, and nothing beside it."""
        done = self.run_program("--json", *arguments, code=code, **options)
        self.assertEqual(done.stderr, b"")
        document = json.loads(done.stdout)
        self.assertEqual(document["exit_code"], done.returncode)
        self.assertEqual(document["ok"], done.returncode == DONE)
        self.assertEqual(members_of(document) - documented(document.get("command", "")), set())
        return document

    def error(self, *arguments, code=REFUSED, **options):
        """The error of the document, which is what people are told too."""
        error = self.run_json(*arguments, code=code, **options)["error"]
        for field in ("kind", "stage", "code", "message"):
            self.assertIsInstance(error[field], str)
        told = self.run_program(*arguments, code=code, **options).stderr.decode(errors="replace")
        self.assertTrue(told.startswith("tlxjit: "))
        # Free memory and temporary names differ from call to call.
        without_numbers = functools.partial(re.sub, r"[0-9a-f.]*\d[0-9a-f.]*", "#")
        self.assertIn(without_numbers(error["message"]), without_numbers(told))
        return error
