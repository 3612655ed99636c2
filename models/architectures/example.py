"""What the tables of architectures are made of: a network or a function that writes a model, and its inputs as text-like specifications.

An input is normal(...), uniform(...), ids(...) or ones(...) with its dims: numbers, or symbols such as "N" and "P+L". A static variant is exported
and run with the sizes EXPORTED; a symbolic one is exported with EXPORTED and run with RUN, so that the exporter cannot have fixed them."""

import dataclasses
import functools
import hashlib
from collections.abc import Callable

import numpy as np

# N batch, L length, S length of a second sequence, P length of the past, T frames or samples, H and W of images.
EXPORTED = {"N": 2, "L": 8, "S": 6, "P": 4, "T": 40, "H": 64, "W": 64}
RUN = {"N": 3, "L": 11, "S": 7, "P": 5, "T": 56, "H": 96, "W": 128}


@dataclasses.dataclass(frozen=True)
class Input:
    make: Callable  # (generator, shape) -> array
    dims: tuple

    def shape(self, sizes):
        return tuple(sum(sizes.get(part) or int(part) for part in str(dim).split("+")) for dim in self.dims)

    def symbols(self):
        """{axis: symbol}"""
        return {axis: dim for axis, dim in enumerate(self.dims) if isinstance(dim, str)}


def normal(*dims):
    return Input(lambda generator, shape: generator.standard_normal(shape, np.float32), dims)


def uniform(*dims):
    """From 0 to 1, as images are."""
    return Input(lambda generator, shape: generator.random(shape, np.float32), dims)


def ids(count, *dims):
    """int64 from 1 to count - 1 (0 is often the padding)."""
    return Input(lambda generator, shape: generator.integers(1, count, shape, np.int64), dims)


def ones(*dims):
    """An int64 mask that hides nothing."""
    return Input(lambda _, shape: np.ones(shape, np.int64), dims)


def arrays(name, inputs, sizes):
    """{input: array}: the same for equal arguments."""
    seed = int.from_bytes(hashlib.sha1(name.encode()).digest()[:4], "little")
    generator = np.random.default_rng(seed)
    return {key: value.make(generator, value.shape(sizes)) for key, value in inputs.items()}


@dataclasses.dataclass(frozen=True)
class Variant:
    """One way to write an architecture as a model."""

    name: str  # "bert.dynamo-symbolic"
    package: str
    exporter: str
    symbols: tuple  # of its dims, in order
    write: Callable  # path -> {input: array}: writes the model and returns inputs to run it with

    @functools.cached_property
    def architecture(self):
        return self.name.split(".")[0]
