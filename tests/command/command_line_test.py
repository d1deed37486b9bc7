# tests/command/command_line_test.py — help, version, what is no command line, standard output that takes nothing.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
import json
import os
import pathlib
import pty
import subprocess
import unittest

from program import DONE, ENVIRONMENT, PROGRAM, REFUSED, USAGE, Case, text

COMMANDS = ["devices", "compile", "run", "explain", "warm", "cache", "completion"]
CACHE_COMMANDS = ["ls", "stat", "verify", "trim", "clear", "export"]


class Help(Case):
    def test_every_command_has_one(self):
        said = self.run_program("--help").stdout.decode()
        for command in COMMANDS:
            self.assertIn(f"\n  {command} ", said)
            self.assertIn("Usage: tlxjit " + command, self.run_program(command, "--help").stdout.decode())
        for command in CACHE_COMMANDS:
            self.assertIn("--dir", self.run_program("cache", command, "--help").stdout.decode())
        for code in range(5):
            self.assertIn(f"\n  {code}  ", said)

    def test_in_json(self):
        for command in [], ["warm"], ["cache"], ["cache", "ls"]:
            document = self.run_json(*command, "--help")
            self.assertEqual(document["command"], " ".join(command))
            self.assertEqual(document["help"], self.run_program(*command, "--help").stdout.decode())

    def test_version(self):
        said = self.run_program("--version").stdout.decode()
        self.assertRegex(said, r"^tlxjit \d+\.\d+\.\d+\n$")
        document = self.run_json("--version")
        self.assertEqual(document, {"command": "", "ok": True, "exit_code": 0, "version": said.split()[1]})


class Usage(Case):
    def test_what_makes_no_sense(self):
        for arguments, message in [
            ([], "A subcommand is required"),
            (["frobnicate"], "there is no command 'frobnicate'"),
            (["cache"], "A subcommand is required"),
            (["cache", "frobnicate"], "there is no command 'frobnicate'"),
            (["compile"], "file is required"),
            (["compile", "a.tlx", "b.tlx"], "b.tlx"),
            (["compile", "a.tlx", "--frobnicate"], "--frobnicate"),
            (["compile", "a.tlx", "--to", "wasm"], "wasm"),
            (["compile", "a.tlx", "--time-limit", "-1"], "--time-limit"),
            (["run", "a.tlx", "--dim", "M"], "'M' is not of the form NAME=TEXT"),
            (["run", "a.tlx", "--dim", "M="], "a dim is a number from 0 to 2147483647"),
            (["run", "a.tlx", "--dim", "M=1x"], "a dim is a number from 0 to 2147483647"),
            (["run", "a.tlx", "--dim", "M=-1"], "a dim is a number from 0 to 2147483647"),
            (["run", "a.tlx", "--dim", "M=2147483648"], "a dim is a number from 0 to 2147483647"),
            (["run", "a.tlx", "--dim", "M=99999999999999999999999"], "a dim is a number from 0 to 2147483647"),
            (["run", "a.tlx", "--arg", "=1"], "'=1' is not of the form NAME=TEXT"),
            (["run", "a.tlx", "--arg"], "--arg"),
            (["run", "a.tlx", "--out", "z"], "'z' is not of the form NAME=TEXT"),
            (["run", "a.tlx", "--repeat", "x"], "--repeat"),
            (["run", "a.tlx", "--repeat", "-5"], "--repeat"),
            (["run", "a.tlx", "--seed", "99999999999999999999999"], "--seed"),
            (["cache", "trim"], "--to is required"),
            (["cache", "trim", "--to", "much"], "much"),
            (["cache", "ls", "--bundle", "a", "--dir", "b"], "--bundle"),
            (["cache", "ls", "--system", "--bundle", "a"], "--bundle"),
            (["cache", "export", "f", "xyz"], "'xyz' is no key"),
            (["completion", "fish"], "fish"),
            (["completion"], "shell is required"),
        ]:
            with self.subTest(arguments):
                error = self.error(*arguments, code=USAGE)
                self.assertIn(message, error["message"])
                self.assertEqual(error["kind"], "user")

    def test_options_take_one_word(self):
        # The file behind an option is the file, no second value of it.
        error = self.error("run", "--arg", "x=1", "--dim", "N=1", "nowhere.tlx", code=ENVIRONMENT)
        self.assertIn("nowhere.tlx", error["message"])


    def test_common_options_stand_anywhere(self):
        for words in (["--json", "cache", "stat"], ["cache", "--json", "stat"], ["cache", "stat", "--json"]):
            self.assertEqual(json.loads(self.run_program(*words).stdout)["command"], "cache stat")


