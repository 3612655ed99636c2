"""torch_backend.py [options] PACKAGES: runs tests/python/torch_test.py with the package in the folder PACKAGES, in an environment with torch that it makes
in build/torch once (build/python/torch-packages.txt)."""

import os
import pathlib
import re
import subprocess
import sys

from part import ROOT, Part, fingerprint, parser_of

PINS = ROOT / "build/python/torch-packages.txt"
TEST = ROOT / "tests/python/torch_test.py"


def environment(folder):
    """The Python of an environment of exactly the pinned packages."""
    stamp = folder / f"made-of-{fingerprint(PINS)}"
    python = folder / "bin/python"
    if not stamp.exists():
        subprocess.run([sys.executable, "-m", "venv", "--clear", folder], check=True)
        subprocess.run([python, "-m", "pip", "install", "--disable-pip-version-check", "--no-deps", "--require-hashes", "--only-binary", ":all:",
                        "--requirement", PINS], check=True)
        stamp.touch()
    return python


def check(packages):
    python = environment(ROOT / "build/torch/environment")
    done = subprocess.run([python, "-m", "unittest", "-v", TEST.stem], cwd=TEST.parent, env={**os.environ, "PYTHONPATH": str(packages.resolve())},
                          stderr=subprocess.PIPE, text=True, check=False)
    print(done.stderr, flush=True)
    results = dict(re.findall(r"^(test_\w+) .*\.\.\. (\w+)", done.stderr, re.MULTILINE))
    failed = [name for name, result in results.items() if result not in ("ok", "skipped")]
    if done.returncode != 0 and not failed:
        failed = [f"ended with {done.returncode}"]
    versions = subprocess.run([python, "-m", "pip", "list", "--format=freeze"], capture_output=True, text=True, check=True).stdout
    return {"results": results, "failed": failed, "versions": re.findall(r"^(?:torch|torchvision|onnx|onnxscript|onnxruntime)==.*", versions, re.MULTILINE)}


def main():
    parser = parser_of(__doc__)
    parser.add_argument("packages", type=pathlib.Path)
    options = parser.parse_args()
    part = Part("torch", options)
    sources = [*sorted(ROOT.glob("python/onnx_cudnn/*.py")), TEST, PINS, *sorted(options.packages.glob("onnx_cudnn/_core*.so"))]
    key = fingerprint(*sources)
    answers = part.run([key], lambda _: check(options.packages))
    answer = answers.get(key, {"results": {}, "failed": []})
    if answer["failed"]:
        part.forget(key)
    results = list(answer["results"].values())
    sys.exit(part.finish(results.count("ok"), answer["failed"], 1 - len(answers), answer, results.count("skipped")))


if __name__ == "__main__":
    main()
