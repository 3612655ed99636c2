"""What a model says about itself: the few fields of ONNX's ModelProto that running it does not need, found in its protocol buffers."""

from __future__ import annotations

import mmap
import os
import struct
from collections.abc import Iterator

# Numbers of fields in onnx.proto, and the attributes that take them.
_MODEL_TEXTS = {2: "producer_name", 3: "producer_version", 4: "domain", 6: "description"}
_MODEL_VERSION, _GRAPH, _METADATA = 5, 7, 14
_GRAPH_TEXTS = {2: "graph_name", 10: "graph_description"}
_KEY, _VALUE = 1, 2
# The first bytes of a compiled model, and the end of its header (runtime/base/parts_file.h).
_COMPILED, _HEADER_BYTES = b"\x89OCP\r\n\x1a\n", 40

_Bytes = bytes | mmap.mmap


class ModelMetadata:
    """What a model says about itself, with onnxruntime's names.

    producer_name, producer_version   what wrote it
    graph_name, graph_description     of the graph
    domain, description, version      of the model; version is a number
    custom_metadata_map               {key: value}
    """

    def __init__(self) -> None:
        self.producer_name = self.producer_version = self.graph_name = self.domain = self.description = self.graph_description = ""
        self.version = 0
        self.custom_metadata_map: dict[str, str] = {}


def _varint(data: _Bytes, place: int) -> tuple[int, int]:
    """A number, and the place after it."""
    number = shift = 0
    while True:
        byte = data[place]
        number |= (byte & 0x7F) << shift
        place, shift = place + 1, shift + 7
        if byte < 0x80:
            return number, place


def _fields(data: _Bytes, place: int, end: int) -> Iterator[tuple[int, int, int]]:
    """(number of the field, begin, end) of a message's fields; a number's value stands in place of begin, with end 0."""
    while place < end:
        tag, place = _varint(data, place)
        kind = tag & 7
        if kind == 0:
            value, place = _varint(data, place)
            yield tag >> 3, value, 0
            continue
        size = {1: 8, 5: 4}.get(kind, 0)
        if kind == 2:
            size, place = _varint(data, place)
        yield tag >> 3, place, place + size
        place += size


def _texts(data: _Bytes, begin: int, end: int) -> dict[int, str]:
    return {number: data[start:stop].decode(errors="replace") for number, start, stop in _fields(data, begin, end)}


def _model(data: _Bytes) -> tuple[int, int]:
    """Where the model begins and ends: a compiled model has it as a part."""
    if data[: len(_COMPILED)] != _COMPILED:
        return 0, len(data)
    place = _HEADER_BYTES
    for _ in range(struct.unpack_from("<I", data, 12)[0]):
        name_begin = place + 4
        place = name_begin + struct.unpack_from("<I", data, place)[0]
        begin, size, _ = struct.unpack_from("<QQI", data, place)
        if data[name_begin:place] == b"model":
            return begin, begin + size
        place += 20
    return 0, 0


def _read(data: _Bytes) -> ModelMetadata:
    metadata = ModelMetadata()
    for number, begin, end in _fields(data, *_model(data)):
        if number in _MODEL_TEXTS:
            setattr(metadata, _MODEL_TEXTS[number], data[begin:end].decode(errors="replace"))
        elif number == _MODEL_VERSION:
            metadata.version = begin - (begin >> 63 << 64)
        elif number == _METADATA:
            entry = _texts(data, begin, end)
            metadata.custom_metadata_map[entry.get(_KEY, "")] = entry.get(_VALUE, "")
        elif number == _GRAPH:
            for inner, start, stop in _fields(data, begin, end):
                if inner in _GRAPH_TEXTS:
                    setattr(metadata, _GRAPH_TEXTS[inner], data[start:stop].decode(errors="replace"))
    return metadata


def read_metadata(model: str | os.PathLike[str] | bytes) -> ModelMetadata:
    """Of a file, or of the serialized model, which a session was made of: it is valid."""
    if isinstance(model, bytes):
        return _read(model)
    with open(model, "rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
        return _read(data)
