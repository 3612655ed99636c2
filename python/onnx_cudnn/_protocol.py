"""Bodies of HTTP requests as tensors and back: the Open Inference Protocol (KServe v2) as JSON with or without binary tensors, and numpy's files. Needs no
server."""

from __future__ import annotations

import dataclasses
import json
import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from . import _npy, _types
from .errors import Cancelled, Error, FailedPrecondition, InvalidArgument, ResourceExhausted, Unimplemented
from .session import NodeArg

JSON, NPY, NPZ, BINARY = "application/json", "application/x-npy", "application/x-npz", "application/octet-stream"
HEADER_LENGTH = "inference-header-content-length"  # bytes of the JSON before the binary tensors

# The protocol's name of a type: onnxruntime's.
_TYPES = {
    "BOOL": "bool", "UINT8": "uint8", "UINT16": "uint16", "UINT32": "uint32", "UINT64": "uint64", "INT8": "int8", "INT16": "int16", "INT32": "int32",
    "INT64": "int64", "FP16": "float16", "FP32": "float", "FP64": "double", "BF16": "bfloat16", "BYTES": "string",
}  # fmt: skip
_NAMES = {f"tensor({name})": datatype for datatype, name in _TYPES.items()}

# The first that fits. What a client may do about it is in the text of the error.
_STATUS: tuple[tuple[type[BaseException], int], ...] = (
    (InvalidArgument, 400),
    (Unimplemented, 501),
    (ResourceExhausted, 503),
    (FailedPrecondition, 503),
    (Cancelled, 504),
)


class HttpError(Exception):
    """A request that is refused for what HTTP says of it: its status."""

    def __init__(self, status: int, text: str) -> None:
        super().__init__(text)
        self.status = status


@dataclasses.dataclass(frozen=True)
class Request:
    """Inputs by name, names of the outputs or None for all, and the form of the answer: a media type, and the outputs that are binary."""

    inputs: dict[str, Any]
    outputs: list[str] | None = None
    timeout_s: float | None = None
    form: str = JSON
    id: str | None = None
    binary: frozenset[str] | bool = False  # True: all


def status_of(error: BaseException) -> int:
    """The HTTP status of an error."""
    if isinstance(error, HttpError):
        return error.status
    return next((status for kind, status in _STATUS if isinstance(error, kind)), 500)


def error_body(error: BaseException) -> bytes:
    """{"error": text}; of an error that is not this package's, its type too."""
    text = str(error) if isinstance(error, (Error, HttpError)) else f"{type(error).__name__}: {error}"
    return json.dumps({"error": text}).encode()


def metadata(name: str, version: str, inputs: Sequence[NodeArg], outputs: Sequence[NodeArg]) -> dict[str, Any]:
    """What the protocol tells of a model; -1: any extent. A type that the protocol lacks has ONNX's name."""

    def of(node: NodeArg) -> dict[str, Any]:
        return {"name": node.name, "datatype": _NAMES.get(node.type, node.type), "shape": [dim if isinstance(dim, int) else -1 for dim in node.shape]}

    return {"name": name, "versions": [version], "platform": "onnx_cudnn", "inputs": [of(node) for node in inputs], "outputs": [of(node) for node in outputs]}


def route(method: str, path: str, name: str, version: str) -> str:
    """What a path asks for: "infer", "model", "server" or "ready". HttpError: nothing that is here."""
    parts = [part for part in path.split("/") if part]
    if not parts:
        parts = ["v2", "models", name, *(["infer"] if method == "POST" else [])]
    what = None
    if parts in (["v2", "health", "live"], ["v2", "health", "ready"]):
        what = "ready"
    elif parts == ["v2"]:
        what = "server"
    elif parts[:2] == ["v2", "models"] and len(parts) > 2:
        if parts[2] != name:
            raise HttpError(404, f"model {parts[2]!r}: expected {name!r}")
        rest = parts[3:]
        if len(rest) > 1 and rest[0] == "versions":
            if rest[1] != version:
                raise HttpError(404, f"version {rest[1]!r} of model {name!r}: expected {version!r}")
            rest = rest[2:]
        what = {(): "model", ("ready",): "ready", ("infer",): "infer"}.get(tuple(rest))
    if what is None:
        raise HttpError(404, f"{path}: expected /, /v2, /v2/health/ready or /v2/models/{name}[/versions/{version}][/ready | /infer]")
    if method != ("POST" if what == "infer" else "GET"):
        raise HttpError(405, f"{path}: expected {'POST' if what == 'infer' else 'GET'}, found {method}")
    return what


