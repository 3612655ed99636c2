"""agreement_test.py ONNX-CUDNN-RUN MODEL [--device cuda] [--precision fp16]: our outputs on a real photograph against onnxruntime's CPU provider.

Every element is within a share of the expected one plus a share of the largest: TOLERANCES, of which each model may use five times what was
measured of it (MEASURED). Exit code 1 when one is not.
"""

import argparse
import pathlib
import re
import subprocess
import sys
import tempfile

import numpy as np
import onnxruntime

from inputs import INPUTS, MODELS

# precision: of the expected element, of the largest. Roundings add up over a network: text detection comes to 1 in 100 with tf32, to 3 with fp16.
TOLERANCES = {"strict": (1e-4, 1e-5), "tf32": (2e-3, 2e-2), "fp16": (1e-3, 5e-2), "bf16": (8e-3, 8e-2)}

# model: what its worst element used of TOLERANCES, all of them where nothing was measured, on one H200 (tools/bench/results/tests-2026-11-23-e53e5e4.json).
MEASURED = {
    "open-nsfw": {"strict": 0.000, "tf32": 0.000, "fp16": 0.000},
    "PP-OCRv6_det_small": {"strict": 0.344, "tf32": 0.397, "fp16": 0.530},
    "PP-OCRv6_rec_small": {"strict": 0.122, "tf32": 0.179, "fp16": 0.177},
    "resnet18": {"strict": 0.027, "tf32": 0.013, "fp16": 0.009},
    "resnet50": {"strict": 0.023, "tf32": 0.015, "fp16": 0.010},
}
LEAST = 0.001  # what roundings of the output itself may use


def tolerance_of(model, precision):
    """(of the expected element, of the largest)"""
    measured = MEASURED.get(model, {}).get(precision, 1)
    share = min(1, 5 * max(measured, LEAST))
    return tuple(share * part for part in TOLERANCES[precision])


def expected_outputs(path, inputs):
    session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    names = [output.name for output in session.get_outputs()]
    return dict(zip(names, session.run(names, inputs)))


def our_outputs(options, path, inputs, names, folder):
    command = [options.run, str(path), "--device", options.device, "--precision", options.precision, "--output-dir", str(folder)]
    for index, (name, array) in enumerate(inputs.items()):
        file = pathlib.Path(folder, f"input-{index}.npy")
        np.save(file, array)
        command += ["--input", f"{name}={file}"]
    subprocess.run(command, check=True, stdout=sys.stderr)
    return {name: np.load(pathlib.Path(folder, re.sub(r"[^A-Za-z0-9._-]", "_", name) + ".npy")) for name in names}


def disagreement(found, expected, tolerance):
    """What is wrong with `found`, or None."""
    if (found.dtype, found.shape) != (expected.dtype, expected.shape):
        return f"is {found.dtype}{list(found.shape)}, expected {expected.dtype}{list(expected.shape)}"
    difference = np.abs(found.astype(np.float64) - expected)
    relative, of_largest = tolerance
    allowed = relative * np.abs(expected) + of_largest * np.abs(expected).max(initial=0)
    worst = np.unravel_index(np.argmax(np.nan_to_num(difference / allowed, nan=np.inf)), difference.shape)
    print(f"largest difference {difference.max():.3g}, {difference[worst] / allowed[worst]:.3f} of what is allowed")
    if difference[worst] <= allowed[worst]:
        return None
    return f"at {[int(i) for i in worst]} is {found[worst]!r}, expected {expected[worst]!r}"


def agrees(options, path, inputs):
    """Runs both on `inputs` and prints a line per output of the model."""
    expected = expected_outputs(path, inputs)
    with tempfile.TemporaryDirectory() as folder:
        found = our_outputs(options, path, inputs, expected, folder)
    tolerance = tolerance_of(path.stem, options.precision)
    wrong = {name: disagreement(found[name], expected[name], tolerance) for name in expected}
    for name, words in wrong.items():
        print(f"{path.stem}: output {name!r} {words or 'agrees'}")
    return not any(wrong.values())


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("run")
    parser.add_argument("model", choices=INPUTS)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--precision", choices=TOLERANCES, default="strict")
    options = parser.parse_args()
    sys.exit(not agrees(options, MODELS / f"{options.model}.onnx", INPUTS[options.model]()))


if __name__ == "__main__":
    main()
