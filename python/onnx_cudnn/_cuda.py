"""A few calls of the CUDA driver, for tensors on a GPU: memory, copies and waiting. Loaded only when such a tensor is made."""

from __future__ import annotations

import ctypes
import functools
import weakref
from collections.abc import Iterator
from contextlib import contextmanager

from .errors import FailedPrecondition, Internal, ResourceExhausted

LEGACY_STREAM = 1  # CU_STREAM_LEGACY
_OUT_OF_MEMORY = 2


@functools.cache
def _driver() -> ctypes.CDLL:
    try:
        driver = ctypes.CDLL("libcuda.so.1")
    except OSError:
        raise FailedPrecondition("tensor on a GPU: found no NVIDIA driver (libcuda.so.1)") from None
    _check(driver.cuInit(0), "cuInit")
    return driver


def _check(code: int, call: str) -> None:
    if code == _OUT_OF_MEMORY:
        raise ResourceExhausted(f"{call}: out of device memory")
    if code:
        raise Internal(f"{call} returned the CUDA error {code}")


@functools.cache
def _context(device_id: int) -> ctypes.c_void_p:
    """The context that the process shares with the CUDA runtime; kept."""
    device, context = ctypes.c_int(), ctypes.c_void_p()
    if _driver().cuDeviceGet(ctypes.byref(device), device_id):
        raise FailedPrecondition(f"there is no GPU {device_id}")
    _check(_driver().cuDevicePrimaryCtxRetain(ctypes.byref(context), device), "cuDevicePrimaryCtxRetain")
    return context


@contextmanager
def _on(device_id: int) -> Iterator[ctypes.CDLL]:
    """The driver with the GPU current; the thread's own context is current again afterwards."""
    driver = _driver()
    _check(driver.cuCtxPushCurrent_v2(_context(device_id)), "cuCtxPushCurrent")
    try:
        yield driver
    finally:
        driver.cuCtxPopCurrent_v2(ctypes.byref(ctypes.c_void_p()))


def _free(address: int, device_id: int) -> None:
    with _on(device_id) as driver:
        driver.cuMemFree_v2(ctypes.c_uint64(address))


class Memory:
    """Uninitialized memory of a GPU, released with this object."""

    def __init__(self, nbytes: int, device_id: int) -> None:
        pointer = ctypes.c_uint64()
        with _on(device_id) as driver:
            _check(driver.cuMemAlloc_v2(ctypes.byref(pointer), ctypes.c_size_t(max(nbytes, 1))), f"cuMemAlloc of {nbytes} bytes")
        self.address = pointer.value
        # Not at exit: the driver may be gone, and the process gives its memory back.
        weakref.finalize(self, _free, self.address, device_id).atexit = False


def copy_to_device(target: int, source: int, nbytes: int, device_id: int) -> None:
    with _on(device_id) as driver:
        _check(driver.cuMemcpyHtoD_v2(ctypes.c_uint64(target), ctypes.c_void_p(source), ctypes.c_size_t(nbytes)), "cuMemcpyHtoD")


def copy_to_host(target: int, source: int, nbytes: int, device_id: int) -> None:
    with _on(device_id) as driver:
        _check(driver.cuMemcpyDtoH_v2(ctypes.c_void_p(target), ctypes.c_uint64(source), ctypes.c_size_t(nbytes)), "cuMemcpyDtoH")


def synchronize(stream: int, device_id: int) -> None:
    """Waits for the work of a stream."""
    with _on(device_id) as driver:
        _check(driver.cuStreamSynchronize(ctypes.c_void_p(stream)), "cuStreamSynchronize")


def device_of(address: int) -> int:
    """The GPU whose memory this is."""
    ordinal = ctypes.c_int()
    device_ordinal = 9  # CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL
    _check(_driver().cuPointerGetAttribute(ctypes.byref(ordinal), device_ordinal, ctypes.c_uint64(address)), "cuPointerGetAttribute")
    return ordinal.value
