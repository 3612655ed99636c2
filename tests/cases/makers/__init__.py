"""Makers of cases, one per op, by family. A module fills MAKERS by @maker."""

import dataclasses
import importlib


@dataclasses.dataclass(frozen=True)
class Tolerance:
    """Of f32 outputs: a share of the expected element plus a share of the largest. judges.py scales it by type.
    units: what integers may differ by. f64_scale: by what both shares are multiplied where outputs are f64."""

    relative: float = 1e-4
    of_largest: float = 1e-6
    units: int = 0
    f64_scale: float = 1e-6


EXACT = Tolerance(0, 0)  # bits are moved or compared, nothing is computed
ELEMENT_WISE = Tolerance(1e-4, 1e-6)
F32_CONSTANTS = Tolerance(1e-4, 1e-6, f64_scale=1e-1)  # the function body has constants of f32
SUMS = Tolerance(1e-4, 1e-5)  # sums of many terms, in any order
IN_F32 = Tolerance(1e-4, 1e-4, f64_scale=1)  # f64 is normalized in f32 (stash_type)
QUANTIZED = Tolerance(1e-4, 1e-6, 1)  # a tie of the rounding may fall either way


@dataclasses.dataclass(frozen=True)
class Maker:
    make: object
    tolerance: Tolerance


MAKERS = {}


def maker(*ops, tolerance=ELEMENT_WISE):
    def register(function):
        for op in ops:
            assert op not in MAKERS, op
            MAKERS[op] = Maker(function, tolerance)
        return function

    return register


FAMILIES = (
    "element_wise", "reductions", "movement", "indexing", "convolution", "pooling", "norms", "products", "quantized", "recurrent",
    "sampling", "attention", "control", "contrib_float", "contrib_attention", "contrib_quantized",
)  # fmt: skip
for family in FAMILIES:
    importlib.import_module(f"makers.{family}")
