# tests/command/run_test.py — `tlxjit run`.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
import array
import ast
import functools
import os
import pty
import re
import struct
import subprocess
import threading
import unittest

from program import ENVIRONMENT, PROGRAM, USAGE, Case, needs_cpu, text

ADD = [text("vector_add"), "--device", "cpu"]


def npy(descr, dims, data, order=False, version=1):
    """A file of NumPy's format."""
    shape = "(" + "".join(f"{d}, " for d in dims) + ")"
    header = f"{{'descr': '{descr}', 'fortran_order': {order}, 'shape': {shape}, }}\n".encode()
    length = struct.pack("<H" if version == 1 else "<I", len(header))
    return b"\x93NUMPY" + bytes([version, 0]) + length + header + data


def read_npy(path):
    """(descr, shape, elements as bytes)."""
    data = path.read_bytes()
    assert data[:8] == b"\x93NUMPY\x01\x00"
    end = 10 + struct.unpack("<H", data[8:10])[0]
    assert end % 64 == 0
    header = ast.literal_eval(data[10:end].decode())
    return header["descr"], header["shape"], data[end:]


def floats(*values):
    return array.array("f", values).tobytes()


@needs_cpu
class Run(Case):
    def z(self, *arguments, **options):
        document = self.run_json("run", *ADD, *arguments, "--print", **options)
        return ast.literal_eval(document["outputs"][0]["elements"])

    def test_made_elements(self):
        self.assertEqual(self.z("-a", "x=arange", "-a", "y=ones", "-d", "N=5"), [1, 2, 3, 4, 5])
        self.assertEqual(self.z("-a", "x=zeros", "-a", "y=-2.5", "-d", "N=2"), [-2.5, -2.5])
        self.assertEqual(self.z("-a", "x=1e3", "-a", "y=0x10", "-d", "N=1"), [1016])
        self.assertEqual(self.z("-a", "x=1", "-a", "y=1", "-d", "N=0"), [])
        first = self.z("-a", "x=random", "-a", "y=0", "-d", "N=500")
        self.assertEqual(first, self.z("-a", "x=random", "-a", "y=0", "-d", "N=500"))
        self.assertNotEqual(first, self.z("-a", "x=random", "-a", "y=0", "-d", "N=500", "--seed", "1"))
        self.assertTrue(all(-1 <= value < 1 for value in first))
        self.assertLess(abs(sum(first)), 80)
        # Tensors have random elements of their own.
        self.assertTrue(any(self.z("-a", "x=random", "-a", "y=random", "-d", "N=5")[i] != 2 * first[i]
                            for i in range(5)))

    def test_fields(self):
        document = self.run_json("run", *ADD, "-a", "x=2", "-a", "y=1", "-d", "N=1000", "--repeat", "11")
        self.assertEqual(document["device"], "cpu")
        self.assertEqual(document["dims"], {"N": 1000})
        out, = document["outputs"]
        self.assertEqual({key: out[key] for key in ("name", "elem", "dims", "bytes", "min", "max", "mean",
                                                    "non_finite")},
                         {"name": "z", "elem": "f32", "dims": [1000], "bytes": 4000, "min": 3, "max": 3, "mean": 3,
                          "non_finite": 0})
        self.assertRegex(out["checksum"], "^[0-9a-f]{32}$")
        times = document["repeat"]
        self.assertEqual(times["calls"], 11)
        self.assertLessEqual(times["min_ms"], times["median_ms"])
        self.assertLessEqual(times["median_ms"], times["max_ms"])
        self.assertEqual(document["printed"], [])

    def test_for_people(self):
        done = self.run_program("run", *ADD, "-a", "x=2", "-a", "y=nan", "-d", "N=3", "--repeat", "2")
        self.assertRegex(done.stdout.decode(), r"^z: f32\[3\]  checksum [0-9a-f]{32}  3 not finite\nmedian of 2 calls: ")
        self.assertIn(b" on cpu, compiled in ", done.stderr)

    def test_checksum(self):
        def checksum(x):
            return self.run_json("run", *ADD, "-a", f"x={x}", "-a", "y=1", "-d", "N=2")["outputs"][0]["checksum"]

        self.assertEqual(checksum("2"), checksum("2.0"))
        self.assertNotEqual(checksum("2"), checksum("2.000001"))

    def test_files(self):
        (self.folder / "x.npy").write_bytes(npy("<f4", [3], floats(1, 2, 3)))
        (self.folder / "y.bin").write_bytes(floats(10, 20, 30))
        document = self.run_json("run", *ADD, "-a", "x=x.npy", "-a", "y=y.bin", "--out", "z=z.npy", "--out", "x=x.raw",
                                 cwd=self.folder)
        self.assertEqual(document["dims"], {"N": 3})
        self.assertEqual(read_npy(self.folder / "z.npy"), ("<f4", (3,), floats(11, 22, 33)))
        self.assertEqual((self.folder / "x.raw").read_bytes(), floats(1, 2, 3))
        self.assertEqual([out.get("file") for out in document["outputs"]], ["x.raw", "z.npy"])

    def test_numbers_of_files_are_converted(self):
        for descr, data in [("<f8", struct.pack("<3d", 1, 2.5, -3)), ("<i8", struct.pack("<3q", 1, 2, -3)),
                            ("<f2", struct.pack("<3e", 1, 2.5, -3)), ("|u1", bytes([1, 2, 255]))]:
            with self.subTest(descr):
                (self.folder / "x.npy").write_bytes(npy(descr, [3], data, version=2))
                x = self.z("-a", f"x={self.folder}/x.npy", "-a", "y=0")
                self.assertEqual(x[0], 1)
                self.assertEqual(x[2], 255 if descr == "|u1" else -3)

    def test_bf16(self):
        # NumPy has no bf16: it is written as f32, and read of that, or of the two bytes that ml_dtypes leaves.
        a = self.folder / "a.npy"
        one, three = b"\x80\x3f", b"\x40\x40"
        a.write_bytes(npy("|V2", [64, 64], (one + three) * 2048))
        arguments = ["run", text("gemm"), "--device", "cpu", "-a", f"a={a}", "-a", "b=ones", "-d", "N=128", "--out",
                     f"d={self.folder}/d.npy"]
        self.run_json(*arguments)
        self.assertEqual(read_npy(self.folder / "d.npy"), ("<f4", (64, 128), floats(128) * (64 * 128)))
        a.write_bytes(npy("<f4", [64, 64], floats(1, 3) * 2048))
        self.run_json(*arguments)
        self.assertEqual(read_npy(self.folder / "d.npy")[2], floats(128) * (64 * 128))

    def test_cache(self):
        call = ["run", *ADD, "-a", "x=2", "-a", "y=1", "-d", "N=2"]
        first = self.run_json(*call)
        self.assertFalse(first["from_cache"])
        key = self.run_json("explain", text("vector_add"))["key"]
        self.assertEqual([entry["key"] for entry in self.run_json("cache", "ls")["entries"]], [key["key"]])
        again = self.run_json(*call)
        self.assertTrue(again["from_cache"])
        self.assertEqual(again["outputs"], first["outputs"])
        self.assertEqual((again["times_ms"]["lower"], again["times_ms"]["compile"]), (0, 0))
        self.assertIn(b", found on disk in ", self.run_program(*call).stderr)
        self.assertFalse(self.run_json(*call, "--no-cache")["from_cache"])
        kept = self.run_json("explain", key["key"])
        self.assertEqual(kept["signature"], first["signature"])
        self.assertEqual(kept["key"]["made_of"], key["made_of"])
        self.assertFalse(self.run_json(*call, "--cache-dir", "other", cwd=self.folder)["from_cache"])
        self.assertTrue(self.run_json(*call, "--cache-dir", self.folder / "other")["from_cache"])

    def test_a_cache_that_cannot_be_used(self):
        # It is told of, and fails nothing.
        (self.folder / "cache").write_text("a file")
        document = self.run_json("run", *ADD, "-a", "x=2", "-a", "y=1", "-d", "N=2")
        self.assertTrue(any(str(self.folder / "cache") in line for line in document["log"]))
        done = self.run_program("run", *ADD, "-a", "x=2", "-a", "y=1", "-d", "N=2")
        self.assertIn(b"note: ", done.stderr)

    def test_as_another_target(self):
        document = self.run_json("run", text("gemm"), "--device", "cpu", "--as", "sm_90a", "-a", "a=ones", "-a",
                                 "b=ones", "-d", "M=128", "-d", "N=256", "-d", "K=64")
        self.assertEqual(document["target"], "sm_90a")
        self.assertEqual(document["outputs"][0]["min"], 64)

    def test_lowered_text(self):
        lowered = self.run_program("compile", text("vector_add"), "--to", "lowered").stdout
        document = self.run_json("run", "-", "--device", "cpu", "-a", "x=1", "-a", "y=2", "-d", "N=3", stdin=lowered)
        self.assertEqual(document["outputs"][0]["max"], 3)

    def test_scalars_and_expressions(self):
        kernel = self.folder / "k.tlx"
        kernel.write_text("""tlx 1 lowered cpu
kernel "k" [threads = 0, shared_bytes = 0] {
  %0 = dim [name = "N"] : i32
  %1 = const [value = 1] : i32
  %2 = add %0, %1 : i32
  %3 = tensor %2 [name = "x"] : tensor<1xi32>
  %4 = scalar [name = "s"] : i32
  %9 = tensor %0 [name = "y"] : tensor<1xi32>
  grid %1
  task [name = "t", warps = 1, replicas = 1] {
    %5 = const [value = 0] : i32
    %6 = load %3, %5 : i32
    %7 = add %6, %4 : i32
    %8 = splat %7 : tile<1xi32>
    tile.store %3, %8, %5 [box = <1>, ragged = -1]
    print %7 [text = "sum {}"]
  }
}
""")
        no_size = ["run", kernel, "--device", "cpu"]
        base = [*no_size, "-d", "N=2"]
        document = self.run_json(*base, "-a", "x=arange", "-a", "s=-5", "--print")
        self.assertEqual(document["outputs"][0]["elements"], "[-5, 1, 2]")
        self.assertEqual(len(document["outputs"]), 1)  # y is not written
        self.assertEqual(len(document["printed"]), 1)
        self.assertIn("sum -5", document["printed"][0])
        self.assertIn(b"sum -5", self.run_program(*base, "-a", "x=arange", "-a", "s=-5").stderr)
        for more, message in [
            (["-a", "x=1"], "scalar `s` is missing: give --arg s=NUMBER"),
            (["-a", "s=1"], "tensor `x` is missing: give --arg x=random"),
            (["-a", "x=1", "-a", "s=1.5"], "'1.5' is no i32"),
            (["-a", "x=1", "-a", "s=2147483648"], "'2147483648' is no i32"),
            (["-a", "x=1", "-a", "s=abc"], "'abc' is no i32"),
            (["-a", "x=1.5", "-a", "s=1"], "element 0 of `x`, 1.5, is no i32"),
            (["-a", "x=3000000000", "-a", "s=1"], "is no i32"),
            (["-a", "x=1", "-a", "x=2", "-a", "s=1"], "--arg x is given twice"),
            (["-a", "x=1", "-a", "s=2", "-a", "s=1"], "--arg s is given twice"),
        ]:
            with self.subTest(more):
                self.assertIn(message, self.error(*base, *more)["message"])
        error = self.error(*no_size, "-a", "x=1", "-a", "s=2", "-d", "N=2147483647")
        self.assertIn("an extent of `x` is no number from 0 to 2147483647", error["message"])


