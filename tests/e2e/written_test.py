"""written_test.py ONNX-CUDNN-OPT: models that onnx-cudnn-opt -o writes are valid, keep their opset, and give the results of the original in
onnxruntime. Exit code 1 if one does not."""

import pathlib
import subprocess
import sys
import tempfile

import numpy as np
import onnx.checker
import onnx.helper
import onnx.parser
import onnxruntime
from onnx import numpy_helper

from tiny_test import random_inputs

TINY = pathlib.Path(__file__).resolve().parents[2] / "models" / "tiny"
OPSETS = (7, 8, 9, 10, 11, 12, 13, 14, 15, 17, 18, 19, 20, 21, 22)
NEWEST_OF_ONNXRUNTIME = 25


class Ops:
    """Builds a model op by op, each in the form of the model's opset."""

    def __init__(self, opset):
        self.opset, self.nodes, self.initializers, self.random = opset, [], [], np.random.default_rng(0)

    def constant(self, values, dtype=np.float32):
        name = f"c{len(self.initializers)}"
        self.initializers.append(numpy_helper.from_array(np.asarray(values, dtype), name))
        return name

    def weights(self, *shape):
        return self.constant(self.random.standard_normal(shape) / max(1, np.prod(shape[1:])) ** 0.5)

    def op(self, kind, *inputs, outputs=1, **attributes):
        names = [f"{kind.lower()}{len(self.nodes)}_{i}" for i in range(outputs)]
        self.nodes.append(onnx.helper.make_node(kind, inputs, names, f"n{len(self.nodes)}", **attributes))
        return names[0] if outputs == 1 else names

    def ints(self, since, kind, x, name, values, **more):
        """Adds an op with a list of integers: an attribute before opset `since`, an input from there on."""
        if self.opset < since:
            return self.op(kind, x, **{name: values}, **more)
        return self.op(kind, x, self.constant(values, np.int64), **more)

    def clip(self, x, low, high):
        if self.opset < 11:
            return self.op("Clip", x, min=low, max=high)
        return self.op("Clip", x, self.constant(low), self.constant(high))

    def pad(self, x, pads):
        return self.ints(11, "Pad", x, "pads", pads)

    def slice(self, x, starts, ends, axes):
        if self.opset < 10:
            return self.op("Slice", x, starts=starts, ends=ends, axes=axes)
        return self.op("Slice", x, *(self.constant(v, np.int64) for v in (starts, ends, axes)))

    def enlarge(self, x, mode):
        scales = [1.0, 1.0, 2.0, 2.0]
        if self.opset < 9:
            return self.op("Upsample", x, scales=scales, mode=mode)
        if self.opset < 10:
            return self.op("Upsample", x, self.constant(scales), mode=mode)
        if self.opset < 11:
            return self.op("Resize", x, self.constant(scales), mode=mode)
        no = self.constant([]) if self.opset < 13 else ""
        return self.op("Resize", x, no, self.constant(scales), mode=mode)

    def split(self, x, axis):
        more = {"num_outputs": 2} if self.opset >= 18 else {}
        return self.op("Split", x, outputs=2, axis=axis, **more)

    def top(self, x, k):
        if self.opset < 10:
            return self.op("TopK", x, outputs=2, k=k)
        return self.op("TopK", x, self.constant([k], np.int64), outputs=2)

    def model(self, shape, *outputs):
        graph = onnx.helper.make_graph(
            self.nodes, "g", [onnx.helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, shape)],
            [onnx.helper.make_empty_tensor_value_info(name) for name in outputs], self.initializers)
        model = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", self.opset)])
        model.ir_version = max(4, onnx.helper.OP_SET_ID_VERSION_MAP[("ai.onnx", self.opset)])
        return onnx.shape_inference.infer_shapes(model)


def convolutions(opset):
    """A residual network with a head."""
    m = Ops(opset)

    def block(x, inputs, channels, **attributes):
        y = m.op("Conv", x, m.weights(channels, inputs, 3, 3), m.weights(channels), pads=[1, 1, 1, 1], **attributes)
        return m.op("BatchNormalization", y, *(m.constant(np.abs(m.random.standard_normal(channels)) + 0.5) for _ in range(4)))

    x = m.op("Relu", block("x", 3, 8, strides=[2, 2]))
    x = m.op("MaxPool", x, kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1])
    x = m.op("Relu", m.op("Add", block(m.clip(block(x, 8, 8), 0.0, 6.0), 8, 8), x))
    x = m.op("Concat", m.enlarge(x, "nearest"), m.enlarge(x, "linear"), axis=1)
    x = m.op("AveragePool", m.pad(x, [0, 0, 1, 1, 0, 0, 1, 1]), kernel_shape=[3, 3], count_include_pad=1)
    pooled = m.ints(13, "Squeeze", m.op("GlobalAveragePool", x), "axes", [2, 3])
    means = m.ints(18, "ReduceMean", x, "axes", [2, 3], keepdims=0)
    y = m.op("Gemm", m.op("Sub", pooled, means), m.weights(10, 16), m.weights(10), transB=1)
    return m.model(["N", 3, 32, 32], m.op("Softmax", m.op("Dropout", y), axis=1), m.op("Sigmoid", y))