def read(headers: Mapping[str, str], query: Mapping[str, str], body: bytes, inputs: Sequence[NodeArg]) -> Request:
    """A request.

    headers  by names in lower case: content-type, inference-header-content-length
    query    "timeout_s"; of a .npy file, "input": its name if the model has several inputs
    inputs   the model's

    Raises InvalidArgument: a body that is not what it says. HttpError: a type of contents that is not read.
    """
    kind = headers.get("content-type", JSON).partition(";")[0].strip().lower()
    try:
        if kind == NPY:
            request = Request({_only(query, inputs): _npy.array_of_npy(memoryview(body), "body")}, form=NPY)
        elif kind in (NPZ, "application/zip"):
            request = Request(_npy.arrays_of_npz(body), form=NPZ)
        elif kind in (JSON, "text/json") or HEADER_LENGTH in headers:
            request = _of_json(headers, body)
        else:
            raise HttpError(415, f"content-type: expected {JSON}, {NPY}, {NPZ}, or {BINARY} with {HEADER_LENGTH}, found {kind}")
        timeout_s = float(query["timeout_s"]) if "timeout_s" in query else request.timeout_s
    except (ValueError, TypeError, OverflowError, RecursionError) as error:
        raise error if isinstance(error, Error) else InvalidArgument(f"{type(error).__name__}: {error}") from None
    return dataclasses.replace(request, inputs=_typed(request.inputs, inputs), timeout_s=timeout_s)


def _only(query: Mapping[str, str], inputs: Sequence[NodeArg]) -> str:
    if "input" in query:
        return query["input"]
    if len(inputs) != 1:
        raise InvalidArgument(f"a .npy body is one input: expected ?input= one of {', '.join(node.name for node in inputs)}, or {NPZ}")
    return inputs[0].name


def _typed(arrays: Mapping[str, Any], inputs: Sequence[NodeArg]) -> dict[str, Any]:
    """The arrays with the types of the inputs where numpy's files write another: texts, and types of ml_dtypes, which they write as bytes."""
    types = {node.name: node.type for node in inputs}

    def typed(name: str, array: Any) -> Any:
        if isinstance(array, np.ndarray) and array.dtype.kind in "US":
            return np.array([text.decode() if isinstance(text, bytes) else text for text in array.ravel().tolist()], object).reshape(array.shape)
        number = _types.number_of_name(types.get(name, ""))
        if isinstance(array, np.ndarray) and array.dtype.kind == "V" and number is not None and _types.numpy_type(number).itemsize == array.itemsize:
            return array.view(_types.numpy_type(number))
        return array

    return {name: typed(name, array) for name, array in arrays.items()}


def _of_json(headers: Mapping[str, str], body: bytes) -> Request:
    length = len(body)
    if HEADER_LENGTH in headers:
        length = int(headers[HEADER_LENGTH])
        if not 0 <= length <= len(body):
            raise InvalidArgument(f"{HEADER_LENGTH}: expected up to {len(body)}, the bytes of the body, found {length}")
    request = json.loads(body[:length])
    if not isinstance(request, dict) or not isinstance(request.get("inputs"), list):
        raise InvalidArgument('body: expected {"inputs": [{"name": …, "shape": […], "datatype": …, "data": […]}]}')
    values, arrays = memoryview(body)[length:], {}
    for tensor in request["inputs"]:
        name = _field(tensor, "name", str, "input")
        if name in arrays:
            raise InvalidArgument(f"input {name!r} is there twice")
        size = _parameters(tensor).get("binary_data_size")
        if size is None:
            arrays[name] = _array_of_json(tensor, name)
            continue
        if type(size) is not int or not 0 <= size <= len(values):
            raise InvalidArgument(f"input {name!r}: binary_data_size: expected up to {len(values)}, the bytes that are left, found {size!r}")
        arrays[name] = _array_of_bytes(tensor, name, values[:size])
        values = values[size:]
    if len(values):
        raise InvalidArgument(f"body: {len(values)} bytes are left after the last input")
    return _with_outputs(request, arrays)


