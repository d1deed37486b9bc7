# tests/command/warm_test.py — `tlxjit warm`.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
import json
import os
import subprocess
import unittest

from program import ENVIRONMENT, REFUSED, USAGE, Case, needs_cpu, text

KERNEL = text("vector_add")


@needs_cpu
class Warm(Case):
    def setUp(self):
        super().setUp()
        # A program's function has seen some calls.
        done = subprocess.run([os.environ["TLXJIT_MANIFEST"], KERNEL], capture_output=True, text=True, check=True,
                              env=dict(self.environment, TLXJIT_DISK_CACHE="0"))
        self.manifest = json.loads(done.stdout)
        self.assertGreaterEqual(len(self.manifest["keys"]), 4)
        self.file = self.folder / "manifest.json"
        self.write(self.manifest)

    def write(self, manifest):
        self.file.write_text(manifest if isinstance(manifest, str) else json.dumps(manifest))

    def test_keys_are_found_afterwards(self):
        count = len(self.manifest["keys"])
        document = self.run_json("warm", self.file, "--kernel", KERNEL, "--threads", "3")
        self.assertEqual((document["keys"], document["failed"], document["errors"]), (count, 0, []))
        self.assertEqual(document["compiled"] + document["found"], count)
        self.assertGreater(document["compiled"], 0)
        self.assertEqual(self.run_json("cache", "verify")["good"], document["compiled"])
        again = self.run_json("warm", self.file, "--kernel", KERNEL)
        self.assertEqual((again["compiled"], again["found"]), (0, count))
        # The program compiles nothing any more.
        done = subprocess.run([os.environ["TLXJIT_MANIFEST"], KERNEL], capture_output=True, text=True, check=True,
                              env=self.environment)
        self.assertRegex(done.stderr, r"^[1-9]\d* from disk, [01] not\n$")

    def test_one_key(self):
        self.write(self.manifest["keys"][0])
        document = self.run_json("warm", "-", "-k", KERNEL, stdin=self.file.read_bytes())
        self.assertEqual((document["keys"], document["failed"]), (1, 0))
        said = self.run_program("warm", self.file, "-k", KERNEL).stdout.decode()
        self.assertEqual(said, "1 key: 0 compiled, 1 found on disk, 0 failed\n")

    def test_several_kernels(self):
        document = self.run_json("warm", self.file, "-k", text("softmax_rows"), "-k", KERNEL)
        self.assertEqual(document["failed"], 0)

    def test_keys_of_other_kernels(self):
        document = self.run_json("warm", self.file, "-k", text("softmax_rows"), code=REFUSED)
        self.assertEqual(document["failed"], len(self.manifest["keys"]))
        self.assertIn("no file that was given has the kernel", document["errors"][0]["message"])
        self.assertEqual(document["errors"][0]["kind"], "user")

    def test_bad_keys_leave_the_others(self):
        for change in ({"target": "sm_12"}, {"policies": "Q exact; "}, {"policies": "N divisible(0); "},
                       {"policies": "N exact"}, {"policies": "x wide; "}, {"codes": [1]}, {"codes": "x"},
                       {"arguments": ["f99"]}, {"arguments": 5}, {"ir": 7}, {"function": None}):
            with self.subTest(change):
                self.write({"tlxjit_manifest": 1,
                            "keys": [self.manifest["keys"][0] | change, self.manifest["keys"][1]]})
                document = self.run_json("warm", self.file, "-k", KERNEL, code=None)
                if change == {"function": None}:  # a name of its own
                    continue
                self.assertEqual((document["failed"], document["compiled"] + document["found"]), (1, 1), document)
                self.assertEqual(document["exit_code"], REFUSED)

    def test_no_manifests(self):
        for data, message in [("", "no manifest"), ("[1]", "no manifest"), ("\0\1", "no manifest"), ("{", "no manifest"),
                              ('{"tlxjit_manifest": 1}', "has no list `keys`"),
                              ('{"tlxjit_manifest": 1, "keys": 3}', "has no list `keys`"), ("[" * 100000, "no manifest")]:
            with self.subTest(data[:30]):
                self.write(data)
                self.assertIn(message, self.error("warm", self.file, "-k", KERNEL)["message"])
        self.write('{"tlxjit_manifest": 1, "keys": [3, null, "x", {}]}')
        self.assertEqual(self.run_json("warm", self.file, "-k", KERNEL, code=REFUSED)["failed"], 4)
        self.write('{"tlxjit_manifest": 1, "keys": []}')
        self.assertEqual(self.run_json("warm", self.file, "-k", KERNEL)["keys"], 0)

    def test_files_and_usage(self):
        self.error("warm", "/nowhere.json", "-k", KERNEL, code=ENVIRONMENT)
        self.error("warm", self.file, "-k", "/nowhere.tlx", code=ENVIRONMENT)
        self.assertIn("--kernel is required", self.error("warm", self.file, code=USAGE)["message"])
        self.error("warm", self.file, "-k", KERNEL, "-j", "0", code=USAGE)
        self.error("warm", self.file, "-k", KERNEL, "-j", "65", code=USAGE)


if __name__ == "__main__":
    unittest.main()