class Output(Case):
    def test_full_disk(self):
        for more in ([], ["--json"]):
            with open("/dev/full", "wb") as full:
                done = subprocess.run([PROGRAM, "compile", text("gemm"), "--to", "portable", *more], stdout=full,
                                      stderr=subprocess.PIPE, env=self.environment)
            self.assertEqual(done.returncode, ENVIRONMENT)
            self.assertIn(b"cannot write to standard output: No space left on device", done.stderr)
        error = self.error("compile", text("gemm"), "--to", "portable", "-o", "/dev/full", code=ENVIRONMENT)
        self.assertIn("No space left on device", error["message"])
        self.assertEqual(error["code"], "disk_failed")

    def test_broken_pipe(self):
        reader, writer = os.pipe()
        os.close(reader)
        with os.fdopen(writer, "wb") as pipe:
            done = subprocess.run([PROGRAM, "devices"], stdout=pipe, stderr=subprocess.PIPE, env=self.environment)
        self.assertEqual(done.returncode, ENVIRONMENT)
        self.assertIn(b"cannot write to standard output: Broken pipe", done.stderr)

    def test_closed(self):
        # The descriptor's number must not become that of a file which then gets the output.
        target = self.folder / "out.tlx"
        line = f'exec "{PROGRAM}" compile "{text("gemm")}" --to portable -o "{target}" >&- 2>&- <&-'
        self.assertEqual(subprocess.run(["sh", "-c", line], env=self.environment).returncode, DONE)
        self.assertTrue(target.read_text().startswith("tlx 1 portable\nkernel"))
        line = f'exec "{PROGRAM}" devices >&-'
        done = subprocess.run(["sh", "-c", line], stderr=subprocess.PIPE, env=self.environment)
        self.assertEqual(done.returncode, ENVIRONMENT)
        self.assertIn(b"cannot write to standard output", done.stderr)

    def test_standard_error_that_takes_nothing(self):
        bad = self.folder / "bad.tlx"
        bad.write_text("tlx 1 portable\nnonsense")
        for arguments, code in [(f'compile "{text("gemm")}" --to portable', DONE), (f'compile "{bad}"', REFUSED),
                                ("frobnicate", USAGE), ("compile /nowhere.tlx", ENVIRONMENT),
                                (f'compile "{text("gemm")}" --to portable >/dev/full', ENVIRONMENT),
                                (f'compile "{text("gemm")}" --to portable >&-', ENVIRONMENT)]:
            for error in ("2>&-", "2>/dev/full"):
                with self.subTest(arguments, error=error):
                    line = f'exec "{PROGRAM}" {arguments} {error}'
                    done = subprocess.run(["sh", "-c", line], stdout=subprocess.PIPE, env=self.environment)
                    self.assertEqual(done.returncode, code)
                    self.assertEqual(done.stdout.startswith(b"tlx 1 portable\nkernel"), code == DONE)

    def test_bytes_that_are_no_text(self):
        # JSON is UTF-8, whatever a file's name is.
        name = b"no\xff\xfewhere.tlx"
        done = subprocess.run([PROGRAM.encode(), b"compile", name, b"--json"], capture_output=True,
                              env=self.environment)
        self.assertEqual(done.returncode, ENVIRONMENT)
        self.assertIn("no\ufffd\ufffdwhere.tlx", json.loads(done.stdout)["error"]["message"])

    # Escapes, C1 controls in both forms, marks of direction; an accent, an emoji and a tab are none.
    STEERS = b"a\x1b[2J \x7f \x9b \xc2\x9b \xe2\x80\xae \xd8\x9c \xe2\x81\xa6 \xed\xa0 \xc0\xaf \xc3\xa9 \xf0\x9f\x98\x80\tz.tlx"
    WRITTEN_OUT = ("a\\x1b[2J \\x7f \\x9b \\u009b \\u202e \\u061c \\u2066 \\xed\\xa0 \\xc0\\xaf \u00e9 \U0001f600\tz.tlx").encode()

    def test_no_name_steers_a_terminal(self):
        for words in [b"compile", self.STEERS], [self.STEERS]:
            done = subprocess.run([PROGRAM.encode(), *words], capture_output=True, env=self.environment)
            self.assertIn(self.WRITTEN_OUT, done.stderr)
        kernel = self.folder / "kernel.tlx"
        kernel.write_bytes(pathlib.Path(text("vector_add")).read_bytes().replace(b'"vector_add"', b'"v\xe2\x80\xaea"'))
        words = [PROGRAM, "compile", kernel, "--to", "portable"]
        self.assertIn("v\u202ea", subprocess.run(words, capture_output=True, check=True).stdout.decode())
        terminal, its_end = pty.openpty()
        subprocess.run(words, stdout=its_end, check=True)
        os.close(its_end)
        self.assertIn(rb"v\u202ea", os.read(terminal, 4096))
        os.close(terminal)


