"""verify: a model's outputs here beside onnxruntime's, or beside those of the ops' references."""

from __future__ import annotations

import argparse
import dataclasses
import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NoReturn

import numpy as np

from ._types import numpy_type
from ._values import TENSOR
from .errors import Cancelled, Error, FailedPrecondition, Internal, InvalidArgument, ResourceExhausted, Unimplemented
from .options import SessionOptions
from .session import InferenceSession

# (rtol, atol): of the expected element and of the output's largest, as onnx-cudnn-run --verify allows.
_TOLERANCES = {"strict": (1e-3, 1e-5), "tf32": (2e-3, 2e-2), "fp16": (1e-3, 5e-2), "bf16": (2.0**-6, 8e-2)}
_LEAST = 1e-7  # a smaller difference never counts
_EXTENT = 1  # of dims that are not numbers
_SHORT = (10, 16)  # ONNX's numbers of fp16 and bf16
_EXIT_CODES = {Unimplemented: 3, FailedPrecondition: 5, ResourceExhausted: 6, Cancelled: 7, Internal: 7}  # other errors: 2


@dataclasses.dataclass(frozen=True)
class VerifiedOutput:
    """How far one output is from the expected one.

    ok                  no element is beyond the tolerance
    largest_difference  |found - expected|; infinite if only one of them is NaN or infinite
    largest_expected    |expected|, finite elements only
    relative            the largest |found - expected| / |expected| of elements other than 0
    ulps                the most numbers of the output's type that an element is away; 0 for types that numpy lacks
    cosine              of the angle between both as vectors
    beyond              elements beyond the tolerance
    not_finite          elements that are NaN or infinite where a finite one is expected
    note                what else is wrong, such as another type or shape
    """

    name: str
    ok: bool
    largest_difference: float = 0.0
    largest_expected: float = 0.0
    relative: float = 0.0
    ulps: float = 0.0
    cosine: float = 1.0
    beyond: int = 0
    not_finite: int = 0
    note: str = ""

    def __str__(self) -> str:
        if self.note:
            return f"{self.name}  {'agrees' if self.ok else 'DIFFERS'}: {self.note}"
        return (
            f"{self.name}  {'agrees' if self.ok else 'DIFFERS'}  largest difference {self.largest_difference:.3g}, largest expected {self.largest_expected:.3g}, "
            f"relative {self.relative:.3g}, {self.ulps:.4g} ulp, cosine {self.cosine:.9f}, {self.beyond} elements beyond the tolerance"
        )


@dataclasses.dataclass(frozen=True)
class Verification:
    """The result of verify; true if every output agrees.

    notes  which partition is the first that differs from its ops' references, if an output differs; which is the first that makes a
           value NaN or infinite that f32 does not, if the arithmetic, an input or an output is fp16 or bf16
    """

    against: str
    outputs: tuple[VerifiedOutput, ...]
    notes: tuple[str, ...] = ()

    @property
    def ok(self) -> bool:
        """Whether every output agrees."""
        return all(output.ok for output in self.outputs)

    def __bool__(self) -> bool:
        return self.ok

    def __iter__(self) -> Iterator[VerifiedOutput]:
        return iter(self.outputs)

    def __str__(self) -> str:
        return "\n".join([f"against {self.against}: {'agrees' if self.ok else 'DIFFERS'}", *map(str, self.outputs), *self.notes])


def verify(
    model: str | os.PathLike[str] | bytes,
    inputs: Mapping[str, Any] | None = None,
    against: str = "onnxruntime",
    *,
    options: SessionOptions | None = None,
    rtol: float | None = None,
    atol: float | None = None,
    seed: int = 0,
) -> Verification:
    """Runs the model here and elsewhere on the same inputs, and compares the outputs.

    inputs   arrays by name; inputs that are not given are random: floats in [0, 1), integers 0 or 1, with 1 for dims that are no numbers
    against  "onnxruntime", on the CPU; or "reference": the ops' references on the CPU in the model's own types, without rewrites
    options  of the session that is verified
    rtol     allowed share of the expected element, atol: of the output's largest. None: by the precision, as onnx-cudnn-run --verify

    Raises FailedPrecondition: onnxruntime is not installed. Unimplemented: an output that is no array. What a session raises.
    """
    if against not in ("onnxruntime", "reference"):
        raise InvalidArgument(f'against: expected "onnxruntime" or "reference", found {against!r}')
    expect = _onnxruntime(model) if against == "onnxruntime" else _reference(model, options)
    session = InferenceSession(model, options)
    feed = _inputs(session, inputs or {}, seed)
    found, expected = session.run(None, feed), expect(feed)
    default_rtol, default_atol = _TOLERANCES[session.precision]
    tolerance = (default_rtol if rtol is None else rtol, default_atol if atol is None else atol)
    names = [output.name for output in session.get_outputs()]
    outputs = tuple(_compared(name, x, y, tolerance) for name, x, y in zip(names, found, expected, strict=True))
    return Verification(against, outputs, _notes(session, feed, all(output.ok for output in outputs)))


