"""agreement_test.py ONNX-CUDNN-RUN MODEL [--device cuda] [--precision fp16]: compares outputs on a real photograph with those of onnxruntime's CPU
provider.

Each element may differ by a share of the expected one plus a share of the largest. No model may use more than TOLERANCES; each may use five times
what was measured of it (MEASURED), unless that is more (CAPPED). Exit code 1 if an element differs by more.
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

# {precision: (of the expected element, of the largest)}. Rounding errors accumulate over a network: text detection reaches 1 % with tf32, 3 % with fp16.
TOLERANCES = {"strict": (1e-4, 1e-5), "tf32": (2e-3, 2e-2), "fp16": (1e-3, 5e-2), "bf16": (8e-3, 8e-2)}

# {model: {precision: the share of TOLERANCES that its worst element used}} on one H200 (tools/bench/results/tests-2026-11-23-e53e5e4.json).
MEASURED = {
    "open-nsfw": {"strict": 0.000, "tf32": 0.000, "fp16": 0.000},
    "PP-OCRv6_det_small": {"strict": 0.344, "tf32": 0.397, "fp16": 0.530},
    "PP-OCRv6_rec_small": {"strict": 0.122, "tf32": 0.179, "fp16": 0.177},
    "resnet18": {"strict": 0.027, "tf32": 0.013, "fp16": 0.009},
    "resnet50": {"strict": 0.023, "tf32": 0.015, "fp16": 0.010},
}
# Five times the measured share is more than TOLERANCES: the five-fold bound does not protect these, TOLERANCES alone do. Among them are 5 % of the
# largest element with fp16, of which text detection uses about half.
CAPPED = {("PP-OCRv6_det_small", "strict"), ("PP-OCRv6_det_small", "tf32"), ("PP-OCRv6_det_small", "fp16")}
LEAST = 0.001  # the share that rounding the output itself may use


def tolerance_of(model, precision):
    """(of the expected element, of the largest)"""
    if precision not in MEASURED.get(model, {}):
        sys.exit(f"nothing was measured of {model} with {precision}: add it to MEASURED")
    share = 5 * max(MEASURED[model][precision], LEAST)
    if (share > 1) != ((model, precision) in CAPPED):
        sys.exit(f"{model} with {precision} may use {share:.3g} of TOLERANCES: {'add it to' if share > 1 else 'remove it from'} CAPPED")
    share = min(1, share)
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
    """The difference in words, or None."""
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


def agrees(options, path, inputs, tolerance):
    """Runs both on `inputs` and prints a line per output of the model."""
    expected = expected_outputs(path, inputs)
    with tempfile.TemporaryDirectory() as folder:
        found = our_outputs(options, path, inputs, expected, folder)
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
    tolerance = tolerance_of(options.model, options.precision)
    sys.exit(not agrees(options, MODELS / f"{options.model}.onnx", INPUTS[options.model](), tolerance))


if __name__ == "__main__":
    main()
