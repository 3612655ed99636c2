"""compiled_test.py ONNX-CUDNN-OPT ONNX-CUDNN-RUN: what onnx-cudnn-opt -o NAME.ocp makes of each model of models/tiny gives the bytes that the model gives, for
the CPU device and, planned again, for a GPU that is not there. Exit code 1 if one does not."""

import pathlib
import subprocess
import sys
import tempfile

TINY = pathlib.Path(__file__).resolve().parents[2] / "models" / "tiny"


def outputs(run, model, folder):
    """{name: bytes} of the files that a run writes, or what it says if it fails."""
    ended = subprocess.run([run, model, "--device", "cpu", "--output-dir", folder], capture_output=True, text=True)
    if ended.returncode:
        return f"exit code {ended.returncode}"
    return {file.name: file.read_bytes() for file in sorted(folder.iterdir())}


def differences(opt, run, model, folder):
    expected = outputs(run, model, folder / "expected")
    for target in ("cpu", "h200"):
        compiled = folder / f"{target}.ocp"
        ended = subprocess.run([opt, model, "--target", target, "-o", compiled], capture_output=True, text=True)
        if ended.returncode:
            yield f"{model.name} for {target}: {ended.stderr.strip()}"
        elif outputs(run, compiled, folder / target) != expected:
            yield f"{model.name} for {target}: other outputs"


def main(opt, run):
    found = []
    models = sorted(TINY.glob("*.onnxtxt"))
    for model in models:
        with tempfile.TemporaryDirectory() as folder:
            found += differences(opt, run, model, pathlib.Path(folder))
    print("\n".join(found) or f"{len(models)} models")
    return 1 if found or not models else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
