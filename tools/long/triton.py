"""triton.py [options] BACKEND BENCH: the backend in a real tritonserver, that of PyPI's nvidia-pytriton: each test of tests/triton/server_test.py, then the load of
tests/triton/load.py. BACKEND: the folder with libtriton_onnx_cudnn.so. Where the package cannot be had, all of it is skipped with the reason."""

import json
import os
import pathlib
import subprocess
import sys

from environment import environment
from part import ROOT, Part, fingerprint, parser_of, with_library

PINS = ROOT / "build/python/triton-packages.txt"
TESTS = ROOT / "tests/triton"
LIST = """
import unittest
def names(suite):
    for test in suite:
        if isinstance(test, unittest.TestSuite):
            yield from names(test)
        else:
            yield test.id()
print("\\n".join(names(unittest.defaultTestLoader.loadTestsFromName("server_test"))))
"""


def run(python, backend, *arguments):
    variables = os.environ | {"TRITON_BACKEND": str(backend.resolve()), "PYTHONDONTWRITEBYTECODE": "1"}
    return subprocess.run([python, *map(str, arguments)], cwd=TESTS, env=variables, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)


def test(python, backend, name):
    done = run(python, backend, "-m", "unittest", name)
    print(f"{name}: {'passed' if done.returncode == 0 else done.stdout}", flush=True)
    return {"name": name, "error": done.stdout[-3000:] if done.returncode else ""}


def load(python, options):
    output = (options.folder or pathlib.Path("build")) / "load.json"
    output.parent.mkdir(parents=True, exist_ok=True)
    output.unlink(missing_ok=True)
    done = run(python, options.backend, "load.py", "--bench", options.bench.resolve(), "--seconds", options.load_seconds, "--output", output.resolve())
    if not output.exists():
        return {"name": "load", "error": done.stdout[-3000:]}
    print(output.read_text(), flush=True)
    return {"name": "load", "error": "replies are wrong or missing, or the memory grew" if done.returncode else "", **json.loads(output.read_text())}


def made_of(options):
    """Of all that answers depend on: the libraries, the programs and the tests."""
    binaries = [*with_library(options.backend / "libtriton_onnx_cudnn.so"), *with_library(options.bench)]
    return fingerprint(PINS, *binaries, *sorted(TESTS.glob("*.py")), str(options.load_seconds))


def main():
    parser = parser_of(__doc__)
    parser.add_argument("--load-seconds", type=float, default=60, help="of requests at random times; 0: none")
    parser.add_argument("backend", type=pathlib.Path)
    parser.add_argument("bench", type=pathlib.Path)
    options = parser.parse_args()
    part = Part("triton", options)
    try:
        python = environment(ROOT / "build/triton/environment", PINS, below=sys.executable)
    except subprocess.CalledProcessError as error:
        print(f"skipped: nvidia-pytriton cannot be had: {error}")
        options.results = None  # there is nothing to record
        sys.exit(part.finish(0, [], 0, {}, skipped=1))
    names = subprocess.run([python, "-c", LIST], cwd=TESTS, capture_output=True, text=True, check=True).stdout.split()
    head = made_of(options)
    keys = {f"{head}-{name}": name for name in [*names, *(["load"] if options.load_seconds > 0 else [])]}
    answers = part.run(keys, lambda key: load(python, options) if keys[key] == "load" else test(python, options.backend, keys[key]))
    failed = [f"{answer['name']}: {answer['error']}" for answer in answers.values() if answer["error"]]
    for key, answer in answers.items():
        if answer["error"]:
            part.forget(key)
    measured = next((answer for answer in answers.values() if answer["name"] == "load"), {})
    fields = {"load": {key: value for key, value in measured.items() if key not in ("name", "error")}}
    sys.exit(part.finish(len(answers) - len(failed), failed, len(keys) - len(answers), fields))


if __name__ == "__main__":
    main()
