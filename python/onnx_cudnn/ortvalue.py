"""OrtValue: a tensor of the host or of a GPU, with the methods of onnxruntime's."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from . import _core, _cuda, _types
from .errors import InvalidArgument

CPU, CUDA = 1, 2  # as DLPack numbers devices
_DEVICE_TYPES = {"cpu": CPU, "cuda": CUDA, "gpu": CUDA}


def device_type_of(name: str) -> int:
    if name.lower() not in _DEVICE_TYPES:
        raise InvalidArgument(f'device "{name}": expected "cpu" or "cuda"')
    return _DEVICE_TYPES[name.lower()]


def allocate(number: int, shape: Sequence[int], device_type: int, device_id: int) -> _core.Tensor:
    """Uninitialized memory."""
    if device_type == CPU:
        return _core.Tensor.allocate(number, list(shape))
    if number == _types.STRING:
        raise InvalidArgument("strings are in the host's memory only")
    memory = _cuda.Memory((math.prod(shape) * _types.bits_of(number) + 7) // 8, device_id)
    return _core.Tensor.from_address(memory.address, number, list(shape), device_type, device_id, memory)


def _from_cuda_array(value: Any) -> _core.Tensor:
    """__cuda_array_interface__, versions 2 and 3."""
    facts = value.__cuda_array_interface__
    number = _types.number_of(np.dtype(facts["typestr"]))
    shape, strides = tuple(facts["shape"]), facts.get("strides")
    packed = np.dtype(facts["typestr"]).itemsize
    for extent, stride in zip(reversed(shape), reversed(strides or ()), strict=False):
        if extent != 1 and stride != packed and 0 not in shape:
            raise InvalidArgument("__cuda_array_interface__: expected row-major elements, found strides")
        packed *= extent
    address = facts["data"][0]
    device_id = _cuda.device_of(address) if address else 0
    if facts.get("stream") is not None:
        _cuda.synchronize(facts["stream"], device_id)
    return _core.Tensor.from_address(address, number, list(shape), CUDA, device_id, value)


def _from_dlpack(value: Any, stream: int | None) -> _core.Tensor:
    """The producer's stream is waited for by `stream`, or by the host if there is none."""
    device_type, device_id = value.__dlpack_device__()
    if device_type != CUDA:
        return _core.Tensor.from_capsule(value.__dlpack__())
    tensor = _core.Tensor.from_capsule(value.__dlpack__(stream=stream or _cuda.LEGACY_STREAM))
    if not stream:
        _cuda.synchronize(_cuda.LEGACY_STREAM, device_id)
    return tensor


def tensor_of(value: Any, number: int | None = None, stream: int | None = None) -> _core.Tensor:
    """The memory of a value, without a copy.

    value   an OrtValue, a numpy array, anything with __dlpack__, __cuda_array_interface__ or __array_interface__. Numbers and
            lists of them become a new array.
    number  the type of that new array; None: numpy's choice
    stream  the CUDA stream that will use the memory
    """
    if isinstance(value, np.ndarray):
        return _types.tensor_of_array(value)
    if isinstance(value, OrtValue):
        return value._tensor
    if hasattr(value, "__dlpack__"):
        return _from_dlpack(value, stream)
    if hasattr(value, "__cuda_array_interface__"):
        return _from_cuda_array(value)
    made = number is not None and not hasattr(value, "__array_interface__")
    return _types.tensor_of_array(np.asarray(value, _types.numpy_type(number) if made and number is not None else None))


