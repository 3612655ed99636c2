"""ONNX's own runner of its test vectors over onnx_cudnn.backend: all pass but those that tests/onnx_backend/failing.txt and
tests/onnx_backend/without_image_decoders.txt list, which are refused with their reasons. Needs onnx 1.22.0, the last release that holds the vectors: the environment build/python-runner."""

import os
import pathlib
import re
import tempfile
import unittest

_files = tempfile.TemporaryDirectory()
os.environ["ONNX_HOME"] = _files.name  # where the runner writes the inputs that it makes up for its light models

import onnx.backend.test  # noqa: E402

import onnx_cudnn.backend  # noqa: E402

VECTORS = pathlib.Path(__file__).resolve().parents[1] / "onnx_backend"
REFUSALS = (VECTORS / "failing.txt", VECTORS / "without_image_decoders.txt")
DATA = pathlib.Path(onnx.backend.test.__file__).parent / "data"
GROUPS = ("node", "simple", "pytorch-converted", "pytorch-operator", "light")

# In double precision the outputs end in zeros beside elements of 54. The vectors' own rounding errors there are 1.5e-6, ours 4.4e-7, and the
# runner allows 1e-7.
ROUNDED = {f"test_dft_inverse{suffix}": {"atol": 2e-6} for suffix in ("", "_opset19")}


def refused(test, reason):
    """The test of a vector that is refused for this reason, which is then the reason why it is skipped."""

    def run(self):
        with self.assertRaises(onnx_cudnn.Error) as caught:
            test(self)
        self.assertIn(reason, str(caught.exception))
        self.skipTest(f"expected refusal: {reason}")

    return run


def vectors():
    """The names in the folders that hold the vectors."""
    return {path.stem for group in GROUPS for path in (DATA / group).iterdir() if path.suffix != ".pb"}


def reasons():
    """{vector: why it is refused}"""
    rows = (line.split("  ", 1) for file in REFUSALS for line in file.read_text().splitlines())
    return {name.split("/")[1]: reason for name, reason in rows}


def random_vectors():
    """The names of those with random outputs, which ONNX's runner compares with NumPy's: the C++ runner has rules for them."""
    return re.findall(r'"node/(test_\w+)"', (VECTORS / "random_rules.cc").read_text())


RANDOM = "random outputs, judged by the rules of tests/onnx_backend/random_rules.cc"
# What ONNX's runner itself cannot compare.
BEYOND_THE_RUNNER = {"test_loop16_seq_none": "the runner takes the length of scalars in a sequence"}


def skipped(reason):
    def run(self):
        self.skipTest(f"expected refusal: {reason}")

    return run


def cases_of_runner():
    """{name: the runner's case}, on the CPU, and {vector: its case}"""
    cases = onnx.backend.test.BackendTest(onnx_cudnn.backend, __name__, ROUNDED).test_cases
    found = {}
    for case in cases.values():
        for name in [name for name in vars(case) if name.startswith("test_")]:
            if name.endswith("_cuda"):
                delattr(case, name)
            else:
                found[name.removesuffix("_cpu")] = case
    for name, reason in reasons().items():
        setattr(found[name], f"{name}_cpu", refused(getattr(found[name], f"{name}_cpu"), reason))
    for name, reason in {**dict.fromkeys(random_vectors(), RANDOM), **BEYOND_THE_RUNNER}.items():
        setattr(found[name], f"{name}_cpu", skipped(reason))
    return cases, found


cases, found = cases_of_runner()
globals().update(cases)


class VectorsTest(unittest.TestCase):
    def test_the_runner_has_every_vector(self):
        self.assertEqual(set(found), {name.replace("light_", "test_") for name in vectors()})


if __name__ == "__main__":
    unittest.main()
