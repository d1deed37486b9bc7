# tests/command/hostile_test.py — kernels that are none: damaged, random and very long texts are refused, and nothing
# else happens.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
import json
import os
import random
import time
import unittest

from program import ENVIRONMENT, REFUSED, Case, text

# As tests/support/seeds.h has it: TLXJIT_SEED, or those that stay and one of the day.
GIVEN = os.environ.get("TLXJIT_SEED")
TODAY = int(GIVEN or time.time() // 86400)
SEEDS = [TODAY] if GIVEN else [1, 2, TODAY]
print(f"repeat with TLXJIT_SEED={TODAY}")


class Texts(Case):
    def refused(self, data):
        """Whatever it is, it ends as a document, with a fault of the text that has its line, or well."""
        for command in (["compile", "-", "--target", "sm_90a", "--to", "source"], ["explain", "-"]):
            done = self.run_program(*command, "--json", stdin=data, code=None)
            document = json.loads(done.stdout)
            self.assertEqual(document["exit_code"], done.returncode)
            self.assertIn(done.returncode, (0, 1), f"{command}: {document}")
            if done.returncode == REFUSED and document["error"]["stage"] == "parse":
                self.assertEqual(document["error"]["file"], "<standard input>")
                self.assertGreaterEqual(document["error"]["line"], 1)

    def test_damaged(self):
        whole = {name: open(text(name), "rb").read() for name in ("gemm", "vector_add", "flash_attention")}
        for seed in SEEDS:
            chance = random.Random(seed)
            for _ in range(12):
                with self.subTest(seed=seed):
                    data = bytearray(whole[chance.choice(sorted(whole))])
                    for _ in range(chance.choice([1, 1, 1, 5])):
                        at = chance.randrange(len(data))
                        kind = chance.randrange(4)
                        if kind == 0:
                            data[at] = chance.randrange(256)
                        elif kind == 1:
                            del data[at:at + chance.randrange(1, 40)]
                        elif kind == 2:
                            data[at:at] = data[chance.randrange(len(data)):][:chance.randrange(1, 60)]
                        else:
                            digits = [i for i, byte in enumerate(data) if 48 <= byte < 58]
                            data[chance.choice(digits)] = chance.choice(b"0123456789")
                    self.refused(bytes(data))

    def test_random(self):
        for seed in SEEDS:
            chance = random.Random(seed)
            with self.subTest(seed=seed):
                self.refused(chance.randbytes(1000))
                self.refused(b"tlx 1 portable\nkernel \"k\" {\n" + chance.randbytes(1000))

    def test_odd_bytes(self):
        for data in (b"", b"\0", b"\n" * 10000, b"tlx", b"tlx 1 portable\0", b"tlx 1 portable\nkernel \"k\" {\0}",
                     b"\xef\xbb\xbftlx 1 portable\nkernel \"k\" {}", b"tlx 1 portable\nkernel \"a\xff\0b\" {\n}\n",
                     b"\x7fELF", b"#" * 100000):
            with self.subTest(data[:40]):
                self.refused(data)

    def test_names_that_are_no_text(self):
        self.refused(open(text("vector_add"), "rb").read().replace(b'"N"', b'"\x93"').replace(b'"x"', b'"\xff\xfe"'))

    def test_long(self):
        self.refused(b"tlx 1 portable\nkernel \"k\" {\n" + b"task {" * 100000)
        self.refused(b"tlx 1 portable\nkernel \"" + b"k" * 1000000 + b"\" {\n}\n")
        self.refused(b"tlx 1 portable\nkernel \"k\" {\n" +
                     b"".join(b"  %%%d = const [value = 1] : i32\n" % i for i in range(100000)) + b"}\n")

    def test_not_a_kernel(self):
        self.assertIn("file", self.error("compile", "/proc/self/exe"))
        self.assertIn("No such", self.error("compile", "no\nwhere", code=ENVIRONMENT)["message"])


if __name__ == "__main__":
    unittest.main()