class OrtValue:
    """A tensor in memory of the host or of a GPU.

    numpy.asarray(value), numpy.from_dlpack(value) and torch.from_dlpack(value) look at the same memory.
    """

    def __init__(self, tensor: _core.Tensor, writeable: bool = True) -> None:
        self._tensor = tensor
        self._writeable = writeable

    @staticmethod
    def ortvalue_from_numpy(numpy_obj: np.ndarray[Any, Any], device_type: str = "cpu", device_id: int = 0) -> OrtValue:
        """The memory of an array on the CPU, which stays read-only if it is; a copy of it on a GPU."""
        array = np.asarray(numpy_obj)
        host = tensor_of(array)
        kind = device_type_of(device_type)
        if kind == CPU:
            return OrtValue(host, array.flags.writeable)
        copy = allocate(host.dtype, host.shape, kind, device_id)
        _cuda.copy_to_device(copy.address, host.address, host.nbytes, device_id)
        return OrtValue(copy)

    @staticmethod
    def ortvalue_from_shape_and_type(shape: Sequence[int], element_type: Any = np.float32, device_type: str = "cpu", device_id: int = 0) -> OrtValue:
        """Uninitialized memory. element_type: a numpy type or a number of onnx.TensorProto.DataType."""
        return OrtValue(allocate(_types.number_of(element_type), shape, device_type_of(device_type), device_id))

    @staticmethod
    def from_dlpack(value: Any, stream: int | None = None) -> OrtValue:
        """The memory of anything with __dlpack__, or of a DLPack capsule."""
        if hasattr(value, "__dlpack__"):
            return OrtValue(_from_dlpack(value, stream))
        return OrtValue(_core.Tensor.from_capsule(value))

    def __dlpack__(self, **arguments: Any) -> Any:
        """A DLPack capsule. Runs have ended when their outputs are handed out, so that no stream is waited for."""
        arguments.pop("stream", None)
        if not self._writeable:
            raise BufferError("DLPack describes no read-only memory: the array of this OrtValue is read-only")
        return self._tensor.dlpack().__dlpack__(**arguments)

    def __dlpack_device__(self) -> tuple[int, int]:
        return self._tensor.device_type, self._tensor.device_id

    def _interface(self) -> dict[str, Any]:
        number = self._tensor.dtype
        if number == _types.STRING or _types.bits_of(number) < 8:
            raise AttributeError(f"an array interface does not describe {_types.type_string(number)}")
        typestr = _types.numpy_type(number).str if number <= 15 else f"<V{_types.bits_of(number) // 8}"
        return {"version": 3, "shape": self._tensor.shape, "typestr": typestr, "data": (self._tensor.address, not self._writeable), "strides": None}

    @property
    def __array_interface__(self) -> dict[str, Any]:
        if self._tensor.device_type != CPU:
            raise AttributeError("the tensor is on a GPU: numpy() copies it")
        return self._interface()

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        if self._tensor.device_type != CUDA:
            raise AttributeError("the tensor is on the CPU")
        return {**self._interface(), "stream": None}

    def numpy(self) -> np.ndarray[Any, Any]:
        """An array over the same memory; a copy if it is on a GPU."""
        array = _types.array_of_tensor(on_host(self._tensor))
        if not self._writeable:
            array.flags.writeable = False
        return array

    def update_inplace(self, np_arr: np.ndarray[Any, Any]) -> None:
        """Copies an array of the same shape and type into the memory."""
        if not self._writeable:
            raise InvalidArgument("update_inplace: the array of this OrtValue is read-only")
        source = tensor_of(np_arr)
        if (source.dtype, source.shape) != (self._tensor.dtype, self._tensor.shape):
            expected = f"{self.data_type()} {list(self._tensor.shape)}"
            raise InvalidArgument(f"update_inplace: expected {expected}, found {_types.type_string(source.dtype)} {list(source.shape)}")
        if self._tensor.device_type == CUDA:
            _cuda.copy_to_device(self._tensor.address, source.address, source.nbytes, self._tensor.device_id)
        elif self._tensor.dtype == _types.STRING or _types.bits_of(self._tensor.dtype) < 8:
            self._tensor = source
        else:
            np.copyto(_types.array_of_tensor(self._tensor), np_arr)

    def data_ptr(self) -> int:
        """The address of the first element."""
        return self._tensor.address

    def device_name(self) -> str:
        """"cpu" or "cuda"."""
        return "cpu" if self._tensor.device_type == CPU else "cuda"

    def device_id(self) -> int:
        """Which GPU; 0 for the CPU."""
        return self._tensor.device_id

    def shape(self) -> list[int]:
        """The extents."""
        return list(self._tensor.shape)

    def data_type(self) -> str:
        """"tensor(float)"."""
        return _types.type_string(self._tensor.dtype)

    def element_type(self) -> int:
        """A number of onnx.TensorProto.DataType."""
        return self._tensor.dtype

    def has_value(self) -> bool:
        """True."""
        return True

    def is_tensor(self) -> bool:
        """True."""
        return True

    def is_sparse_tensor(self) -> bool:
        """False."""
        return False

    def is_tensor_sequence(self) -> bool:
        """False."""
        return False


def on_host(tensor: _core.Tensor) -> _core.Tensor:
    """The tensor itself, or a copy of one that is on a GPU."""
    if tensor.device_type == CPU:
        return tensor
    copy = allocate(tensor.dtype, tensor.shape, CPU, 0)
    _cuda.copy_to_host(copy.address, tensor.address, tensor.nbytes, tensor.device_id)
    return copy
