"""make.py NAME [--batch N] [--size 224] [--dtype fp32|fp16] [--output FILE]: writes a ResNet v1.5 or a DenseNet with fixed random weights.

Weights are He-initialized. Every BatchNormalization is kept as a node; its statistics are the expected ones of the preceding Conv,
so activations have about unit size, as in a trained network. Equal arguments give equal bytes.
"""

import argparse
import hashlib
import math
import pathlib
import typing

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

SEED = 20
OPSET = 17
CLASSES = 1000


class ResNet(typing.NamedTuple):
    blocks: tuple  # in each stage
    bottleneck: bool  # a block is 1x1, 3x3, 1x1; else two 3x3
    widening: int = 1  # of the 3x3 of a bottleneck
    groups: int = 1  # of that 3x3


# The names are torchvision's.
RESNETS = {"resnet18": ResNet((2, 2, 2, 2), False), "resnet34": ResNet((3, 4, 6, 3), False), "resnet50": ResNet((3, 4, 6, 3), True),
           "resnet101": ResNet((3, 4, 23, 3), True), "resnet152": ResNet((3, 8, 36, 3), True),
           "wide_resnet50_2": ResNet((3, 4, 6, 3), True, widening=2), "resnext50_32x4d": ResNet((3, 4, 6, 3), True, widening=2, groups=32)}  # fmt: skip
DENSENETS = {"densenet121": (6, 12, 24, 16)}  # layers in each block
NETWORKS = (*RESNETS, *DENSENETS)
GROWTH = 32  # channels that a layer of a DenseNet adds
# The last scale of a block: small, so that the sum of branches over a stage grows slowly.
LAST_SCALE = 0.5