def _notes(session: InferenceSession, feed: Mapping[str, Any], agrees: bool) -> tuple[str, ...]:
    is_short = session.precision in ("fp16", "bf16") or any(info.dtype in _SHORT for info in [*session._input_infos, *session._output_infos])
    if agrees and not is_short:
        return ()
    try:
        partitions = sorted(session.check_partitions(feed), key=lambda partition: int(partition["index"]))
    except (InvalidArgument, Unimplemented):  # values that are no tensors; several programs
        return ()
    wrong = [f"partition {p['index']} is the first that is wrong: {p['ops']}" for p in partitions if not p["ok"]]
    overflows = [
        f"partition {p['index']} is the first that overflows: {p['ops']}, {p['overflowed']} elements are NaN or infinite, and finite in f32"
        for p in partitions
        if p["overflowed"] > 0
    ]
    return tuple(wrong[:1] + overflows[:1])


def _onnxruntime(model: Any) -> Any:
    try:
        import onnxruntime  # type: ignore[import-untyped,import-not-found,unused-ignore]
    except ImportError as error:
        raise FailedPrecondition(
            'verify: the package onnxruntime is not installed: pip install onnxruntime, or verify(..., against="reference")'
        ) from error
    source = os.fspath(model) if isinstance(model, os.PathLike) else model
    session = onnxruntime.InferenceSession(source, providers=["CPUExecutionProvider"])
    return lambda feed: session.run(None, dict(feed))


def _reference(model: Any, options: SessionOptions | None) -> Any:
    reference = SessionOptions()
    reference.device, reference.precision, reference.optimization_level = "cpu", "strict", 0
    if options is not None:
        reference.op_libraries, reference.threads = options.op_libraries, options.threads
    session = InferenceSession(model, reference)
    return lambda feed: session.run(None, feed)


def _inputs(session: InferenceSession, given: Mapping[str, Any], seed: int) -> dict[str, Any]:
    generator = np.random.default_rng(seed)
    feed: dict[str, Any] = dict(given)
    for info in session._input_infos:
        if info.name in feed:
            continue
        if info.kind != TENSOR:
            raise InvalidArgument(f"input {info.name!r} is no tensor: give its value in inputs")
        shape = [extent if isinstance(extent, int) else _EXTENT for extent in info.shape]
        dtype = numpy_type(info.dtype)
        is_float = dtype.kind not in "biuO"  # those of ml_dtypes are "V" or "f"
        if dtype.kind == "O":
            feed[info.name] = np.full(shape, "", object)
        else:
            feed[info.name] = np.asarray(generator.random(shape) if is_float else generator.integers(0, 2, shape)).astype(dtype)
    return feed


def _ulps(found: np.ndarray[Any, Any], expected: np.ndarray[Any, Any]) -> float:
    if found.dtype.kind in "biu":
        return float(np.abs(found.astype(np.float64) - expected.astype(np.float64)).max(initial=0))
    if found.dtype.kind != "f" or found.dtype.itemsize > 8:
        return 0.0
    bits = np.dtype(f"u{found.dtype.itemsize}")
    sign = np.array(1 << (8 * found.dtype.itemsize - 1), bits)
    x, y = np.ascontiguousarray(found).view(bits), np.ascontiguousarray(expected).view(bits)
    # float64 holds the distance of near numbers exactly, since it is taken before the conversion.
    near, far = x & ~sign, y & ~sign
    same = np.where(near > far, near - far, far - near).astype(np.float64)
    across = near.astype(np.float64) + far.astype(np.float64)
    return float(np.where((x & sign) == (y & sign), same, across).max(initial=0))


