# tests/command/explain_test.py — `tlxjit explain`.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
import unittest

from program import Case, needs_cpu, text


class Explain(Case):
    @needs_cpu
    def test_key(self):
        key = self.run_json("explain", text("vector_add"))["key"]
        self.assertRegex(key["key"], "^[0-9a-f]{32}$")
        self.assertRegex(key["made_of"][0], "^tlxjit ")
        self.assertEqual(self.run_json("explain", text("vector_add"))["key"], key)
        self.assertNotEqual(self.run_json("explain", text("matmul_ring"))["key"]["key"], key["key"])
        key = self.run_json("explain", text("vector_add"), "--cpu-plugin", "/nowhere.so")["key"]
        self.assertIn("/nowhere.so", key["unknown"])

    def test_gemm(self):
        document = self.run_json("explain", text("gemm"), "--target", "sm_90a")
        self.assertEqual(document["signature"], "gemm(a: bf16[M, K], b: bf16[N, K], d: bf16[M, N])")
        self.assertEqual(document["level"], "portable")
        self.assertEqual(document["target"], "sm_90a")
        self.assertEqual(document["resources"]["threads"], 384)
        self.assertEqual([(p["name"], p["read"], p["written"]) for p in document["parameters"]],
                         [("a", True, False), ("b", True, False), ("d", False, True)])
        ring, = document["rings"]
        self.assertEqual((ring["stages"], ring["fields"]), (4, "a 128x64xbf16, b 256x64xbf16"))
        self.assertIn("samples/gemm/kernel.cpp:", ring["at"])
        self.assertEqual([(t["name"], t["warps"], t["replicas"], t["registers"], t["first_warp"], t["one_thread"])
                          for t in document["tasks"]],
                         [("producer", 1, 1, 40, 0, True), ("consumer", 4, 2, 232, 4, False)])
        self.assertEqual([(b["slots"], b["elements"], b["bytes"], b["offset"]) for b in document["buffers"]],
                         [(4, "128x64xbf16", 65536, 0), (4, "256x64xbf16", 131072, 65536),
                          (4, "64x64xbf16", 32768, 196608)])
        self.assertEqual([(b["name"], b["slots"], b["arrivals"]) for b in document["barriers"]],
                         [("ring0.full", 4, 1), ("ring0.free", 4, 2)])
        checks = "\n".join(document["launch_checks"])
        self.assertIn("`d` is stored by tensor maps: its rows are multiples of 16 bytes", checks)
        self.assertIn("M is 0 to 2147483647, the same in `a`, `d`", checks)
        self.assertIn("the grid, min((ceil_div(M, 128) * ceil_div(N, 256)), sms), is below 2^31", checks)
        self.assertIn("the kernel's text without locations, ", document["key"]["made_of"][-1])
        self.assertEqual("key" in document["key"], "unknown" not in document["key"])

    def test_for_people(self):
        said = self.run_program("explain", text("gemm"), "--target", "sm_90a").stdout.decode()
        for line in self.run_json("explain", text("gemm"), "--target", "sm_90a")["launch_checks"]:
            self.assertIn(f"\n  {line}\n", said)
        for heading in ("resources", "parameters", "rings", "tasks", "buffers", "barriers", "key"):
            self.assertIn(f"\n\n{heading}\n", said)

    def test_cpu(self):
        # Where there are no warps, tasks have no place among them.
        document = self.run_json("explain", text("matmul_ring"))
        self.assertEqual(document["target"], "cpu")
        self.assertNotIn("first_warp", document["tasks"][0])

    def test_promises(self):
        kernel = self.folder / "k.tlx"
        kernel.write_text("""tlx 1 portable
kernel "k" {
  %0 = dim [name = "N", min = 1, max = 64] : i32
  %1 = const [value = 2] : i32
  %2 = mul %0, %1 : i32
  %3 = tensor %0, %2 [name = "x"] : tensor<2xf32>
  %4 = scalar [name = "s", above = 0.5] : f32
  grid %2
  task [name = "t", warps = 1, replicas = 1] {
  }
}
""")
        checks = self.run_json("explain", kernel)["launch_checks"]
        self.assertIn("N is 1 to 64, the same in `x`", checks)
        self.assertIn("`x`: extent 1 is N * 2", checks)
        self.assertIn("s: f32: this type, finite and above 0.5", checks)
        self.assertIn("the grid, N * 2, is below 2^31", checks)


if __name__ == "__main__":
    unittest.main()
