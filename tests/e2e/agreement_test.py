"""agreement_test.py ONNX-CUDNN-RUN MODEL: our outputs on a real photograph against those of onnxruntime's CPU provider.

fp32: every element within rtol 1e-4 of the expected one plus 1e-5 of the largest. Exit code 1 when one is not.
"""

import pathlib
import re
import subprocess
import sys
import tempfile

import numpy as np
import onnxruntime

from inputs import INPUTS, MODELS

RTOL = 1e-4
ATOL_OF_LARGEST = 1e-5


def expected_outputs(path, inputs):
    session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    names = [output.name for output in session.get_outputs()]
    return dict(zip(names, session.run(names, inputs)))


def our_outputs(run, path, inputs, names, folder):
    command = [run, str(path), "--device", "cpu", "--output-dir", str(folder)]
    for index, (name, array) in enumerate(inputs.items()):
        file = pathlib.Path(folder, f"input-{index}.npy")
        np.save(file, array)
        command += ["--input", f"{name}={file}"]
    subprocess.run(command, check=True, stdout=sys.stderr)
    return {name: np.load(pathlib.Path(folder, re.sub(r"[^A-Za-z0-9._-]", "_", name) + ".npy")) for name in names}


def disagreement(found, expected):
    """What is wrong with `found`, or None."""
    if (found.dtype, found.shape) != (expected.dtype, expected.shape):
        return f"is {found.dtype}{list(found.shape)}, expected {expected.dtype}{list(expected.shape)}"
    difference = np.abs(found.astype(np.float64) - expected)
    allowed = RTOL * np.abs(expected) + ATOL_OF_LARGEST * np.abs(expected).max(initial=0)
    worst = np.unravel_index(np.argmax(np.nan_to_num(difference / allowed, nan=np.inf)), difference.shape)
    print(f"largest difference {difference.max():.3g}, {difference[worst] / allowed[worst]:.3f} of what is allowed")
    if difference[worst] <= allowed[worst]:
        return None
    return f"at {[int(i) for i in worst]} is {found[worst]!r}, expected {expected[worst]!r}"


def agrees(run, path, inputs):
    """Runs both on `inputs` and prints a line per output of the model."""
    expected = expected_outputs(path, inputs)
    with tempfile.TemporaryDirectory() as folder:
        found = our_outputs(run, path, inputs, expected, folder)
    wrong = {name: disagreement(found[name], expected[name]) for name in expected}
    for name, words in wrong.items():
        print(f"{path.stem}: output {name!r} {words or 'agrees'}")
    return not any(wrong.values())


def main():
    run, model = sys.argv[1:]
    sys.exit(not agrees(run, MODELS / f"{model}.onnx", INPUTS[model]()))


if __name__ == "__main__":
    main()
