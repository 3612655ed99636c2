"""verified.py FOLDER NAME...: for each NAME.onnx in FOLDER, adds onnxruntime's outputs to NAME.npz, which has the model's inputs (zoo.py writes both), so that
`onnx-cudnn-run NAME.onnx --verify NAME.npz` compares with them."""

import argparse
import pathlib

import numpy as np
import onnxruntime


def add_outputs(folder, name):
    with np.load(folder / f"{name}.npz") as file:
        inputs = dict(file)
    session = onnxruntime.InferenceSession(str(folder / f"{name}.onnx"), providers=["CPUExecutionProvider"])
    inputs = {one.name: inputs[one.name] for one in session.get_inputs()}
    outputs = session.run(None, inputs)
    np.savez(folder / f"{name}.npz", **inputs, **dict(zip((one.name for one in session.get_outputs()), outputs, strict=True)))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("names", nargs="+")
    options = parser.parse_args()
    for name in options.names:
        add_outputs(options.folder, name)


if __name__ == "__main__":
    main()
