"""tiny_test.py ONNX-CUDNN-RUN FILE.onnxtxt: compares outputs of a small graph for random inputs with those of onnxruntime, as agreement_test does."""

import argparse
import pathlib
import sys
import tempfile

import numpy as np
import onnx.parser

from agreement_test import TOLERANCES, agrees

SYMBOL = 2


def random_inputs(graph):
    """One array per graph input; symbolic dims are SYMBOL, booleans are true."""
    generator = np.random.default_rng(0)
    inputs = {}
    for value in graph.input:
        tensor = value.type.tensor_type
        shape = [dim.dim_value or SYMBOL for dim in tensor.shape.dim]
        dtype = onnx.helper.tensor_dtype_to_np_dtype(tensor.elem_type)
        inputs[value.name] = np.ones(shape, dtype) if dtype == bool else generator.standard_normal(shape).astype(dtype)
    return inputs


def main():
    run, text = sys.argv[1:]
    options = argparse.Namespace(run=run, device="cpu", precision="strict")
    model = onnx.parser.parse_model(pathlib.Path(text).read_text())
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder, "tiny.onnx")
        onnx.save(model, path)
        agreed = agrees(options, path, random_inputs(model.graph), TOLERANCES["strict"])
    sys.exit(not agreed)


if __name__ == "__main__":
    main()
