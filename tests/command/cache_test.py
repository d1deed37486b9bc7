# tests/command/cache_test.py — `tlxjit cache`, and `tlxjit explain` of a key.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
import os
import subprocess
import unittest

from program import DONE, ENVIRONMENT, REFUSED, Case


class Cache(Case):
    def setUp(self):
        super().setUp()
        self.cache = self.folder / "cache"

    def fill(self, count=5, name="kernel"):
        done = subprocess.run([os.environ["TLXJIT_ENTRIES"], self.cache, str(count), name], capture_output=True,
                              text=True, check=True)
        return sorted(done.stdout.split())

    def file_of(self, key):
        found = [path for path in self.cache.rglob("*") if path.is_file() and key[2:] in path.name.replace("/", "")]
        self.assertEqual(len(found), 1)
        return found[0]

    def spoil(self, key):
        data = bytearray(self.file_of(key).read_bytes())
        data[len(data) // 2] ^= 1
        self.file_of(key).write_bytes(data)

    def keys(self, *arguments):
        return sorted(entry["key"] for entry in self.run_json("cache", "ls", *arguments)["entries"])


class Listing(Cache):
    def test_empty(self):
        # A directory that is not there is empty, and is not made.
        self.assertEqual(self.run_program("cache", "ls").stdout, b"")
        self.assertEqual(self.run_json("cache", "stat")["entries"], 0)
        self.assertEqual(self.run_json("cache", "verify")["good"], 0)
        self.assertEqual(self.run_json("cache", "clear")["removed"], 0)
        self.assertFalse(self.cache.exists())

    def test_a_directory_that_is_named_must_be_there(self):
        nowhere = self.folder / "nowhere"
        for command in (["ls"], ["stat"], ["verify"], ["verify", "--remove"], ["trim", "--to", "0"], ["clear"],
                        ["export", self.folder / "b"]):
            error = self.error("cache", *command, "--dir", nowhere, code=ENVIRONMENT)
            self.assertEqual(error["message"], f"cannot open {nowhere}: No such file or directory")
        self.error("explain", "0" * 32, "--dir", nowhere, code=ENVIRONMENT)
        self.error("cache", "ls", "--system", "--dir", nowhere, code=ENVIRONMENT)
        self.assertFalse(nowhere.exists() or (self.folder / "b").exists())

    def test_a_directory_that_is_no_cache(self):
        other = self.folder / "other"
        other.mkdir(mode=0o700)
        (other / "file").write_text("x")
        warning = f"{other} holds no cache: there is no folder v1 in it"
        for command in (["ls"], ["stat"], ["verify"], ["trim", "--to", "0"], ["clear"]):
            self.assertEqual(self.run_json("cache", *command, "--dir", other)["warning"], warning)
            self.assertEqual(self.run_program("cache", *command, "--dir", other).stderr.decode(), f"warning: {warning}\n")
        self.fill()
        self.assertNotIn("warning", self.run_json("cache", "ls", "--dir", self.cache))

    def test_ls(self):
        keys = self.fill()
        document = self.run_json("cache", "ls")
        self.assertIn(str(self.cache), document["store"])
        self.assertEqual(sorted(entry["key"] for entry in document["entries"]), keys)
        for entry in document["entries"]:
            self.assertEqual(entry["bytes"], self.file_of(entry["key"]).stat().st_size)
            self.assertRegex(entry["last_use"], r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$")
        lines = self.run_program("cache", "ls").stdout.decode().splitlines()
        self.assertEqual(sorted(line.split()[0] for line in lines), keys)

    def test_long(self):
        keys = self.fill()
        entries = self.run_json("cache", "ls", "--long")["entries"]
        self.assertEqual(sorted(entry["kernel"] for entry in entries), [f"kernel{i}" for i in range(5)])
        self.assertEqual({entry["target"] for entry in entries}, {"cpu"})
        self.assertEqual({(entry["as"], entry["promises"]) for entry in entries}, {("cpu", "nothing")})
        self.assertEqual(sorted(entry["image_bytes"] for entry in entries), list(range(1000, 1005)))
        self.spoil(keys[0])
        bad = [entry for entry in self.run_json("cache", "ls", "-l")["entries"] if "bad" in entry]
        self.assertEqual([entry["key"] for entry in bad], [keys[0]])

    def test_long_of_names_made_to_mislead(self):
        keys = self.fill(count=1, name="k\n0123  9 a row\x1b[2J")
        lines = self.run_program("cache", "ls", "-l").stdout.decode().splitlines()
        self.assertEqual([line.split()[0] for line in lines], keys)
        self.assertTrue(lines[0].endswith(r"  k\x0a0123  9 a row\x1b[2J0  cpu  nothing"), lines)

    def test_stat(self):
        keys = self.fill()
        document = self.run_json("cache", "stat")
        sizes = [self.file_of(key).stat().st_size for key in keys]
        self.assertEqual((document["entries"], document["bytes"], document["largest_bytes"]),
                         (5, sum(sizes), max(sizes)))
        self.assertIn("last_use", document)
        self.assertIn("5 entries", self.run_program("cache", "stat").stdout.decode())

    def test_dir(self):
        keys = self.fill()
        self.environment["TLXJIT_CACHE_DIR"] = "/nowhere"
        self.assertEqual(self.keys("--dir", self.cache), keys)
        done = self.run_program("cache", "ls", "--dir", "cache", cwd=self.folder)  # relative to where one is
        self.assertEqual(len(done.stdout.splitlines()), 5)
        # Behind a link, `..` is what the system says.
        (self.folder / "far" / "deep").mkdir(parents=True)
        (self.folder / "link").symlink_to("far/deep")
        self.assertEqual(self.keys("--dir", f"{self.folder}/link/../../cache"), keys)
        self.error("cache", "ls", "--dir", f"{self.folder}/link/../cache", code=ENVIRONMENT)


class Verify(Cache):
    def test_good(self):
        self.fill()
        document = self.run_json("cache", "verify")
        self.assertEqual((document["good"], document["bad"], document["removed"]), (5, [], 0))

    def test_bad(self):
        keys = self.fill()
        self.spoil(keys[1])
        self.file_of(keys[3]).write_bytes(self.file_of(keys[2]).read_bytes())  # another's entry
        document = self.run_json("cache", "verify", code=REFUSED)
        self.assertEqual(document["good"], 3)
        self.assertEqual(sorted(entry["key"] for entry in document["bad"]), [keys[1], keys[3]])
        self.assertTrue(all(entry["why"] for entry in document["bad"]))
        said = self.run_program("cache", "verify", code=REFUSED).stdout.decode()
        self.assertIn(keys[1], said)
        self.assertEqual(self.keys(), keys)  # nothing is taken away unasked
        document = self.run_json("cache", "verify", "--remove")
        self.assertEqual(document["removed"], 2)
        self.assertEqual(self.keys(), sorted({*keys} - {keys[1], keys[3]}))
        self.assertEqual(self.run_json("cache", "verify")["good"], 3)


class Removal(Cache):
    def test_clear(self):
        self.fill()
        document = self.run_json("cache", "clear")
        self.assertEqual(document["removed"], 5)
        self.assertGreater(document["removed_bytes"], 5000)
        self.assertEqual(self.keys(), [])

    def test_trim(self):
        keys = self.fill()
        for age, key in enumerate(keys):
            os.utime(self.file_of(key), (2e9 - 1e7 * age, 2e9 - 1e7 * age - 5e8))
        self.assertEqual(self.run_json("cache", "trim", "--to", "1G")["removed"], 0)
        self.assertEqual(self.keys(), keys)
        self.assertEqual(self.run_json("cache", "trim", "--to", "4KB")["removed"] + len(self.keys()), 5)
        self.assertLessEqual(self.run_json("cache", "stat")["bytes"], 4096)
        self.assertIn("0 entries removed", self.run_program("cache", "trim", "--to", "4KB").stdout.decode())


class Bundles(Cache):
    def test_export(self):
        keys = self.fill()
        bundle = self.folder / "kernels.bundle"
        document = self.run_json("cache", "export", bundle)
        self.assertEqual(document["entries"], 5)
        self.assertEqual(document["file"], str(bundle))
        self.assertEqual(self.run_json("cache", "stat", "--bundle", bundle.name, cwd=self.folder)["entries"], 5)
        self.run_json("cache", "clear")
        self.assertEqual(self.keys("--bundle", bundle), keys)
        self.assertEqual(self.run_json("cache", "verify", "--bundle", bundle)["good"], 5)
        self.assertEqual(self.run_json("cache", "stat", "--bundle", bundle)["entries"], 5)
        part = self.folder / "part.bundle"
        self.run_json("cache", "export", part, keys[0], keys[1], "--bundle", bundle)
        self.assertEqual(self.keys("--bundle", part), keys[:2])

    def test_refusals(self):
        keys = self.fill()
        bundle = self.folder / "kernels.bundle"
        error = self.error("cache", "export", bundle, "0" * 32)
        self.assertIn("there is no entry " + "0" * 32, error["message"])
        self.spoil(keys[0])
        error = self.error("cache", "export", bundle, code=REFUSED)  # as verify says it
        self.assertEqual(error["code"], "bad_content")
        self.assertIn("tlxjit cache verify --remove", error["log"][-1])
        self.assertFalse(bundle.exists())
        self.run_json("cache", "export", bundle, *keys[1:])
        for command in (["clear"], ["trim", "--to", "0"], ["verify", "--remove"]):
            self.assertIn("a bundle is only read", self.error("cache", *command, "--bundle", bundle)["message"])
        bundle.write_bytes(bundle.read_bytes()[:-1])
        self.assertEqual(self.error("cache", "ls", "--bundle", bundle)["code"], "bad_content")
        self.assertIn("No such file", self.error("cache", "ls", "--bundle", "/nowhere", code=ENVIRONMENT)["message"])
        self.error("cache", "export", "/nowhere/b", *keys[1:], code=ENVIRONMENT)


    def test_there_is_no_empty_bundle(self):
        bundle = self.folder / "kernels.bundle"
        self.assertIn("and no bundle is written", self.error("cache", "export", bundle)["message"])
        self.cache.mkdir(mode=0o700)
        error = self.error("cache", "export", bundle, "--dir", self.cache)
        self.assertTrue(error["message"].endswith("holds no cache: there is no folder v1 in it"), error)
        self.assertFalse(bundle.exists())


class Places(Cache):
    def test_untrusted(self):
        self.fill()
        self.cache.chmod(0o777)
        error = self.error("cache", "ls", code=ENVIRONMENT)
        self.assertEqual(error["code"], "untrusted")
        self.assertIn(str(self.cache), error["message"])

    def test_no_directory(self):
        self.cache.write_text("a file")
        self.assertIn(str(self.cache), self.error("cache", "ls", code=ENVIRONMENT)["message"])

    def test_no_home(self):
        for name in ("TLXJIT_CACHE_DIR", "XDG_CACHE_HOME", "HOME"):
            self.environment.pop(name, None)
        self.error("cache", "stat", code=ENVIRONMENT)

    def test_system_of_the_environment(self):
        keys = self.fill()
        self.environment.pop("TLXJIT_SYSTEM_CACHE_DIR", None)
        for command in ("cache", "ls"), ("explain", keys[0]):
            self.assertIn("TLXJIT_SYSTEM_CACHE_DIR names none", self.error(*command, "--system", code=ENVIRONMENT)["message"])
        self.environment["TLXJIT_CACHE_DIR"] = "/nowhere"
        self.environment["TLXJIT_SYSTEM_CACHE_DIR"] = str(self.cache)
        self.assertIn("only read", self.error("cache", "clear", "--system")["message"])
        if os.geteuid() == 0:
            self.assertEqual(self.keys("--system"), keys)
        else:  # it is the one that is looked at, and it is not root's
            error = self.error("cache", "ls", "--system", code=ENVIRONMENT)
            self.assertEqual(error["code"], "untrusted")
            self.assertIn(str(self.cache), error["message"])
        self.environment["TLXJIT_SYSTEM_CACHE_DIR"] = str(self.folder / "other")
        self.assertEqual(self.run_json("cache", "stat", "--system")["entries"], 0)

    def test_system(self):
        if os.geteuid() == 0:
            self.skipTest("what is root's cannot be told from what is the user's by root")
        self.fill()
        self.assertEqual(self.error("cache", "ls", "--dir", self.cache, "--system", code=ENVIRONMENT)["code"],
                         "untrusted")


class Explain(Cache):
    def test_key(self):
        key = self.fill(1)[0]
        document = self.run_json("explain", key)
        self.assertEqual(document["kernel"], "kernel0")
        self.assertEqual(document["signature"], "kernel0(x: f32[N])")
        self.assertEqual(document["level"], "lowered")
        self.assertEqual(document["key"]["key"], key)
        self.assertEqual(document["key"]["made_of"], ["what kernel 0 depends on", "and more", "the kernel's text without locations, 64 bytes"])
        self.assertEqual(document["entry"]["image_bytes"], 1000)
        bundle = self.folder / "bundle"
        self.run_json("cache", "export", bundle)
        self.assertEqual(self.run_json("explain", key, "--bundle", bundle)["kernel"], "kernel0")
        self.assertIn(key, self.run_program("explain", key).stdout.decode())

    def test_refusals(self):
        key = self.fill(1)[0]
        self.assertIn("there is no entry", self.error("explain", "0" * 32)["message"])
        self.spoil(key)
        self.assertEqual(self.error("explain", key, code=None)["code"], "bad_content")


if __name__ == "__main__":
    unittest.main()
