# tests/command/warm_test.py — `tlxjit warm`.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
import json
import os
import pathlib
import pty
import subprocess
import unittest

from program import DONE, ENVIRONMENT, REFUSED, USAGE, Case, needs_cpu, text

KERNEL = text("vector_add")
OTHER = text("softmax_rows")


@needs_cpu
class Warm(Case):
    def setUp(self):
        super().setUp()
        # A program's function has seen some calls.
        self.manifest = json.loads(self.program(KERNEL, TLXJIT_DISK_CACHE="0").stdout)
        self.assertGreaterEqual(len(self.manifest["keys"]), 4)
        self.file = self.folder / "manifest.json"
        self.write(self.manifest)

    def write(self, manifest):
        self.file.write_text(manifest if isinstance(manifest, str) else json.dumps(manifest))

    def program(self, *arguments, **variables):
        """A program with a function over the kernel."""
        return subprocess.run([os.environ["TLXJIT_MANIFEST"], *map(str, arguments)], capture_output=True, text=True,
                              check=True, env=self.environment | variables)

    def test_keys_are_found_afterwards(self):
        count = len(self.manifest["keys"])
        document = self.run_json("warm", self.file, "--kernel", KERNEL, "--threads", "3")
        self.assertEqual((document["keys"], document["generic"], document["failed"], document["errors"]),
                         (count, 1, 0, []))
        self.assertEqual(document["compiled"] + document["found"], count + 1)
        self.assertGreater(document["compiled"], 0)
        self.assertEqual(self.run_json("cache", "verify")["good"], document["compiled"])
        again = self.run_json("warm", self.file, "--kernel", KERNEL)
        self.assertEqual((again["compiled"], again["found"]), (0, count + 1))
        # The program compiles nothing any more.
        self.assertRegex(self.program(KERNEL).stderr, r"^[1-9]\d* from disk, 0 not, 0 compiled\n$")

    def test_a_bundle_has_the_generic_version(self):
        bundle = self.folder / "service.tlxb"

        def ship(*options):
            cache = self.folder / f"cache{len(options)}"
            self.run_json("warm", self.file, "-k", KERNEL, "--cache-dir", cache, *options)
            self.run_json("cache", "export", "--dir", cache, bundle)
            elsewhere = str(self.folder / f"empty{len(options)}")
            return self.program(KERNEL, "--prepare", "--bundle", bundle, TLXJIT_CACHE_DIR=elsewhere).stderr

        self.assertEqual(ship(), "1 from disk, 0 not, 0 compiled\n")
        self.assertEqual(ship("--no-generic"), "0 from disk, 1 not, 1 compiled\n")

    def test_generic_versions_without_keys(self):
        document = self.run_json("warm", "-k", KERNEL, "-k", OTHER, "--target", "cpu")
        self.assertEqual((document["keys"], document["generic"], document["compiled"]), (0, 2, 2))
        self.assertEqual(self.program(KERNEL, "--prepare").stderr, "1 from disk, 0 not, 0 compiled\n")
        said = self.run_program("warm", "-k", KERNEL, "--target", "cpu").stdout.decode()
        self.assertEqual(said, "0 keys, 1 generic version: 0 compiled, 1 found on disk, 0 failed\n")
        # A kernel without keys is for what any key is for.
        document = self.run_json("warm", self.file, "-k", KERNEL, "-k", OTHER)
        self.assertEqual((document["generic"], document["failed"]), (2, 0))
        self.assertIn("manifest, or --target, is required", self.error("warm", "-k", KERNEL, code=USAGE)["message"])
        self.error("warm", "-k", KERNEL, "--target", "cpu", "--no-generic", code=USAGE)

    def test_a_generic_version_that_fails(self):
        document = self.run_json("warm", "-k", KERNEL, "--target", "sm_12", code=REFUSED)
        self.assertEqual((document["generic"], document["failed"], document["compiled"]), (1, 1, 0))
        error = document["errors"][0]
        self.assertEqual((error["kernel"], error["promises"]), ("vector_add", "nothing"))
        self.assertNotIn("key", error)
        said = self.run_program("warm", "-k", KERNEL, "--target", "sm_12", code=REFUSED).stdout.decode()
        self.assertIn("  the generic version of `vector_add` for sm_12\n", said)

    def test_what_is_lowered_for_another_target(self):
        gemm = text("gemm")
        manifest = json.loads(self.program(gemm, "--as", "sm_90a", TLXJIT_DISK_CACHE="0").stdout)
        self.assertEqual([(key["target"], key["as"]) for key in manifest["keys"]], [("cpu", "sm_90a")])
        self.write(manifest)
        document = self.run_json("warm", self.file, "-k", gemm)
        self.assertEqual((document["keys"], document["generic"], document["compiled"]), (1, 1, 2))
        for options in [], ["--prepare"]:
            self.assertEqual(self.run_json("cache", "ls", "--long")["entries"][0]["as"], "sm_90a")
            self.assertEqual(self.program(gemm, "--as", "sm_90a", *options).stderr, "1 from disk, 0 not, 0 compiled\n")

    def test_one_key(self):
        self.write(self.manifest["keys"][0])
        document = self.run_json("warm", "-", "-k", KERNEL, stdin=self.file.read_bytes())
        self.assertEqual((document["keys"], document["failed"]), (1, 0))
        said = self.run_program("warm", self.file, "-k", KERNEL).stdout.decode()
        self.assertEqual(said, "1 key, 1 generic version: 0 compiled, 2 found on disk, 0 failed\n")
        said = self.run_program("warm", self.file, "-k", KERNEL, "--no-generic").stdout.decode()
        self.assertEqual(said, "1 key: 0 compiled, 1 found on disk, 0 failed\n")

    def test_ls_tells_versions_apart_as_manifests_do(self):
        self.run_json("warm", self.file, "-k", KERNEL)
        entries = self.run_json("cache", "ls", "--long")["entries"]
        promises = sorted([key["promises"] for key in self.manifest["keys"]] + ["nothing"])
        self.assertEqual(sorted(entry["promises"] for entry in entries), promises)
        lines = self.run_program("cache", "ls", "--long").stdout.decode().splitlines()
        self.assertEqual(sorted(line.split("  cpu  ")[1] for line in lines), promises)

    @unittest.skipUnless(os.geteuid() == 0, "root alone fills the system's directory")
    def test_the_system_directory_is_filled_as_the_reference_says(self):
        system, kernel = self.folder / "system", self.folder / "kernel.tlx"
        kernel.write_text(pathlib.Path(KERNEL).read_text())
        self.folder.chmod(0o755)
        keys = self.manifest["keys"]
        for part in keys[:2], keys:
            self.write({"tlxjit_manifest": 1, "keys": part})
            self.run_json("warm", "--cache-dir", system, "--kernel", KERNEL, self.file)
            subprocess.run(["chmod", "-R", "go+rX", system], check=True)
        environment = self.environment | {"HOME": "/nonexistent", "TLXJIT_SYSTEM_CACHE_DIR": str(system)}
        del environment["TLXJIT_CACHE_DIR"]

        def as_nobody(*words):
            return subprocess.run([str(word) for word in words], env=environment, user="nobody", extra_groups=[],
                                  capture_output=True, text=True)

        try:
            said = as_nobody(os.environ["TLXJIT_PROGRAM"], "--json", "cache", "verify", "--system")
        except PermissionError:
            self.skipTest("nobody cannot run what is built here")
        self.assertEqual(json.loads(said.stdout)["good"], len(keys) + 1, said)
        self.assertEqual(as_nobody(os.environ["TLXJIT_MANIFEST"], kernel).stderr,
                         f"{len(keys)} from disk, 0 not, 0 compiled\n")

    def test_several_manifests(self):
        files = [self.folder / f"{i}.json" for i in range(3)]
        for i, file in enumerate(files):
            keys = self.manifest["keys"][i::2] if i < 2 else self.manifest["keys"]  # the last has what the others have
            file.write_text(json.dumps({"tlxjit_manifest": 1, "keys": keys}))
        document = self.run_json("warm", *files, "-k", KERNEL, "--no-generic", "--threads", "2")
        self.assertEqual((document["keys"], document["compiled"]), (len(self.manifest["keys"]), ) * 2)

    def test_fewer_loaded_modules_than_keys(self):
        self.environment["TLXJIT_LOADED_MODULES"] = "2"
        document = self.run_json("warm", self.file, "-k", KERNEL, "--no-generic")
        self.assertEqual((document["compiled"], document["failed"]), (len(self.manifest["keys"]), 0))

    def test_what_takes_too_long_is_not_compiled(self):
        document = self.run_json("warm", self.file, "-k", KERNEL, "-k", text("slow"), "--time-limit", "1", code=REFUSED)
        count = len(self.manifest["keys"]) + 2
        self.assertEqual(document["compiled"] + document["failed"], count)
        self.assertEqual(document["failed"], len(document["errors"]))
        self.assertIn("slow", [error["kernel"] for error in document["errors"]])  # the others may be in time

    def test_more_keys_than_a_function_keeps_by_itself(self):
        key = self.manifest["keys"][0]
        self.write({"tlxjit_manifest": 1,
                    "keys": [key | {"policies": "N exact; ", "codes": [i]} for i in range(1, 71)]})
        document = self.run_json("warm", self.file, "-k", KERNEL, "--threads", "2")
        self.assertEqual((document["compiled"], document["failed"]), (71, 0), document["errors"][:1])

    def test_progress_names_promises(self):
        key = self.manifest["keys"][0] | {"policies": "N exact; "}
        self.write({"tlxjit_manifest": 1,
                    "keys": [key | {"codes": [i], "promises": f"N = {i}"} for i in range(1, 251)]})
        terminal, its_end = pty.openpty()
        with subprocess.Popen([os.environ["TLXJIT_PROGRAM"], "warm", self.file, "-k", KERNEL], env=self.environment,
                              stdout=subprocess.DEVNULL, stderr=its_end) as program:
            os.close(its_end)
            drawn = b""
            try:
                while piece := os.read(terminal, 4096):
                    drawn += piece
            except OSError:  # the other end is closed
                pass
        os.close(terminal)
        self.assertEqual(program.returncode, DONE)
        if drawn:  # it took half a second
            self.assertRegex(drawn.decode(), r"\rwarm  \[=*>? *\]  (251/251|\d+/251  (\d+m )?\d+s left)"
                             r"  (N = \d+|nothing)\x1b")

    def test_several_kernels(self):
        document = self.run_json("warm", self.file, "-k", text("softmax_rows"), "-k", KERNEL)
        self.assertEqual(document["failed"], 0)

    def test_keys_of_other_kernels(self):
        document = self.run_json("warm", self.file, "-k", OTHER, code=REFUSED)
        keys = self.manifest["keys"]
        self.assertEqual((document["keys"], document["failed"], document["other_kernels"]), (len(keys), 0, len(keys)))
        # Each is told, with what tells it from others.
        errors = document["errors"]
        self.assertEqual(sorted(error["key"] for error in errors),
                         sorted(json.dumps(key, separators=(",", ":")) for key in keys))
        self.assertEqual(sorted(error["promises"] for error in errors), sorted(key["promises"] for key in keys))
        for error in errors:
            self.assertIn("no file that was given has the kernel", error["message"])
            self.assertEqual((error["kind"], error["kernel"]), ("user", "add"))
        said = self.run_program("warm", self.file, "-k", OTHER, code=REFUSED).stdout.decode()
        self.assertEqual(said.count("no file that was given"), 1)
        self.assertEqual(said.count("\n  key: {"), len(keys))
        self.assertIn(f"{len(keys)} keys of kernels that were not given\n", said)

    def test_the_hash_of_what_failed_has_a_field_of_its_own(self):
        self.write(self.manifest["keys"][0] | {"target": "sm_90a"})
        gemm = text("gemm")
        self.environment["TLXJIT_NVRTC_DIR"] = str(self.folder)
        manifest = json.loads(self.program(gemm, "--as", "sm_90a", TLXJIT_DISK_CACHE="0").stdout)
        key = manifest["keys"][0] | {"target": "sm_90a"}
        del key["as"]
        self.write(key)
        document = self.run_json("warm", self.file, "-k", gemm, code=None)
        if document["failed"] == 0:
            self.skipTest("the loader finds an NVRTC")
        generic, special = sorted(document["errors"], key=lambda error: "key" in error)
        self.assertNotIn("key", generic)
        self.assertEqual(json.loads(special["key"]), key)
        for error in generic, special:
            self.assertEqual(error["code"], "library_missing")
            self.assertRegex(error["hash"], "^[0-9a-f]{32}$")
            self.assertIn(error["hash"], error["message"])
        self.assertNotEqual(generic["hash"], special["hash"])

    def test_bad_keys_leave_the_others(self):
        for change in ({"target": "sm_12"}, {"policies": "Q exact; "}, {"policies": "N divisible(0); "},
                       {"policies": "N exact"}, {"policies": "x wide; "}, {"codes": [1]}, {"codes": "x"},
                       {"arguments": ["f99"]}, {"arguments": 5}, {"ir": 7}, {"function": None}):
            with self.subTest(change):
                self.write({"tlxjit_manifest": 1,
                            "keys": [self.manifest["keys"][0] | change, self.manifest["keys"][1]]})
                document = self.run_json("warm", self.file, "-k", KERNEL, "--no-generic", code=None)
                if change == {"function": None}:  # a name of its own
                    continue
                self.assertEqual((document["failed"], document["compiled"] + document["found"]), (1, 1), document)
                self.assertEqual(json.loads(document["errors"][0]["key"]), self.manifest["keys"][0] | change)
                self.assertEqual(document["exit_code"], REFUSED)

    def test_what_is_wrong_with_policies(self):
        for policies, message in [("Q exact; ", "`Q exact` is none of this kernel's parameters"),
                                  ("N divisible(0); ", "`N divisible(0)` cannot be read"),
                                  ("N exact", "`N exact` cannot be read"),
                                  ("N exact; N exact; ", "`N exact` cannot be read, or is a second one")]:
            self.write(self.manifest["keys"][0] | {"policies": policies})
            document = self.run_json("warm", self.file, "-k", KERNEL, code=REFUSED)
            self.assertIn(message, document["errors"][0]["message"])

    def test_no_manifests(self):
        for data, message in [("", "it is no JSON"), ("[1]", "it must be an object"), ("\0\1", "it is no JSON"),
                              ("{", "it is no JSON"), ('{"tlxjit_manifest": 1}', "it must have a list `keys`"),
                              ('{"tlxjit_manifest": 2, "keys": []}', "its format must be 1"),
                              ('{"tlxjit_manifest": 1, "keys": 3}', "it must have a list `keys`"),
                              ("[" * 100000, "it is no JSON")]:
            with self.subTest(data[:30]):
                self.write(data)
                said = self.error("warm", self.file, "-k", KERNEL)["message"]
                self.assertTrue(said.startswith(f"{self.file}: "), said)
                self.assertIn(message, said)
        deep = "[" * 100000 + "]" * 100000
        for data in ('{"tlxjit_manifest": 1, "keys": [' + deep + "]}", json.dumps(self.manifest)[:-1] + ', "more": ' + deep + "}"):
            self.write(data)
            self.assertIn("nested deeper than 32", self.error("warm", self.file, "-k", KERNEL)["message"])
        self.write('{"tlxjit_manifest": 1, "keys": [3, null, "x", {}]}')
        document = self.run_json("warm", self.file, "-k", KERNEL, code=REFUSED)
        self.assertEqual((document["failed"], [error["key"] for error in document["errors"]]),
                         (4, ["3", "null", '"x"', "{}"]))
        self.write('{"tlxjit_manifest": 1, "keys": []}')
        self.assertEqual(self.run_json("warm", self.file, "-k", KERNEL)["keys"], 0)

    def test_what_is_not_kept_is_told(self):
        count = len(self.manifest["keys"])
        environment = self.environment

        def warm(*options, **variables):
            self.environment = {name: value for name, value in (environment | variables).items() if value is not None}
            document = self.run_json("warm", self.file, "-k", KERNEL, *options, code=ENVIRONMENT)
            self.assertEqual((document["found"], document["failed"]), (0, 0))
            self.assertEqual(document["not_kept"], document["compiled"])
            self.assertGreater(document["not_kept"], 0)
            self.assertLessEqual(document["not_kept"], count + 1)
            said = self.run_program("warm", self.file, "-k", KERNEL, *options, code=ENVIRONMENT).stdout.decode()
            self.assertIn("not in the cache", said)

        warm(TLXJIT_DISK_CACHE="0")
        warm(HOME=None, XDG_CACHE_HOME=None, TLXJIT_CACHE_DIR=None)
        warm("--cache-dir", self.file)  # no directory
        self.environment = environment
        self.assertEqual(self.run_json("warm", self.file, "-k", KERNEL)["not_kept"], 0)

    def test_files_and_usage(self):
        self.error("warm", "/nowhere.json", "-k", KERNEL, code=ENVIRONMENT)
        self.error("warm", self.file, "-k", "/nowhere.tlx", code=ENVIRONMENT)
        self.assertIn("--kernel is required", self.error("warm", self.file, code=USAGE)["message"])
        self.error("warm", self.file, "-k", KERNEL, "-j", "0", code=USAGE)
        self.error("warm", self.file, "-k", KERNEL, "-j", "65", code=USAGE)


if __name__ == "__main__":
    unittest.main()
