"""Element types: ONNX's numbers, onnxruntime's names, numpy's and ml_dtypes' types; arrays as tensors and back without copies."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from . import _core
from .errors import InvalidArgument

STRING = 8
# Number of onnx.TensorProto.DataType: name in "tensor(…)", type in numpy or ml_dtypes, bits of an element.
_ROWS = {
    1: ("float", "float32", 32),
    2: ("uint8", "uint8", 8),
    3: ("int8", "int8", 8),
    4: ("uint16", "uint16", 16),
    5: ("int16", "int16", 16),
    6: ("int32", "int32", 32),
    7: ("int64", "int64", 64),
    8: ("string", "object", 0),
    9: ("bool", "bool", 8),
    10: ("float16", "float16", 16),
    11: ("double", "float64", 64),
    12: ("uint32", "uint32", 32),
    13: ("uint64", "uint64", 64),
    14: ("complex64", "complex64", 64),
    15: ("complex128", "complex128", 128),
    16: ("bfloat16", "bfloat16", 16),
    17: ("float8e4m3fn", "float8_e4m3fn", 8),
    18: ("float8e4m3fnuz", "float8_e4m3fnuz", 8),
    19: ("float8e5m2", "float8_e5m2", 8),
    20: ("float8e5m2fnuz", "float8_e5m2fnuz", 8),
    21: ("uint4", "uint4", 4),
    22: ("int4", "int4", 4),
    23: ("float4e2m1", "float4_e2m1fn", 4),
    24: ("float8e8m0", "float8_e8m0fnu", 8),
    25: ("uint2", "uint2", 2),
    26: ("int2", "int2", 2),
}
_SIGNED = (22, 26)
_BY_NAME = {f"tensor({row[0]})": number for number, row in _ROWS.items()}
# numpy's own types; those of ml_dtypes come in _number_of when they are met.
_NUMBERS: dict[np.dtype[Any], int] = {np.dtype(row[1]): number for number, row in _ROWS.items() if number <= 15}


def type_string(number: int) -> str:
    """"tensor(float)", as onnxruntime names types."""
    return f"tensor({_ROWS[number][0]})" if number in _ROWS else "undefined"


def number_of_name(name: str) -> int | None:
    """The number of a type that type_string names; None: it names none."""
    return _BY_NAME.get(name)


def bits_of(number: int) -> int:
    return _ROWS[number][2]


def torch_name(number: int) -> str:
    """The name that torch has for a type of ml_dtypes."""
    return _ROWS[number][1]


def numpy_type(number: int) -> np.dtype[Any]:
    """The dtype of arrays of this type. Without ml_dtypes: unsigned integers with the bits of an element, int8 for int4 and int2."""
    name, bits = _ROWS[number][1:]
    if number <= 15:
        return np.dtype(name)
    try:
        import ml_dtypes
    except ImportError:
        return np.dtype("int8" if number in _SIGNED else "uint16" if bits == 16 else "uint8")
    dtype: np.dtype[Any] = np.dtype(getattr(ml_dtypes, name))
    return dtype


def number_of(element_type: Any) -> int:
    """ONNX's number of a type: of the number itself, or of anything that numpy.dtype takes."""
    if isinstance(element_type, int):
        if element_type not in _ROWS:
            raise InvalidArgument(f"unknown element type {element_type}: expected a number of onnx.TensorProto.DataType")
        return int(element_type)
    dtype = np.dtype(element_type)
    if dtype.kind in "USO" or dtype.kind == "T":
        return STRING
    if dtype not in _NUMBERS:
        for number, (_, name, _) in _ROWS.items():
            if number > 15 and dtype.name == name:
                _NUMBERS[dtype] = number
    if dtype not in _NUMBERS:
        raise InvalidArgument(f"dtype {dtype}: ONNX has no such type in this machine's byte order")
    return _NUMBERS[dtype]


class _Memory:
    """Shows memory of a tensor to numpy, which keeps it alive through this object."""

    def __init__(self, tensor: _core.Tensor, shape: tuple[int, ...], typestr: str) -> None:
        self.tensor = tensor
        self.__array_interface__ = {"version": 3, "shape": shape, "typestr": typestr, "data": (tensor.address, False)}


def _strings(array: np.ndarray[Any, Any]) -> _core.Tensor:
    def text(value: Any) -> str | bytes:
        if isinstance(value, (str, bytes)):
            return value
        raise InvalidArgument(f"array of strings: expected str or bytes, found {type(value).__name__}")

    return _core.Tensor.from_strings([text(value) for value in array.ravel().tolist()], list(array.shape))


def _pack(array: np.ndarray[Any, Any], bits: int) -> np.ndarray[Any, Any]:
    """Elements of 4 or 2 bits, one a byte, as ONNX packs them: the first in the lowest bits."""
    per_byte = 8 // bits
    codes = np.zeros(-(-array.size // per_byte) * per_byte, np.uint8)
    codes[: array.size] = array.ravel().view(np.uint8) & (2**bits - 1)
    packed: np.ndarray[Any, Any] = codes[::per_byte].copy()
    for i in range(1, per_byte):
        packed |= codes[i::per_byte] << (i * bits)
    return packed


def _unpack(packed: np.ndarray[Any, Any], number: int, count: int) -> np.ndarray[Any, Any]:
    bits = bits_of(number)
    shifts = np.arange(0, 8, bits, dtype=np.uint8)
    codes = ((packed[:, None] >> shifts) & (2**bits - 1)).ravel()[:count].astype(np.uint8)
    if number in _SIGNED:
        codes = np.where(codes >> (bits - 1), codes | (0xFF << bits & 0xFF), codes).astype(np.uint8)
    unpacked: np.ndarray[Any, Any] = codes.view(numpy_type(number))
    return unpacked


def tensor_of_array(array: np.ndarray[Any, Any]) -> _core.Tensor:
    """The memory of an array, which is kept alive. Copied: what is not contiguous, strings, and types of less than a byte."""
    number = _NUMBERS.get(array.dtype) or number_of(array.dtype)
    if number == STRING:
        return _strings(array)
    shape = list(array.shape)
    bits = bits_of(number)
    if bits < 8:
        array = _pack(array, bits)
    elif not array.flags.c_contiguous:
        array = array.copy(order="C")
    return _core.Tensor.from_address(array.__array_interface__["data"][0], number, shape, 1, 0, array)


def array_of_tensor(tensor: _core.Tensor) -> np.ndarray[Any, Any]:
    """An array over the memory of a tensor of the host. Copied: strings, and types of less than a byte."""
    number, shape = tensor.dtype, tensor.shape
    if number == STRING:
        array = np.empty(math.prod(shape), object)
        array[:] = tensor.strings()
        return array.reshape(shape)
    dtype = numpy_type(number)
    if 0 in shape:
        return np.empty(shape, dtype)
    if bits_of(number) < 8:
        packed = np.asarray(_Memory(tensor, (tensor.nbytes,), "|u1"))
        return _unpack(packed, number, math.prod(shape)).reshape(shape)
    if number <= 15:
        return np.asarray(_Memory(tensor, shape, dtype.str))
    raw = np.asarray(_Memory(tensor, shape, "<u2" if dtype.itemsize == 2 else "|u1"))
    return raw.view(dtype)
