"""tiny_test.py ONNX-CUDNN-RUN FILE.onnxtxt: a small graph on random inputs, ours against onnxruntime, as agreement_test does."""

import pathlib
import sys
import tempfile

import numpy as np
import onnx.parser

from agreement_test import disagreement, expected_outputs, our_outputs

SYMBOL = 2


def random_inputs(graph):
    """One array per graph input; a symbolic dim counts SYMBOL; booleans are true."""
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
    model = onnx.parser.parse_model(pathlib.Path(text).read_text())
    inputs = random_inputs(model.graph)
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder, "tiny.onnx")
        onnx.save(model, path)
        expected = expected_outputs(path, inputs)
        found = our_outputs(run, path, inputs, expected, folder)
    wrong = {name: disagreement(found[name], expected[name]) for name in expected}
    for name, words in wrong.items():
        print(f"output {name!r} {words or 'agrees'}")
    sys.exit(any(wrong.values()))


if __name__ == "__main__":
    main()
