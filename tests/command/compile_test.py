# tests/command/compile_test.py — `tlxjit compile`.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
import os
import stat
import unittest

from program import ENVIRONMENT, REFUSED, Case, needs_cpu, text

HAS_NVRTC = bool(os.environ.get("TLXJIT_NVRTC_DIR"))


class Forms(Case):
    def test_portable_and_lowered(self):
        portable = self.run_program("compile", text("gemm"), "--to", "portable").stdout.decode()
        self.assertTrue(portable.startswith('tlx 1 portable\nkernel "gemm"'))
        self.assertNotIn("kernel.cpp", portable)
        self.assertIn("kernel.cpp", self.run_program("compile", text("gemm"), "--to", "portable",
                                                     "--locations").stdout.decode())
        # What is written is read.
        again = self.run_program("compile", "-", "--to", "portable", stdin=portable.encode()).stdout.decode()
        self.assertEqual(again, portable)
        lowered = self.run_program("compile", "-", "--target", "sm_90a", "--to", "lowered",
                                   stdin=portable.encode()).stdout
        self.assertTrue(lowered.startswith(b'tlx 1 lowered sm_90a\nkernel "gemm"'))
        # Lowered text has its target in it.
        again = self.run_json("compile", "-", "--to", "lowered", stdin=lowered)
        self.assertEqual(again["text"].encode(), lowered)
        self.assertEqual(again["target"], "sm_90a")

    def test_source_needs_no_compiler(self):
        environment = dict(self.environment)
        self.environment.pop("TLXJIT_NVRTC_DIR", None)
        source = self.run_program("compile", text("gemm"), "--target", "sm_90a", "--to", "source").stdout
        self.assertIn(b"__global__", source)
        self.environment = environment

    @unittest.skipUnless(HAS_NVRTC, "NVRTC was left out")
    def test_ptx_and_cubin(self):
        ptx = self.run_program("compile", text("gemm"), "--target", "sm_90a", "--to", "ptx").stdout
        self.assertIn(b".target sm_90a", ptx)
        self.assertNotIn(b".loc\t", ptx)
        ptx = self.run_program("compile", text("gemm"), "--target", "sm_90a", "--to", "ptx", "--lineinfo").stdout
        self.assertIn(b".loc\t", ptx)
        file = self.folder / "gemm.cubin"
        document = self.run_json("compile", text("gemm"), "--target", "sm_90a", "--to", "cubin", "-o", file)
        self.assertEqual(file.read_bytes()[:4], b"\x7fELF")
        self.assertEqual(document["bytes"], file.stat().st_size)
        self.assertEqual(document["report"]["registers"], 168)
        self.assertEqual(document["report"]["diagnostics"], [])
        self.assertGreater(document["times_ms"]["compile"], 0)
        done = self.run_program("compile", text("gemm"), "--target", "sm_90a")
        self.assertEqual(done.stdout, b"")
        self.assertIn(b"168 registers, spills 0 bytes stored", done.stderr)
        piped = self.run_program("compile", text("gemm"), "--target", "sm_90a", "--to", "cubin").stdout
        self.assertEqual(piped, file.read_bytes())

    @needs_cpu
    def test_llvm_ir(self):
        ir = self.run_program("compile", text("vector_add"), "--to", "llvm-ir").stdout
        self.assertIn(b"\ntarget triple = ", ir)
        self.assertIn(b"\ndefine ", ir)
        error = self.error("compile", text("gemm"), "--target", "sm_90a", "--to", "llvm-ir")
        self.assertIn("sm_90a has no llvm-ir", error["message"])

    def test_fields(self):
        document = self.run_json("compile", text("gemm"), "--target", "sm_90a", "--to", "lowered")
        self.assertEqual(document["command"], "compile")
        self.assertEqual(document["kernel"], "gemm")
        self.assertEqual(document["signature"], "gemm(a: bf16[M, K], b: bf16[N, K], d: bf16[M, N])")
        self.assertEqual(document["resources"]["threads"], 384)
        self.assertEqual(document["resources"]["tensor_maps"], 3)
        self.assertEqual(set(document["times_ms"]), {"verify", "lower", "emit", "compile", "load", "look_up"})
        self.assertEqual(document["to"], "lowered")
        self.assertEqual(document["bytes"], len(document["text"].encode()))

    @needs_cpu
    def test_nothing_is_written_unless_asked_for(self):
        done = self.run_program("compile", text("vector_add"))
        self.assertEqual(done.stdout, b"")
        self.assertIn(b"vector_add(x: f32[N], y: f32[N], z: f32[N]) for cpu", done.stderr)
        self.assertEqual(self.run_program("compile", text("vector_add"), "--quiet").stderr, b"")
        self.assertIn("report", self.run_json("compile", text("vector_add")))

    def test_no_plug_in(self):
        error = self.error("compile", text("vector_add"), "--cpu-plugin", "/nowhere.so", code=ENVIRONMENT)
        self.assertEqual(error["code"], "library_missing")

    def test_no_nvrtc(self):
        self.environment.pop("TLXJIT_NVRTC_DIR", None)
        if any(device["name"] == "sm_90a" and device["can_compile"]
               for device in self.run_json("devices")["devices"]):
            self.skipTest("NVRTC is among the system's libraries")
        (self.folder / "libnvrtc.so.13").touch()  # no library
        for form in ("ptx", "cubin"):
            error = self.error("compile", text("gemm"), "--target", "sm_90a", "--to", form, "-o",
                               self.folder / "out", "--nvrtc-dir", self.folder, code=ENVIRONMENT)
            self.assertEqual(error["code"], "library_missing")
            self.assertIn(str(self.folder), error["message"] + "".join(error.get("log", [])))