@needs_cpu
class Bar(Case):
    @functools.cached_property
    def calls_and_shown(self):
        """So many calls that a bar is drawn, which waits for half a second, and what is shown of them. None: of no number
        of calls there is a bar."""
        timed = self.run_json("run", *ADD, "-a", "x=1", "-a", "y=1", "-d", "N=100", "--repeat", "1000")
        most = 1000000  # no more are repeated
        calls = min(round(1500 / timed["repeat"]["median_ms"]), most)
        while True:  # a machine that was slow just then may be fast now
            shown = self.on_a_terminal(calls)
            if re.search(rb"\rrun  \[=*>? *\]  \d+/%d  (\d+m )?\d+s left\x1b\[K" % calls, shown):
                return calls, shown
            if calls == most:
                return None
            calls = min(2 * calls, most)

    def on_a_terminal(self, calls, *arguments):
        """What a terminal at standard error shows while so many calls are timed."""
        master, slave = pty.openpty()
        shown = []

        def read():
            try:
                while data := os.read(master, 65536):
                    shown.append(data)
            except OSError:  # the other end is closed
                pass

        reader = threading.Thread(target=read)
        reader.start()
        command = [PROGRAM, "run", *ADD, "-a", "x=1", "-a", "y=1", "-d", "N=100", "--repeat", str(calls), *arguments]
        subprocess.run(command, stdout=subprocess.DEVNULL, stderr=slave, env=self.environment, check=True)
        os.close(slave)
        reader.join()
        os.close(master)
        return b"".join(shown)

    def test_shown_on_a_terminal(self):
        self.assertIsNotNone(self.calls_and_shown)
        _, shown = self.calls_and_shown
        self.assertIn(b"\r\x1b[Kvector_add(", shown)  # it is taken away before the rest is told

    def test_not_shown(self):
        calls, _ = self.calls_and_shown
        self.assertEqual(self.on_a_terminal(calls, "--quiet"), b"")
        self.assertEqual(self.on_a_terminal(calls, "--json"), b"")
        done = self.run_program("run", *ADD, "-a", "x=1", "-a", "y=1", "-d", "N=100", "--repeat", str(calls))
        self.assertNotIn(b"\r", done.stderr)