def layers(opset):
    """An MLP with the movements, norms and activations of transformers, in the form that exporters write."""
    m = Ops(opset)

    def norm(x):
        centred = m.op("Sub", x, m.ints(18, "ReduceMean", x, "axes", [-1] if opset > 10 else [2], keepdims=1))
        square = m.op("Mul", centred, centred)
        variance = m.ints(18, "ReduceMean", square, "axes", [-1] if opset > 10 else [2], keepdims=1)
        scaled = m.op("Div", centred, m.op("Sqrt", m.op("Add", variance, m.constant(1e-5))))
        return m.op("Add", m.op("Mul", scaled, m.weights(16)), m.weights(16))

    a, b = m.split(m.op("MatMul", norm("x"), m.weights(16, 32)), 2)
    scores = m.op("MatMul", a, m.op("Transpose", b, perm=[0, 2, 1]))
    x = norm(m.op("Add", m.op("MatMul", m.op("Softmax", scores, axis=2), b), "x"))
    x = m.op("Mul", x, m.op("Sigmoid", x))
    row = m.ints(13, "Unsqueeze", m.slice(x, [0, 1], [-1, 3], [2, 1]), "axes", [1])
    total = m.ints(13, "ReduceSum", row, "axes", [3], keepdims=0)
    values, indices = m.top(m.op("Flatten", total), 2)
    return m.model(["N", 4, 16], values, indices, m.op("LogSoftmax", m.op("Flatten", x), axis=1))


def written(opt, model, folder, *flags):
    """The model that opt writes, and its report."""
    source, target = folder / "model.onnx", folder / "written.onnx"
    onnx.save(model, source)
    run = subprocess.run([opt, source, "-o", target, *flags], capture_output=True, text=True)
    if run.returncode != 0:
        raise AssertionError(run.stderr)
    return onnx.load(target), run.stdout


def outputs_of(model, inputs):
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    return dict(zip((output.name for output in session.get_outputs()), session.run(None, inputs)))


def fault(opt, model, folder, *flags):
    """What is wrong with the model that opt writes; empty: nothing."""
    theirs, report = written(opt, model, folder, *flags)
    own = next(i.version for i in model.opset_import if i.domain in ("", "ai.onnx"))
    opset = theirs.opset_import[0].version
    onnx.checker.check_model(theirs, full_check=True)
    if opset != own:
        return f"opset {opset}, expected {own}: {report.splitlines()[-1]}"
    if theirs.ir_version != max(4, onnx.helper.OP_SET_ID_VERSION_MAP[("ai.onnx", opset)]):
        return f"IR version {theirs.ir_version}"
    if own > NEWEST_OF_ONNXRUNTIME:
        return ""
    inputs = random_inputs(model.graph)
    expected, found = outputs_of(model, inputs), outputs_of(theirs, inputs)
    for output, array in expected.items():
        if not np.allclose(found[output], array, rtol=1e-4, atol=1e-5 * max(np.abs(array).max(initial=0), 1e-3)):
            return f"{output} differs by {np.abs(found[output] - array).max()}"
    return ""


def models():
    for opset in OPSETS:
        yield f"convolutions {opset}", convolutions(opset)
        yield f"layers {opset}", layers(opset)
    for path in sorted(TINY.glob("*.onnxtxt")):
        yield path.stem, onnx.parser.parse_model(path.read_text())


def main():
    opt, = sys.argv[1:]
    faults = 0
    with tempfile.TemporaryDirectory() as folder:
        for name, model in models():
            for flags in (["-O0"], ["-O2"]):
                found = fault(opt, model, pathlib.Path(folder), *flags)
                faults += bool(found)
                if found:
                    print(f"{name} {flags[0]}: {found}")
    sys.exit(faults > 0)


if __name__ == "__main__":
    main()