class Devices(Case):
    def test_list(self):
        document = self.run_json("devices")
        names = [device["name"] for device in document["devices"]]
        self.assertIn("sm_90a", names)
        for device in document["devices"]:
            self.assertEqual(set(device) - {"error"}, {"name", "target", "description", "units", "can_launch",
                                                       "can_compile"})
            self.assertEqual("error" in device, not device["can_compile"])
        said = self.run_program("devices").stdout.decode()
        for name in names:
            self.assertRegex(said, rf"(?m)^{name} ")

    def test_why_not(self):
        document = self.run_json("devices", "--cpu-plugin", "/nowhere.so")
        self.assertNotIn("cpu", [device["name"] for device in document["devices"]])
        self.assertTrue(any("/nowhere.so" in line for line in document["refused"]))
        self.assertIn("/nowhere.so", self.run_program("devices", "--cpu-plugin", "/nowhere.so").stdout.decode())


class Completion(Case):
    def complete(self, *words):
        script = f'source <("{PROGRAM}" completion bash); COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _tlxjit; ' \
                 'printf "%s\\n" "${COMPREPLY[@]}"'
        done = subprocess.run(["bash", "-c", script, "bash", *words], capture_output=True, cwd=self.folder,
                              env=self.environment, check=True)
        self.assertEqual(done.stderr, b"")
        return done.stdout.decode().split()

    def test_bash(self):
        self.assertLessEqual(set(COMMANDS), set(self.complete("tlxjit", "")))
        self.assertEqual(self.complete("tlxjit", "comp"), ["compile", "completion"])
        self.assertEqual(self.complete("tlxjit", "cache", "ver"), ["verify"])
        self.assertLessEqual({"-o", "--output", "--to", "--json"}, set(self.complete("tlxjit", "compile", "-")))
        self.assertEqual(self.complete("tlxjit", "compile", "--to", "p"), ["portable", "ptx"])
        self.assertEqual(self.complete("tlxjit", "--json", "cache", "trim", "--t"), ["--to"])
        self.assertLessEqual({"bash", "zsh"}, set(self.complete("tlxjit", "completion", "")))
        (self.folder / "a kernel.tlx").touch()
        self.assertEqual(self.complete("tlxjit", "compile", "a"), ["a", "kernel.tlx"])

    def test_zsh(self):
        script = self.run_json("completion", "zsh")["script"]
        for command in COMMANDS + CACHE_COMMANDS:
            self.assertIn(f"'{command}:", script)
        self.assertTrue(script.startswith("#compdef tlxjit\n"))


if __name__ == "__main__":
    unittest.main()