class Refusals(Case):
    def test_forms_that_there_are_not(self):
        for arguments, message in [
            (["--to", "source"], "cpu has no source: --to portable, lowered or llvm-ir, or --target sm_90a"),
            (["--to", "ptx"], "cpu has no ptx"),
            (["--to", "cubin"], "cpu has no cubin"),
            (["--to", "hsaco"], "hsaco comes later, with a back end for AMD"),
            (["--target", "sm_12", "--to", "lowered"], "there is no target 'sm_12'; known are cpu and sm_90a"),
        ]:
            with self.subTest(arguments):
                error = self.error("compile", text("gemm"), *arguments)
                self.assertIn(message, error["message"])
                self.assertEqual(error["code"], "unsupported")

    def test_no_way_back(self):
        lowered = self.run_program("compile", text("gemm"), "--target", "sm_90a", "--to", "lowered").stdout
        error = self.error("compile", "-", "--to", "portable", stdin=lowered)
        self.assertIn("no way back", error["message"])
        error = self.error("compile", "-", "--target", "cpu", stdin=lowered)
        self.assertIn("lowered for sm_90a", error["message"])

    @unittest.skipUnless(HAS_NVRTC, "NVRTC was left out")
    def test_a_cubin_is_no_text(self):
        error = self.run_json("compile", text("gemm"), "--target", "sm_90a", "--to", "cubin", code=REFUSED)["error"]
        self.assertIn("-o", error["message"])

    def test_faults_have_their_line(self):
        kernel = self.folder / "bad.tlx"
        kernel.write_text('tlx 1 portable\nkernel "k" {\n  %0 = dim [name = "N"] : i32\n  %1 = fly %0 : i32\n}\n')
        error = self.error("compile", kernel)
        self.assertEqual((error["file"], error["line"], error["stage"]), (str(kernel), 4, "parse"))
        self.assertEqual(error["message"], "'fly' is no op")
        # Of the verifier: the line of the text, unless it names another.
        kernel.write_text('tlx 1 portable\nkernel "k" {\n  %0 = dim [name = "N"] : i32\n  %1 = neg %0 : i64\n}\n')
        error = self.error("compile", kernel)
        self.assertEqual((error["file"], error["line"], error["stage"]), (str(kernel), 4, "verify"))
        kernel.write_text('tlx 1 portable\nkernel "k" {\n  %0 = dim [name = "N"] : i32\n'
                          '  %1 = neg %0 : i64 @"my.cpp" 12\n}\n')
        error = self.error("compile", kernel)
        self.assertEqual((error["file"], error["line"]), ("my.cpp", 12))

    def test_what_the_target_lacks(self):
        error = self.error("compile", text("softmax_rows"), "--target", "sm_90a", "--to", "source")
        self.assertEqual(error["code"], "unsupported")
        self.assertIn("line", error)


class Files(Case):
    def test_that_cannot_be_read(self):
        for name, message in [("nowhere.tlx", "No such file or directory"), (".", "Is a directory"),
                              ("x" * 300, "File name too long"), ("", "No such file or directory")]:
            with self.subTest(name):
                error = self.error("compile", name, code=ENVIRONMENT, cwd=self.folder)
                self.assertEqual(error["code"], "disk_failed")
                self.assertIn(message, error["message"])
        os.symlink("loop", self.folder / "loop")
        self.assertIn("symbolic links", self.error("compile", self.folder / "loop", code=ENVIRONMENT)["message"])
        if os.geteuid() != 0:
            secret = self.folder / "secret.tlx"
            secret.touch(mode=0)
            self.assertIn("Permission denied", self.error("compile", secret, code=ENVIRONMENT)["message"])

    def test_that_are_too_large(self):
        huge = self.folder / "huge.tlx"
        with huge.open("wb") as file:
            file.truncate(1 << 40)
        for name in (huge, "/dev/zero"):
            self.assertIn("more than the 64.0 MiB", self.error("compile", name)["message"])

    def test_output(self):
        target = self.folder / "out.tlx"
        target.write_text("old")
        os.symlink("out.tlx", self.folder / "link.tlx")
        self.run_program("compile", text("gemm"), "--to", "portable", "-o", self.folder / "link.tlx")
        self.assertTrue(os.path.islink(self.folder / "link.tlx"))
        self.assertTrue(target.read_text().startswith("tlx 1"))
        mask = os.umask(0)
        os.umask(mask)
        self.assertEqual(stat.S_IMODE(target.stat().st_mode), 0o666 & ~mask)
        self.assertEqual(sorted(os.listdir(self.folder)), ["link.tlx", "out.tlx"])
        for place, message in [(self.folder, "Is a directory"), (self.folder / "no" / "out", "No such file")]:
            self.assertIn(message, self.error("compile", text("gemm"), "--to", "portable", "-o", place,
                                              code=ENVIRONMENT)["message"])


if __name__ == "__main__":
    unittest.main()
