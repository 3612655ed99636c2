"""Runs a case in onnxruntime and in onnx.reference, and compares their outputs."""

import contextlib
import ctypes
import dataclasses
import io
import os
import warnings

# Otherwise onnxruntime starts threads as it is imported, and workers.py forks: what such a thread has locked stays locked in the worker.
os.environ["ORT_DISABLE_TELEMETRY"] = "1"

import numpy as np
import onnx
import onnx.reference
import onnx.shape_inference
import onnxruntime
from onnx import TensorProto, helper

from draw import NEWEST_JUDGED
from makers import EXACT

onnxruntime.set_default_logger_severity(4)
NATIVE = ("float32", "float64", "float16", "bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "object")
# Lower bounds of the tolerance (of the element, of the largest) for outputs of 16 bits.
ROUNDING = {"float16": (4e-3, 4e-3), "bfloat16": (3e-2, 5e-2)}  # onnx.reference accumulates in them
SMALLEST = 1e-37  # smaller values may be flushed to 0
SMALL_FLOAT = (0.26, 0.0)  # one step of floats of 8 bits and fewer


@dataclasses.dataclass
class Answer:
    outputs: list = None  # arrays in the model's order; None: refused
    refusal: str = ""
    implemented: bool = True  # False: the judge has no kernel for this op, version or type

    @property
    def ran(self):
        return self.outputs is not None


def by_onnxruntime(case):
    for opset in opsets_tried(case):
        answer = by_onnxruntime_at(case, opset)
        if answer.ran or answer.implemented:
            return answer
    return answer


def opsets_tried(case):
    """The newest opset that onnxruntime supports, if the op has the same schema there. For schemas of opset 22 also 21: 22 only added bfloat16."""
    newest = min(case.opset, NEWEST_JUDGED) if case.version <= NEWEST_JUDGED else case.opset
    return (newest, 21) if case.version == 22 else (newest,)


def by_onnxruntime_at(case, opset):
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    model = onnx.ModelProto()
    model.CopyFrom(case.model)
    if "." not in case.op:  # the first opset is then that of the op's domain
        model.opset_import[0].version = opset
    try:
        session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
        if TensorProto.STRING in case.elems.values():
            return Answer(session.run(None, case.feeds))
        feeds = {name: ort_value(array, case.elems[name]) for name, array in case.feeds.items()}
        names = [o.name for o in session.get_outputs()]
        return Answer([array_of(v) for v in session.run_with_ort_values(names, feeds)])
    except Exception as error:  # noqa: BLE001: any exception is a refusal
        text = str(error)
        missing = "NOT_IMPLEMENTED" in text or "is under development" in text or "Unsupported" in type(error).__name__
        return Answer(refusal=f"{type(error).__name__}: {text[:300]}", implemented=not missing)


BITS = {"int4": 4, "uint4": 4, "float4_e2m1fn": 4, "int2": 2, "uint2": 2}  # types that onnxruntime packs into bytes, lowest bits first


def ort_value(array, elem):
    array = np.array(array, order="C")
    if array.dtype.name in NATIVE:
        return onnxruntime.OrtValue.ortvalue_from_numpy(array)
    if array.dtype.name in BITS:
        array = packed(array)
    return onnxruntime.OrtValue.ortvalue_from_numpy_with_onnx_type(array, elem)


def packed(array):
    """The elements packed into the first bytes of an array of one byte per element, the size that OrtValue expects."""
    bits = BITS[array.dtype.name]
    codes = array.ravel().view(np.uint8) & (2**bits - 1)
    to = np.zeros(array.size, np.uint8)
    for i, code in enumerate(codes):
        to[i * bits // 8] |= code << i * bits % 8
    return to.reshape(array.shape)


def unpacked(raw, count, dtype):
    bits = BITS[dtype.name]
    codes = np.array([raw[i * bits // 8] >> i * bits % 8 & (2**bits - 1) for i in range(count)], np.uint8)
    if dtype.name in ("int4", "int2"):
        codes = np.where(codes >= 2 ** (bits - 1), codes - 2**bits, codes).astype(np.int8)
        return codes.astype(dtype)
    return codes.view(dtype)


def array_of(value):
    """A copy of an OrtValue's elements. For types that NumPy lacks it is made from the bytes, because value.numpy() fails."""
    elem = TensorProto.DataType.Value(value.data_type()[7:-1].upper())
    dtype = np.dtype(object if elem == TensorProto.STRING else helper.tensor_dtype_to_np_dtype(elem))
    if dtype.name in NATIVE:
        return np.array(value.numpy(), dtype)
    count = int(np.prod(value.shape()))
    if dtype.name in BITS:
        raw = ctypes.string_at(value.data_ptr(), -(-count * BITS[dtype.name] // 8)) if count else b""
        return unpacked(raw, count, dtype).reshape(value.shape())
    raw = ctypes.string_at(value.data_ptr(), count * dtype.itemsize) if count else b""
    return np.frombuffer(raw, dtype).reshape(value.shape()).copy()


def by_reference(case):
    try:
        with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            outputs = onnx.reference.ReferenceEvaluator(case.model).run(None, dict(case.feeds))
            arrays = [np.array(o) for o in outputs]
            if any(a.dtype == object and not all(isinstance(s, str) for s in a.ravel()) for a in arrays):
                return Answer(refusal="its outputs are objects other than strings")
            return Answer(arrays)
    except Exception as error:  # noqa: BLE001
        missing = isinstance(error, NotImplementedError)
        return Answer(refusal=f"{type(error).__name__}: {str(error)[:300]}", implemented=not missing)


def by_checker(case):
    """The error of ONNX's shape inference, or empty. (onnx.checker cannot be used: it requires shapes of the outputs.)"""
    if "." in case.op:  # no schema of ONNX
        return ""
    try:
        onnx.shape_inference.infer_shapes(case.model, check_type=True, strict_mode=True, data_prop=True)
        return ""
    except Exception as error:  # noqa: BLE001
        return str(error)[:300] or type(error).__name__


# Comparison
def tolerance_of(tolerance, dtype):
    """(relative, of_largest, units) for outputs of a dtype, given the tolerance for f32."""
    relative, of_largest = tolerance.relative, tolerance.of_largest
    computed = tolerance != EXACT
    if dtype.name == "float64":
        relative, of_largest = relative * tolerance.f64_scale, of_largest * tolerance.f64_scale
    elif dtype.name in ROUNDING and computed:
        relative, of_largest = (max(a, b) for a, b in zip((relative, of_largest), ROUNDING[dtype.name]))
    elif dtype.itemsize == 1 and dtype.kind not in "iub" and computed and tolerance.units:
        relative, of_largest = SMALL_FLOAT
    return relative, of_largest, tolerance.units


def difference(found, expected, tolerance):
    """The difference between two arrays in words; empty if they are equal within the tolerance."""
    if found.dtype != expected.dtype or found.shape != expected.shape:
        if not (found.dtype.kind in "OSU" and expected.dtype.kind in "OSU" and found.shape == expected.shape):
            return f"{found.dtype}{list(found.shape)} against {expected.dtype}{list(expected.shape)}"
    if expected.dtype.kind in "OSU":
        return "" if [str(s) for s in found.ravel()] == [str(s) for s in expected.ravel()] else "other strings"
    relative, of_largest, units = tolerance_of(tolerance, expected.dtype)
    if expected.dtype.kind in "iub" or expected.dtype.name in ("int4", "uint4", "int2", "uint2"):
        wide = object if expected.dtype.itemsize == 8 else np.int64
        gap = np.abs(found.astype(wide) - expected.astype(wide))
        return "" if not gap.size or gap.max() <= units else f"{int((gap > units).sum())} of {gap.size} integers"
    a, b = found.astype(np.float64), expected.astype(np.float64)
    with np.errstate(all="ignore"):
        finite = np.abs(b[np.isfinite(b)])
        allowed = relative * np.abs(b) + of_largest * finite.max(initial=0)
        allowed += SMALLEST
        same = (a == b) | (np.isnan(a) & np.isnan(b)) | (np.isfinite(a) & np.isfinite(b) & (np.abs(a - b) <= allowed))
    return "" if same.all() else f"{int((~same).sum())} of {same.size} elements"


def disagreement(a, b, tolerance):
    if len(a.outputs) != len(b.outputs):
        return "number of outputs"
    for x, y in zip(a.outputs, b.outputs):
        words = difference(x, y, tolerance)
        if words:
            return words
    return ""
