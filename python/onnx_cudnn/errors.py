"""Exceptions with the codes of the C API (onnx_cudnn_status of onnx_cudnn.h). Each is also the builtin exception that fits."""

import enum


class ErrorCode(enum.IntEnum):
    """Numbered as onnx_cudnn_status, the stable one."""

    INVALID_ARGUMENT = 1
    UNIMPLEMENTED = 2
    NOT_FOUND = 3
    DATA_LOSS = 4
    RESOURCE_EXHAUSTED = 5
    FAILED_PRECONDITION = 6
    CANCELLED = 7
    INTERNAL = 8


class Error(Exception):
    """The base of all errors of this package."""

    code: ErrorCode


class InvalidArgument(Error, ValueError):
    """The model, an input or an option is wrong."""


class Unimplemented(Error, NotImplementedError):
    """Valid ONNX that is not supported; the message says what would work."""


class NotFound(Error, FileNotFoundError):
    """No such file."""


class DataLoss(Error, OSError):
    """A file that cannot be read or is cut short."""


class ResourceExhausted(Error, MemoryError):
    """Memory; the message has the bytes requested and the bytes free."""


class FailedPrecondition(Error, RuntimeError):
    """No such device or library, or calls in the wrong order."""


class Cancelled(Error, RuntimeError):
    """RunOptions.terminate was set."""


class Internal(Error, RuntimeError):
    """A library call failed or an invariant is broken: please report it as a bug."""


# In the order of ErrorCode.
BY_CODE = (InvalidArgument, Unimplemented, NotFound, DataLoss, ResourceExhausted, FailedPrecondition, Cancelled, Internal)
for _code, _type in zip(ErrorCode, BY_CODE, strict=True):
    _type.code = _code
