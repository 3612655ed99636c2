"""Makers of cases, one per op, in a module per family. @maker adds a function to MAKERS."""

import dataclasses
import importlib


@dataclasses.dataclass(frozen=True)
class Tolerance:
    """Of f32 outputs: relative * |expected| + of_largest * the largest |expected|; judges.py adapts it to other types.
    units: the largest difference of integers. f64_scale: factor of both for f64."""

    relative: float = 1e-4
    of_largest: float = 1e-6
    units: int = 0
    f64_scale: float = 1e-6


EXACT = Tolerance(0, 0)  # moves or compares bits
ELEMENT_WISE = Tolerance(1e-4, 1e-6)
F32_CONSTANTS = Tolerance(1e-4, 1e-6, f64_scale=1e-1)  # the function body has f32 constants
SUMS = Tolerance(1e-4, 1e-5)  # sums of many terms in any order
IN_F32 = Tolerance(1e-4, 1e-4, f64_scale=1)  # f64 is normalized in f32 (stash_type)
QUANTIZED = Tolerance(1e-4, 1e-6, 1)  # ties may be rounded either way


@dataclasses.dataclass(frozen=True)
class Maker:
    make: object
    tolerance: Tolerance
    domain: str = ""


MAKERS = {}


def maker(*ops, tolerance=ELEMENT_WISE, domain=""):
    def register(function):
        for op in ops:
            assert op not in MAKERS, op
            MAKERS[op] = Maker(function, tolerance, domain)
        return function

    return register


FAMILIES = (
    "element_wise", "reductions", "movement", "indexing", "convolution", "pooling", "norms", "products", "quantized", "recurrent",
    "sampling", "attention", "control", "chance", "classical", "contrib_float", "contrib_attention", "contrib_quantized",
)  # fmt: skip
for family in FAMILIES:
    importlib.import_module(f"makers.{family}")