def _with_outputs(request: Mapping[str, Any], arrays: dict[str, Any]) -> Request:
    parameters, outputs = _parameters(request), request.get("outputs") or []
    if not isinstance(outputs, list):
        raise InvalidArgument('outputs: expected [{"name": …}]')
    names = [_field(output, "name", str, "output") for output in outputs]
    default = bool(parameters.get("binary_data_output", False))
    binary = frozenset(name for name, output in zip(names, outputs, strict=True) if _parameters(output).get("binary_data", default))
    for output in outputs:
        if "classification" in _parameters(output):
            raise Unimplemented("output parameter classification: the values themselves are returned")
    timeout_us = parameters.get("timeout")
    identity = request.get("id")
    if identity is not None and not isinstance(identity, str):
        raise InvalidArgument(f"id: expected a text, found {identity!r}")
    return Request(arrays, names or None, None if timeout_us is None else float(timeout_us) * 1e-6, JSON, identity, binary if names else default)


def _field(tensor: Any, field: str, kind: type, what: str) -> Any:
    if not isinstance(tensor, dict) or not isinstance(tensor.get(field), kind):
        raise InvalidArgument(f"{what}: expected the field {field}, found {json.dumps(tensor)[:200]}")
    return tensor[field]


def _parameters(tensor: Any) -> Mapping[str, Any]:
    parameters = tensor.get("parameters") or {} if isinstance(tensor, dict) else {}
    if not isinstance(parameters, dict):
        raise InvalidArgument(f"parameters: expected values by name, found {parameters!r}")
    for name in parameters:
        if name.startswith("shared_memory"):
            raise Unimplemented(f"parameter {name}: tensors in shared memory are not read")
    return parameters


def _described(tensor: Any, name: str) -> tuple[int, list[int]]:
    """The number of a tensor's type, and its shape."""
    datatype, shape = _field(tensor, "datatype", str, f"input {name!r}"), _field(tensor, "shape", list, f"input {name!r}")
    if datatype not in _TYPES:
        raise InvalidArgument(f"input {name!r}: datatype: expected of {', '.join(_TYPES)}, found {datatype!r}")
    if not all(type(dim) is int and dim >= 0 for dim in shape):
        raise InvalidArgument(f"input {name!r}: shape: expected numbers ≥ 0, found {shape}")
    number = _types.number_of_name(f"tensor({_TYPES[datatype]})")
    assert number is not None
    return number, shape


def _array_of_json(tensor: Any, name: str) -> np.ndarray[Any, Any]:
    number, shape = _described(tensor, name)
    data = _field(tensor, "data", list, f"input {name!r}")
    if number == _types.STRING:
        found = np.array(data, object)
        if not all(isinstance(text, str) for text in found.ravel()):
            raise InvalidArgument(f"input {name!r}: data: expected texts")
    else:
        found = np.asarray(data)
    is_bf16 = tensor["datatype"] == "BF16"
    dtype = np.dtype(object) if number == _types.STRING else np.dtype(np.float32) if is_bf16 else _types.numpy_type(number)
    if found.size != math.prod(shape):
        raise InvalidArgument(f"input {name!r}: shape {shape} has {math.prod(shape)} elements, data {found.size}")
    kinds = {"b": "b", "i": "iu", "u": "iu", "O": "O"}.get(dtype.kind, "fiu")
    if found.size and found.dtype.kind not in kinds:
        raise InvalidArgument(f"input {name!r}: data: expected {tensor['datatype']}, found {found.dtype}")
    least, most = (int(np.iinfo(dtype.name).min), int(np.iinfo(dtype.name).max)) if dtype.kind in "iu" else (0, 0)
    if dtype.kind in "iu" and found.size and not least <= int(found.min()) <= int(found.max()) <= most:
        raise InvalidArgument(f"input {name!r}: data: a number is out of the range of {tensor['datatype']}")
    with np.errstate(over="ignore"):
        array: np.ndarray[Any, Any] = found.astype(dtype).reshape(shape)
    return _bfloat16(array).view(_types.numpy_type(number)) if is_bf16 else array


