"""torch_backend.py [options] PACKAGES: runs tests/python/torch_test.py with the package in the folder PACKAGES, in an environment with torch that it makes
in build/torch once (build/python/torch-packages.txt)."""

import pathlib
import sys

from environment import environment
from part import ROOT, Part, fingerprint, parser_of
from suite import run_suite, versions_of

PINS = ROOT / "build/python/torch-packages.txt"
TEST = ROOT / "tests/python/torch_test.py"


def check(packages):
    python = environment(ROOT / "build/torch/environment", PINS)
    return {**run_suite(python, TEST, packages), "versions": versions_of(python, "torch", "torchvision", "onnx", "onnxscript", "onnxruntime")}


def main():
    parser = parser_of(__doc__)
    parser.add_argument("packages", type=pathlib.Path)
    options = parser.parse_args()
    part = Part("torch", options)
    sources = [*sorted(ROOT.glob("python/onnx_cudnn/*.py")), TEST, PINS, *sorted(options.packages.glob("onnx_cudnn/_core*.so"))]
    key = fingerprint(*sources)
    answers = part.run([key], lambda _: check(options.packages))
    answer = answers.get(key, {"passed": [], "failed": [], "skipped": {}, "versions": []})
    if answer["failed"]:
        part.forget(key)
    facts = {"tests": answer["passed"], "skipped_tests": answer["skipped"], "versions": answer["versions"]}
    sys.exit(part.finish(len(answer["passed"]), answer["failed"], 1 - len(answers), facts, len(answer["skipped"])))


if __name__ == "__main__":
    main()
