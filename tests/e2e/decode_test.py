"""tools/bench/decode.py: what a step reads, what is refused, and records of programs that fail."""

import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools/bench"))

import decode  # noqa: E402
import numpy as np  # noqa: E402

PACKAGE = """
class SessionOptions:
    pass
def InferenceSession(path, options):
    raise RuntimeError("no session of " + options.precision + chr(10) + "at all")
"""
DIMS = """
import onnx
class SessionOptions:
    pass
def InferenceSession(path, options):
    keys = next(i for i in onnx.load(path, load_external_data=False).graph.input if i.name == "key_0")
    raise RuntimeError(f"{keys.type.tensor_type.shape.dim[2].dim_value} {options.plan_cache}")
"""


class FiguresTest(unittest.TestCase):
    def test_a_step_reads_weights_once_and_the_caches_in_use(self):
        weights = 16 * (2048 * 3072 + 2048 * 2048 + 3 * 2048 * 8192 + 2 * 2048) + 2048 + 2048 * 32000
        caches = 16 * 3 * 2 * 8 * (2048 - decode.STEPS) * 64
        self.assertEqual(decode.bytes_read(16, False, 3, 2048), 2 * (weights + caches))
        self.assertLess(decode.bytes_read(16, True, 3, 2048), weights + 2 * caches)

    def test_the_difference_is_relative_to_the_largest(self):
        expected = [np.array([[1.0, -4.0]]), np.array([[2.0, 0.0]])]
        self.assertEqual(decode.difference(expected, expected), 0)
        self.assertEqual(decode.difference([expected[0], np.array([[2.0, 1.0]])], expected), 0.25)


class RunTest(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))
        (self.folder / "decoder.data").touch()  # so that no weights are made

    def run_it(self, *arguments):
        command = [sys.executable, ROOT / "tools/bench/decode.py", "--output", self.folder / "out.json", "--folder", self.folder, "--device", "cpu", *arguments]
        return subprocess.run(command, capture_output=True, text=True, check=False, env={"PATH": "/usr/bin:/bin", "PYTHONPATH": str(self.folder)})

    def test_what_cannot_be_measured_is_refused(self):
        for arguments, message in ((["--who", "another"], "no program is called another"),
                                   (["--int4", "--who", "torch-compile-sdpa"], "torch does not run it"),
                                   (["--who", "onnx-cudnn"], "no Python package onnx_cudnn")):
            done = self.run_it(*arguments)
            self.assertEqual(done.returncode, 2)
            self.assertIn(message, done.stderr)

    def test_a_program_that_fails_has_the_reason_in_its_record(self):
        (self.folder / "onnx_cudnn.py").write_text(PACKAGE)
        done = self.run_it("--who", "onnx-cudnn", "--batches", "1,2")
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertIn("nothing was measured", done.stderr)
        records = json.loads((self.folder / "out.json").read_text())
        self.assertEqual([(record["batch"], record["error"]) for record in records], [(batch, "RuntimeError: no session of fp16") for batch in (1, 2)])

    def test_each_cache_has_a_graph_of_its_own(self):
        (self.folder / "onnx_cudnn.py").write_text(DIMS)
        self.run_it("--who", "onnx-cudnn", "--batches", "1", "--cache", "64,128", "--layers", "1", "--plan-cache", "plans.json")
        records = json.loads((self.folder / "out.json").read_text())
        self.assertEqual([(record["cache"], record["error"]) for record in records], [(cache, f"RuntimeError: {cache} plans.json") for cache in (64, 128)])


if __name__ == "__main__":
    unittest.main()