def _compared(name: str, found: Any, expected: Any, tolerance: tuple[float, float]) -> VerifiedOutput:
    if not isinstance(found, np.ndarray) or not isinstance(expected, np.ndarray):
        raise Unimplemented(f"output {name!r} is no array: verify compares arrays alone")
    if found.dtype != expected.dtype or found.shape != expected.shape:
        return VerifiedOutput(name, False, note=f"expected {expected.dtype}{list(expected.shape)}, found {found.dtype}{list(found.shape)}")
    if found.dtype.kind in "OUS":
        beyond = int((found != expected).sum())
        return VerifiedOutput(name, beyond == 0, beyond=beyond, note=f"{beyond} texts differ")
    is_exact = found.dtype.kind in "biu"
    x, y = (np.asarray(array).astype(np.complex128 if array.dtype.kind == "c" else np.float64).ravel() for array in (found, expected))
    if x.dtype.kind == "c":
        x, y = x.view(np.float64), y.view(np.float64)
    finite = np.isfinite(x) & np.isfinite(y)
    equal = (x == y) | (np.isnan(x) & np.isnan(y))
    with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
        difference = np.where(equal, 0, np.where(finite, np.abs(x - y), np.inf))
        magnitude = np.abs(y)
        largest_expected = float(magnitude[np.isfinite(y)].max(initial=0))
        rtol, atol = (0.0, 0.0) if is_exact else tolerance
        allowed = np.where(np.isfinite(y), np.maximum(rtol * magnitude + atol * largest_expected, 0.0 if is_exact else _LEAST), 0)
        relative = (difference / magnitude)[(y != 0) & ~equal]
    beyond = int((difference > allowed).sum())
    a, b = x[finite], y[finite]
    lengths = float(np.sqrt(a @ a) * np.sqrt(b @ b))
    has_other = bool((~finite & ~equal).any())
    both = finite.reshape(found.shape) if found.dtype.kind != "c" else slice(0, 0)
    return VerifiedOutput(
        name,
        beyond == 0,
        largest_difference=float(difference.max(initial=0)),
        largest_expected=largest_expected,
        relative=float("inf") if has_other else float(relative.max(initial=0)),
        ulps=float("inf") if has_other else _ulps(found[both], expected[both]),
        cosine=min(1.0, float(a @ b) / lengths) if lengths > 0 else float(np.array_equal(a, b)),
        beyond=beyond,
        not_finite=int((~np.isfinite(x) & np.isfinite(y)).sum()),
    )


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        self.print_usage(sys.stderr)
        self.exit(1, f"{self.prog}: {message}\n")


def main(arguments: Sequence[str]) -> int:
    """python -m onnx_cudnn verify ARGUMENTS; returns the exit code."""
    parser = _Parser(
        prog="onnx_cudnn verify",
        description="Runs a model here and elsewhere on the same inputs, and compares the outputs.",
        epilog="Exit codes: 0 agrees, 1 usage, 2 model or input invalid, 3 valid but not supported, 4 differs, 5 device or onnxruntime missing, 6 out of memory, 7 internal.",
    )
    parser.add_argument("model")
    parser.add_argument("--against", choices=("onnxruntime", "reference"), default="onnxruntime", help="onnxruntime on the CPU, or the ops' references")
    parser.add_argument("--input", action="append", default=[], metavar="NAME=FILE.npy", help="once per input; others are random, with 1 for dims that are no numbers")
    parser.add_argument("--device", help="auto, cpu or cuda")
    parser.add_argument("--target", help="runs what this GPU would, by the ops' references: h200")
    parser.add_argument("--precision", choices=tuple(_TOLERANCES))
    parser.add_argument("--rtol", type=float, help="allowed share of the expected element; default: by the precision")
    parser.add_argument("--atol", type=float, help="allowed share of the output's largest expected element")
    parser.add_argument("--seed", type=int, default=0, help="of random inputs")
    asked = parser.parse_args(arguments)
    options = SessionOptions()
    try:
        for name in ("device", "target", "precision"):
            if getattr(asked, name) is not None:
                setattr(options, name, getattr(asked, name))
        result = verify(asked.model, _arrays(asked.input), asked.against, options=options, rtol=asked.rtol, atol=asked.atol, seed=asked.seed)
    except Error as error:
        print(f"onnx_cudnn verify: {error}", file=sys.stderr)
        return _EXIT_CODES.get(type(error), 2)
    print(result)
    return 0 if result else 4


def _arrays(inputs: Sequence[str]) -> dict[str, Any]:
    arrays: dict[str, Any] = {}
    for text in inputs:
        name, is_given, path = text.rpartition("=")
        if not is_given:
            raise InvalidArgument(f"--input: expected NAME=FILE.npy, found {text!r}")
        try:
            arrays[name] = np.load(path, allow_pickle=False)
        except (OSError, ValueError) as error:
            raise InvalidArgument(f"--input {name}: {error}") from error
    return arrays