def _bfloat16(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """The bits of f32 as those of bf16: the upper half, rounded to the nearest, of two to the even one. Needs no ml_dtypes."""
    bits = array.view(np.uint32)
    rounded = (bits + np.uint32(0x7FFF) + (bits >> 16 & 1)) >> 16
    return np.where(np.isnan(array), bits >> 16 | 0x40, rounded).astype(np.uint16)


def _array_of_bytes(tensor: Any, name: str, data: memoryview) -> np.ndarray[Any, Any]:
    number, shape = _described(tensor, name)
    if number == _types.STRING:
        found = _texts_of(data, math.prod(shape), name)
        texts = np.empty(len(found), object)
        texts[:] = found
        return texts.reshape(shape)
    dtype = _types.numpy_type(number)
    expected = math.prod(shape) * dtype.itemsize
    if len(data) != expected:
        raise InvalidArgument(f"input {name!r}: {tensor['datatype']}{shape} has {expected} bytes, found {len(data)}")
    if expected == 0:
        return np.empty(shape, dtype)
    array = np.frombuffer(data, dtype).reshape(shape)
    return array if array.flags.aligned else array.copy()


def _texts_of(data: memoryview, count: int, name: str) -> list[str]:
    """Texts, each after its number of bytes as 4 bytes, the lowest first."""
    texts, at = [], 0
    while at < len(data):
        size = int.from_bytes(data[at : at + 4], "little")
        if at + 4 + size > len(data):
            break
        texts.append(str(data[at + 4 : at + 4 + size], "utf-8"))
        at += 4 + size
    if at != len(data) or len(texts) != count:
        raise InvalidArgument(f"input {name!r}: BYTES: expected {count} texts, each after its 4 bytes of length")
    return texts


def write(request: Request, outputs: Mapping[str, Any], types: Mapping[str, str], name: str, version: str) -> tuple[bytes, dict[str, str]]:
    """The body of an answer and its headers, in the form of the request; several outputs of a .npy request as .npz.

    outputs  arrays by name
    types    onnxruntime's names of their types

    Raises Unimplemented: an output that is no tensor, or that JSON and the protocol have no type for.
    """
    for output, value in outputs.items():
        if not isinstance(value, np.ndarray):
            raise Unimplemented(f"output {output!r} is {types[output]}, which HTTP does not return: a DeploymentHandle does")
    if request.form == NPY and len(outputs) == 1:
        return _npy.npy_of(next(iter(outputs.values()))), {"content-type": NPY}
    if request.form in (NPY, NPZ):
        return _npy.npz_of(outputs), {"content-type": NPZ}
    tensors, values = [], []
    for output, array in outputs.items():
        if types[output] not in _NAMES:
            raise Unimplemented(f"output {output!r} is {types[output]}, which the protocol has no name for: ask for it by a body of {NPZ}")
        tensor: dict[str, Any] = {"name": output, "datatype": _NAMES[types[output]], "shape": list(array.shape)}
        if request.binary is True or (request.binary and output in request.binary):
            values.append(_bytes_of(array))
            tensor["parameters"] = {"binary_data_size": len(values[-1])}
        else:
            tensor["data"] = _numbers(array, types[output])
        tensors.append(tensor)
    answer = {"model_name": name, "model_version": version, "outputs": tensors}
    text = json.dumps(answer if request.id is None else {**answer, "id": request.id}).encode()
    if not values:
        return text, {"content-type": JSON}
    return b"".join([text, *values]), {"content-type": BINARY, HEADER_LENGTH: str(len(text))}


def _numbers(array: np.ndarray[Any, Any], kind: str) -> list[Any]:
    if kind == "tensor(bfloat16)":  # the upper half of an f32
        array = (array.view(np.uint16).astype(np.uint32) << 16).view(np.float32)
    numbers: list[Any] = array.ravel().tolist()
    return numbers


def _bytes_of(array: np.ndarray[Any, Any]) -> bytes:
    if array.dtype != object:
        return array.tobytes()
    texts = [str(text).encode() for text in array.ravel().tolist()]
    return b"".join(part for text in texts for part in (len(text).to_bytes(4, "little"), text))
