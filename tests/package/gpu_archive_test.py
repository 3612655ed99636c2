"""The archive of tools/package.sh on a GPU: what the examples, a user's library of ops and --doctor print there. Runs in the unpacked archive."""

import json
import pathlib
import subprocess
import tempfile
import unittest

import onnx
import onnx.parser

ROOT = pathlib.Path(__file__).resolve().parents[2]
HEAD = '<ir_version: 10, opset_import: ["": 21, "com.example": 1]> '
MODELS = {
    "double": "g (float[N,2] x) => (float[N,2] y) { y = Add(x, x) }",
    "means": "g (float[N,3,4,4] x) => (float[N,3] y) { m = GlobalAveragePool(x) y = Flatten(m) }",
    "mixed": """g (float16[N,4] x, uint8[N,4] pixels) => (float[N,4] y) <float most = {255}> {
        f = Cast<to = 1>(x) p = Cast<to = 1>(pixels) share = Div(p, most) y = Add(f, share) }""",
    "shifted": "g (float[N,4] x) => (float[N,4] y) <float two = {2}> { y = Add(x, two) }",
    "swish": "g (float[4] x) => (float[4] y) { t = Relu(x) y = com.example.ScaledSwish<scale = 3.0>(t) }",
}


class GpuPackageTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = pathlib.Path(cls.enterClassContext(tempfile.TemporaryDirectory()))
        for name, text in MODELS.items():
            onnx.save(onnx.parser.parse_model(HEAD + text), cls.folder / f"{name}.onnx")

    def run_program(self, program, *arguments):
        done = subprocess.run([ROOT / "bin" / program, *arguments], cwd=self.folder, capture_output=True, text=True, timeout=120, check=False)
        self.assertEqual(done.returncode, 0, f"{program}: {done.stdout}{done.stderr}")
        return done.stdout

    def test_the_examples_of_c_and_cplusplus(self):
        for program in ("run_model", "run_model_c"):
            self.assertEqual(self.run_program(program, "shifted.onnx"), "2\n" * 4, program)

    def test_bind_cuda_runs_on_memory_and_a_stream_of_its_own(self):
        self.assertEqual(self.run_program("bind_cuda", "shifted.onnx"), "the first element is 3\n")

    def test_classify(self):
        (self.folder / "photo.ppm").write_bytes(b"P6\n2 1\n255\n\xff\x33\0\xff\x33\xff")
        self.assertEqual(self.run_program("classify", "means.onnx", "photo.ppm"), "1 0\n0.5 2\n0.2 1\n")

    def test_serve(self):
        lines = [f"thread {i}: {1 + 0.2 * i:.6f}\n" for i in range(4)]
        self.assertEqual(self.run_program("serve", "mixed.onnx"), "".join(lines) + "100 requests, Programs built: 1\n")

    def test_dynamic_batch(self):
        lines = self.run_program("dynamic_batch", "double.onnx").splitlines()
        self.assertEqual([int(line.split()[-1]) for line in lines], [2, 6, 4, 10, 14, 12, 8, 16, 4])

    def test_embed(self):
        self.assertIn("the run ended in time\n", self.run_program("embed", "double.onnx", "60000"))

    def test_an_op_of_a_library_is_launched_on_the_gpu(self):
        library = ROOT / "bin/libscaled_swish.so"
        explained = self.run_program("onnx-cudnn-opt", "swish.onnx", "--explain", "--target", "h200", "--verbose", "--op-library", library)
        self.assertRegex(explained, r"custom")
        self.run_program("onnx-cudnn-run", "swish.onnx", "--device", "cuda", "--runs", "3", "--op-library", library)

    def test_doctor_finds_all_that_a_gpu_needs(self):
        found = json.loads(self.run_program("onnx-cudnn-run", "--doctor", "--json"))
        self.assertTrue(found["gpu_runs"], found)
        print(json.dumps(found, indent=1))


if __name__ == "__main__":
    unittest.main()
