"""ONNX's own runner of its test vectors over onnx_cudnn.backend: all pass but those that tests/onnx_backend/failing.txt lists, which are
errors, and those with random outputs, which ONNX's runner compares with NumPy's. Needs onnx 1.22.0, the last release that holds the
vectors: the environment build/python-runner."""

import pathlib
import re
import unittest

import onnx.backend.test

import onnx_cudnn.backend

VECTORS = pathlib.Path(__file__).resolve().parents[1] / "onnx_backend"

# The expected outputs have rounding errors of 2e-7 beside elements of 45, where ours are 0.
NOISY = {f"test_dft_inverse{suffix}": {"atol": 1e-6} for suffix in ("", "_opset19")}

runner = onnx.backend.test.BackendTest(onnx_cudnn.backend, __name__, NOISY)
for line in (VECTORS / "failing.txt").read_text().splitlines():
    kind, name = line.split()[0].split("/")
    runner.xfail(f"^{name}_cpu$")
for name in re.findall(r'"node/(test_\w+)"', (VECTORS / "random_rules.cc").read_text()):  # judged by rules there
    runner.exclude(f"^{name}_cpu$")
runner.exclude("_cuda$")
cases = runner.test_cases
# Models that would have to be downloaded.
globals().update({name: case for name, case in cases.items() if name != "OnnxBackendRealModelTest"})

if __name__ == "__main__":
    unittest.main()