class Builder:
    """Nodes and weights of one network. A value is a tuple (name, channels, mean square)."""

    def __init__(self, dtype):
        self.dtype = dtype
        self.random = np.random.Generator(np.random.PCG64(SEED))
        self.nodes = []
        self.weights = []

    def weight(self, name, array):
        self.weights.append(numpy_helper.from_array(np.ascontiguousarray(array, self.dtype), name))
        return name

    def normal(self, shape, deviation):
        return self.random.standard_normal(shape, np.float32) * np.float32(deviation)

    def node(self, op, inputs, name, **attributes):
        self.nodes.append(helper.make_node(op, inputs, [name], name, **attributes))
        return name

    def conv(self, x, name, channels, kernel, stride=1, groups=1):
        """Without bias; doubles the mean square."""
        source, inputs, square = x
        fan_in = inputs // groups * kernel * kernel
        weight = self.weight(f"{name}.weight", self.normal((channels, inputs // groups, kernel, kernel), math.sqrt(2 / fan_in)))
        grouped = {"group": groups} if groups > 1 else {}
        y = self.node("Conv", [source, weight], name, kernel_shape=[kernel] * 2, strides=[stride] * 2, pads=[kernel // 2] * 4, **grouped)
        return y, channels, 2 * square

    def bn(self, x, name, scale=1.0):
        """BatchNormalization to mean square scale²."""
        source, channels, square = x
        deviation = math.sqrt(square)
        statistics = {
            "scale": scale * self.random.uniform(0.8, 1.2, channels),
            "bias": self.normal(channels, 0.1 * scale),
            "mean": self.normal(channels, 0.1 * deviation),
            "var": deviation**2 * self.random.uniform(0.8, 1.2, channels),
        }
        names = [self.weight(f"{name}.{key}", value) for key, value in statistics.items()]
        return self.node("BatchNormalization", [source, *names], name, epsilon=1e-5), channels, scale**2

    def conv_bn(self, x, name, channels, kernel, stride=1, scale=1.0, groups=1):
        return self.bn(self.conv(x, name, channels, kernel, stride, groups), f"{name}.bn", scale)

    def relu(self, x, name):
        """Halves the mean square of a value that is symmetric about zero."""
        source, channels, square = x
        return self.node("Relu", [source], name), channels, square / 2

    def block(self, x, name, width, stride, form):
        """A residual block of a ResNet of this form; the stride is on the 3x3 (v1.5)."""
        if form.bottleneck:
            inner = form.widening * width
            y = self.relu(self.conv_bn(x, f"{name}.conv1", inner, 1), f"{name}.relu1")
            y = self.relu(self.conv_bn(y, f"{name}.conv2", inner, 3, stride, groups=form.groups), f"{name}.relu2")
            y = self.conv_bn(y, f"{name}.conv3", 4 * width, 1, scale=LAST_SCALE)
        else:
            y = self.relu(self.conv_bn(x, f"{name}.conv1", width, 3, stride), f"{name}.relu1")
            y = self.conv_bn(y, f"{name}.conv2", width, 3, scale=LAST_SCALE)
        if stride != 1 or x[1] != y[1]:
            x = self.conv_bn(x, f"{name}.downsample", y[1], 1, stride)
        added = self.node("Add", [y[0], x[0]], f"{name}.add")
        # After a Relu the shortcut is not negative, so little of the sum's mean square is below zero.
        return self.node("Relu", [added], f"{name}.relu"), y[1], 0.9 * (x[2] + y[2])

    def dense_block(self, x, name, layers):
        """Each layer reads the Concat of x and what all layers before it computed."""
        parts = [x]
        for index in range(layers):
            y = self.relu(self.bn(self.concat(parts, f"{name}.{index}.concat"), f"{name}.{index}.norm1"), f"{name}.{index}.relu1")
            y = self.relu(self.conv_bn(y, f"{name}.{index}.conv1", 4 * GROWTH, 1), f"{name}.{index}.relu2")
            parts.append(self.conv(y, f"{name}.{index}.conv2", GROWTH, 3))
        return self.concat(parts, f"{name}.concat")

    def concat(self, parts, name):
        if len(parts) == 1:
            return parts[0]
        channels = sum(part[1] for part in parts)
        return self.node("Concat", [part[0] for part in parts], name, axis=1), channels, sum(part[1] * part[2] for part in parts) / channels

    def stem(self):
        x = self.relu(self.conv_bn(("input", 3, 1.0), "conv1", 64, 7, 2), "relu")
        return self.node("MaxPool", [x[0]], "maxpool", kernel_shape=[3, 3], strides=[2, 2], pads=[1] * 4), x[1], 5 * x[2]

    def densenet(self, blocks):
        x = self.stem()
        for index, layers in enumerate(blocks):
            x = self.dense_block(x, f"block{index + 1}", layers)
            x = self.relu(self.bn(x, f"norm{index + 1}"), f"relu{index + 1}")
            if index + 1 < len(blocks):
                x = self.conv(x, f"transition{index + 1}", x[1] // 2, 1)
                # Neighbours are alike, so that their mean is about as large as they are.
                x = self.node("AveragePool", [x[0]], f"pool{index + 1}", kernel_shape=[2, 2], strides=[2, 2]), x[1], x[2]
        self.classify(x)

    def resnet(self, form):
        x = self.stem()
        for stage, count in enumerate(form.blocks):
            for index in range(count):
                stride = 2 if stage > 0 and index == 0 else 1
                x = self.block(x, f"layer{stage + 1}.{index}", 64 << stage, stride, form)
        self.classify(x)

    def classify(self, x):
        pooled = self.node("Flatten", [self.node("GlobalAveragePool", [x[0]], "avgpool")], "flatten", axis=1)
        weight = self.weight("fc.weight", self.normal((CLASSES, x[1]), math.sqrt(1 / (x[1] * x[2]))))
        bias = self.weight("fc.bias", self.normal(CLASSES, 0.1))
        self.node("Gemm", [pooled, weight, bias], "logits", transB=1)


def build(name, batch="N", dtype=np.float32, size=224):
    """The model: input [batch,3,size,size] to logits [batch,1000]; batch is a number or a symbol's name."""
    builder = Builder(dtype)
    if name in RESNETS:
        builder.resnet(RESNETS[name])
    else:
        builder.densenet(DENSENETS[name])
    element = TensorProto.FLOAT16 if dtype == np.float16 else TensorProto.FLOAT
    graph = helper.make_graph(
        builder.nodes,
        name,
        [helper.make_tensor_value_info("input", element, [batch, 3, size, size])],
        [helper.make_tensor_value_info("logits", element, [batch, CLASSES])],
        builder.weights,
    )
    return helper.make_model(graph, producer_name="onnx-cudnn", ir_version=8, opset_imports=[helper.make_opsetid("", OPSET)])


def write(name, batch="N", dtype="fp32", output=None, size=224):
    """Writes the model and returns its path; the default path is built from the arguments that differ from their defaults."""
    suffix = ("" if size == 224 else f"-{size}") + ("" if dtype == "fp32" else f"-{dtype}") + ("" if batch == "N" else f"-b{batch}")
    path = pathlib.Path(output) if output else pathlib.Path(__file__).resolve().parent / f"{name}{suffix}.onnx"
    model = build(name, batch, np.float16 if dtype == "fp16" else np.float32, size)
    part = path.with_name(path.name + ".part")
    part.write_bytes(model.SerializeToString(deterministic=True))
    part.replace(path)
    return path


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("name", choices=NETWORKS)
    parser.add_argument("--batch", default="N", type=lambda text: int(text) if text.isdigit() else text, help="a number, or a symbol's name (N)")
    parser.add_argument("--dtype", default="fp32", choices=("fp32", "fp16"))
    parser.add_argument("--size", default=224, type=int, help="height and width of the image, a multiple of 32")
    parser.add_argument("--output", help="file to write (default: models/NAME[-SIZE][-fp16][-bBATCH].onnx)")
    path = write(**vars(parser.parse_args()))
    with open(path, "rb") as file:
        print(hashlib.file_digest(file, "sha256").hexdigest(), path)


if __name__ == "__main__":
    main()
