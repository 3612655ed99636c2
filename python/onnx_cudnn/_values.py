"""Values of any kind as onnxruntime has them in Python: a sequence is a list, a map a dict, an empty optional None."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from . import _core, _types
from .errors import InvalidArgument
from .ortvalue import tensor_of

TENSOR, SEQUENCE, OPTIONAL, MAP = range(4)  # ValueKind


def type_string(info: _core.ValueInfo) -> str:
    """"seq(map(int64,tensor(float)))", as onnxruntime names types."""
    if info.kind == TENSOR:
        return _types.type_string(info.dtype)
    element = type_string(info.elements[0]) if info.elements else "undefined"
    if info.kind == MAP:
        return f"map({_types.type_string(info.dtype)[len('tensor(') : -1]},{element})"
    return f"{'seq' if info.kind == SEQUENCE else 'optional'}({element})"


def core_of(value: Any, info: _core.ValueInfo, stream: int | None) -> Any:
    """What _core.Session.run_values takes for a value."""
    if info.kind == TENSOR:
        return tensor_of(value, info.dtype, stream)
    element = info.elements[0]
    if info.kind == OPTIONAL:
        return None if value is None else core_of(value, element, stream)
    if info.kind == SEQUENCE:
        if not isinstance(value, (list, tuple)):
            raise InvalidArgument(f'input "{info.name}": expected a list for {type_string(info)}, found {type(value).__name__}')
        return [core_of(item, element, stream) for item in value]
    if not isinstance(value, Mapping):
        raise InvalidArgument(f'input "{info.name}": expected a dict for {type_string(info)}, found {type(value).__name__}')
    keys = tensor_of(np.asarray(list(value), _types.numpy_type(info.dtype)), info.dtype)
    return keys, [core_of(item, element, stream) for item in value.values()]


def python_of(value: Any) -> Any:
    """Arrays, lists, dicts and None for what _core.Session.run_values returns. Scalars in maps are numbers."""
    if value is None:
        return None
    if isinstance(value, list):
        return [python_of(item) for item in value]
    if isinstance(value, tuple):
        keys, items = value
        arrays = [python_of(item) for item in items]
        values = [item.item() if isinstance(item, np.ndarray) and item.ndim == 0 else item for item in arrays]
        return dict(zip(_types.array_of_tensor(keys).tolist(), values, strict=True))
    return _types.array_of_tensor(value)
