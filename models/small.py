"""small.py NAME...: takes models of the zoo (build/zoo/models) into models/small, where every test run finds them: their graphs as exported, without weights.

A float tensor of more than 64 elements and at least two axes becomes external data in normal-K.bin, normal numbers of deviation 2^(-K/2), K by its fan-in,
which fill() writes from a fixed seed. So the files are small, valid ONNX, and their activations have about unit size. NAME.npz has the inputs.
"""

import argparse
import math
import pathlib
import shutil

import numpy as np
import onnx

HERE = pathlib.Path(__file__).resolve().parent
SMALL = HERE / "small"
ZOO = HERE.parent / "build/zoo/models"
FEWEST = 64  # elements that are kept in the file
SEED = 20
MOST = 16  # the largest K


def tensors(graph):
    """Initializers of a graph and of those inside it, and values of its Constant nodes."""
    yield from graph.initializer
    for node in graph.node:
        for attribute in node.attribute:
            if attribute.HasField("g"):
                yield from tensors(attribute.g)
            if attribute.HasField("t"):
                yield attribute.t


def exponent(dims):
    """K, so that the deviation is about 1/sqrt(fan-in): of a convolution all but the first axis, of a product either."""
    fan_in = math.prod(dims[1:]) if len(dims) > 2 else math.sqrt(math.prod(dims))
    return min(MOST, max(0, round(math.log2(fan_in))))


def without_weights(model):
    """Empties the large tensors of `model`, in place."""
    offsets = dict.fromkeys(range(MOST + 1), 0)  # bytes of each file
    for tensor in tensors(model.graph):
        if tensor.data_type != onnx.TensorProto.FLOAT or len(tensor.dims) < 2 or math.prod(tensor.dims) <= FEWEST:
            continue
        k, size = exponent(tensor.dims), 4 * math.prod(tensor.dims)
        tensor.ClearField("raw_data")
        tensor.ClearField("float_data")
        tensor.data_location = onnx.TensorProto.EXTERNAL
        for key, value in (("location", f"normal-{k}.bin"), ("offset", offsets[k]), ("length", size)):
            tensor.external_data.add(key=key, value=str(value))
        offsets[k] += size


def fill(name, folder):
    """Copies the model `name` of models/small into `folder`, with weights beside it; returns (path, path of its inputs)."""
    path = folder / f"{name}.onnx"
    shutil.copyfile(SMALL / path.name, path)
    sizes = dict.fromkeys(range(MOST + 1), 0)
    for tensor in tensors(onnx.load(path, load_external_data=False).graph):
        facts = {one.key: one.value for one in tensor.external_data}
        if facts:
            k = int(facts["location"].removeprefix("normal-").removesuffix(".bin"))
            sizes[k] = max(sizes[k], int(facts["offset"]) + int(facts["length"]))
    for k, size in sizes.items():
        numbers = np.random.Generator(np.random.PCG64(SEED + k)).standard_normal(size // 4, np.float32)
        (folder / f"normal-{k}.bin").write_bytes((numbers * np.float32(2.0 ** (-k / 2))).tobytes())
    return path, SMALL / f"{name}.npz"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="+")
    SMALL.mkdir(exist_ok=True)
    for name in parser.parse_args().names:
        model = onnx.load(ZOO / f"{name}.onnx")
        without_weights(model)
        for node in model.graph.node:
            node.ClearField("doc_string")
            del node.metadata_props[:]
        del model.graph.value_info[:]
        del model.graph.metadata_props[:]
        (SMALL / f"{name}.onnx").write_bytes(model.SerializeToString(deterministic=True))
        with np.load(ZOO / f"{name}.npz") as inputs:
            # Eighths, which compress well.
            rounded = {key: np.round(8 * array) / np.float32(8) if array.dtype == np.float32 else array for key, array in inputs.items()}
            np.savez_compressed(SMALL / f"{name}.npz", **rounded)
        print(name, (SMALL / f"{name}.onnx").stat().st_size, (SMALL / f"{name}.npz").stat().st_size)


if __name__ == "__main__":
    main()