@needs_cpu
class Refusals(Case):
    def test_calls(self):
        for more, message in [
            ([], "tensor `x` is missing: give --arg x=random"),
            (["-a", "x=1", "-a", "y=1"], "the size of `N` is not known: give --dim N=SIZE"),
            (["-a", "x=1", "-a", "y=1", "-a", "w=1"], "--arg w: the kernel has no such parameter: vector_add("),
            (["-a", "x=1", "-a", "y=1", "-d", "M=1"], "--dim M: the kernel has no dim `M`"),
            (["-a", "x=1", "-a", "y=1", "-d", "N=1", "-d", "N=2"], "dim `N` is 1 by --dim N, and 2 by --dim N"),
            (["-a", "x=1", "-a", "y=1", "-d", "N=1", "--out", "w=w.npy"], "--out w: the kernel has no tensor"),
            (["-a", "x=1", "-a", "y=1", "-d", "N=1", "--as", "sm_12"], "there is no target 'sm_12'"),
        ]:
            with self.subTest(more):
                self.assertIn(message, self.error("run", *ADD, *more)["message"])
        error = self.error("run", text("vector_add"), "--device", "tpu", "-a", "x=1", "-a", "y=1", "-d", "N=1")
        self.assertIn("there is no device 'tpu'", error["message"])
        error = self.error("run", text("gemm"), "--device", "sm_90a", "-a", "a=1", "-a", "b=1", "-d", "M=8", "-d", "N=8",
                           "-d", "K=8")
        self.assertIn("only compiles", error["message"])

    def test_files(self):
        good = npy("<f4", [3], floats(1, 2, 3))
        for name, data, message in [
            ("x.bin", floats(1, 2), "`x` is 3 of f32, 12 bytes, and"),
            ("x.bin", b"", "holds 0"),
            ("x.bin", floats(1, 2, 3, 4), "holds more"),
            ("x.npy", b"", "is no file of NumPy's format"),
            ("x.npy", good[:9], "is no file of NumPy's format"),
            ("x.npy", good[:40], "ends within its header"),
            ("x.npy", good[:-1], "holds 11 bytes of elements, which are not those of its shape"),
            ("x.npy", good + b"x", "holds 13 bytes"),
            ("x.npy", npy("<f4", [4], floats(1, 2, 3, 4)), "dim `N` is 3 by --dim N, and 4 by axis 0 of"),
            ("x.npy", npy("<f4", [3, 1], floats(1, 2, 3)), "has 2 dimensions, and `x` has 1 dimension"),
            ("x.npy", npy("<f4", [3], floats(1, 2, 3), order=True), "is column-major"),
            ("x.npy", npy(">f4", [3], floats(1, 2, 3)), "elements of type >f4, which are not read"),
            ("x.npy", npy("<c8", [3], floats(1, 2, 3)), "elements of type <c8"),
            ("x.npy", npy("|O", [3], floats(1, 2, 3)), "elements of type |O"),
            ("x.npy", npy("<f4", [3], floats(1, 2, 3), version=4), "has version 4"),
            ("x.npy", npy("<f4", [2 ** 62, 2 ** 62, 2 ** 62], b""), "are not those of its shape"),
            ("x.npy", good.replace(b"shape", b"shapf"), "header that is not understood"),
            ("x.npy", good.replace(b"(3,", b"(-3"), "header that is not understood"),
            ("x.npy", good.replace(b"(3, )", b"((((("), "header that is not understood"),
            ("x.npy", npy("|V2", [3], b"123456"), "is of f32"),
        ]:
            with self.subTest(message):
                (self.folder / name).write_bytes(data)
                error = self.error("run", *ADD, "-a", f"x={self.folder}/{name}", "-a", "y=1", "-d", "N=3")
                self.assertIn(message, error["message"])
                self.assertEqual(error["code"], "bad_argument")
        # Of a stream without end, no more than the tensor has is read.
        endless = self.error("run", *ADD, "-a", "x=/dev/zero", "-a", "y=1", "-d", "N=3")
        self.assertIn("`x` is 3 of f32, 12 bytes, and /dev/zero holds more", endless["message"])
        error = self.error("run", *ADD, "-a", "x=randon", "-a", "y=1", "-d", "N=3", code=ENVIRONMENT)
        self.assertIn("randon", error["message"])
        self.assertIn("what is neither zeros, ones, random, arange nor a number is a file", error["log"][0])
        error = self.error("run", *ADD, "-a", f"x={self.folder}", "-a", "y=1", "-d", "N=3", code=ENVIRONMENT)
        self.assertIn("Is a directory", error["message"])

    def test_memory(self):
        # Granted by the system, it would end the process when it is used.
        gemm = ["run", text("gemm"), "--device", "cpu", "-a", "a=1", "-a", "b=1"]
        error = self.error(*gemm, "-d", "M=8388608", "-d", "N=8", "-d", "K=8388608", code=ENVIRONMENT)
        self.assertEqual(error["code"], "out_of_resources")
        self.assertIn("of this machine's memory", error["message"])
        error = self.error(*gemm, "-d", "M=2147483647", "-d", "N=2147483647", "-d", "K=2147483647")
        self.assertIn("more than there is memory for", error["message"])

    def test_output_onto_a_full_disk(self):
        for name in ("z=/dev/full", "z=/nowhere/z.npy"):
            error = self.error("run", *ADD, "-a", "x=1", "-a", "y=1", "-d", "N=3", "--out", name, code=ENVIRONMENT)
            self.assertEqual(error["code"], "disk_failed")

    def test_usage(self):
        self.error("run", *ADD, "-d", "N=2147483648", code=USAGE)


if __name__ == "__main__":
    unittest.main()
