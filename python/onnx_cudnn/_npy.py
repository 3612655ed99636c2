"""numpy's files in memory: .npy and .npz, without Python objects and without more memory than they have themselves."""

from __future__ import annotations

import io
import math
import tokenize
import zipfile
import zlib
from collections.abc import Mapping
from typing import Any

import numpy as np

from .errors import InvalidArgument

_MOST_HEADER = 1 << 16
# A member of an archive may be compressed.
_MOST_ARCHIVE_BYTES = 1 << 30
# What numpy raises for headers that are none: it reads them as Python.
_NOT_NPY = (ValueError, TypeError, LookupError, SyntaxError, RecursionError, OSError, EOFError, tokenize.TokenError)
_NOT_NPZ = (zipfile.BadZipFile, NotImplementedError, OSError, EOFError, RuntimeError, zlib.error)


def array_of_npy(data: memoryview, what: str) -> np.ndarray[Any, Any]:
    """The array of a .npy file, over its memory. InvalidArgument: no such file, Python objects, elements without bytes, or more or fewer bytes
    than it says."""
    file = io.BytesIO(data[:_MOST_HEADER])
    try:
        version = np.lib.format.read_magic(file)
        header = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
        shape, is_fortran, dtype = header(file)
    except MemoryError:
        raise InvalidArgument(f"{what}: the header of the .npy file is too large") from None
    except _NOT_NPY as error:
        raise InvalidArgument(f"{what}: no .npy file: {error}") from None
    if dtype.hasobject:
        raise InvalidArgument(f"{what}: a .npy file of Python objects is not read")
    if dtype.itemsize == 0:
        raise InvalidArgument(f"{what}: {dtype} has no bytes: expected a type whose elements have some")
    values, expected = data[file.tell() :], math.prod(shape) * dtype.itemsize
    if len(values) != expected:
        raise InvalidArgument(f"{what}: {dtype}{list(shape)} has {expected} bytes, found {len(values)}")
    if expected == 0:
        return np.empty(shape, dtype)
    array: np.ndarray[Any, Any] = np.frombuffer(values, dtype).reshape(shape, order="F" if is_fortran else "C")
    return array if array.flags.aligned else array.copy()


def arrays_of_npz(body: bytes) -> dict[str, np.ndarray[Any, Any]]:
    """The arrays of a .npz file by name. InvalidArgument: no such file, Python objects, more than a GiB."""
    try:
        with zipfile.ZipFile(io.BytesIO(body)) as archive:
            members = archive.infolist()
            if sum(member.file_size for member in members) > _MOST_ARCHIVE_BYTES:
                raise InvalidArgument(f"the arrays of the .npz file have more than {_MOST_ARCHIVE_BYTES} bytes")
            return {m.filename.removesuffix(".npy"): array_of_npy(_member(archive, m), m.filename) for m in members}
    except MemoryError:
        raise InvalidArgument("body: the .npz file is too large") from None
    except _NOT_NPZ as error:
        raise (error if isinstance(error, InvalidArgument) else InvalidArgument(f"body: no .npz file: {error}")) from None


def _member(archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> memoryview:
    """The bytes of a member, read by its size: so it takes no more memory than it says. zipfile does not bound what other compressions take."""
    if member.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        raise InvalidArgument(f"{member.filename}: expected a member as numpy.savez or numpy.savez_compressed writes it")
    with archive.open(member) as file:
        return memoryview(file.read(member.file_size))


def npy_of(array: np.ndarray[Any, Any]) -> bytes:
    """A .npy file; texts have the length of the longest."""
    file = io.BytesIO()
    np.lib.format.write_array(file, array.astype(str) if array.dtype == object else array, allow_pickle=False)
    return file.getvalue()


def npz_of(arrays: Mapping[str, np.ndarray[Any, Any]]) -> bytes:
    """A .npz file, not compressed."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive:
        for name, array in arrays.items():
            archive.writestr(f"{name}.npy", npy_of(array))
    return file.getvalue()
