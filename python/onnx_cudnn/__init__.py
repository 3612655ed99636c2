"""Runs ONNX models on NVIDIA GPUs, and on CPUs, with the shapes of onnxruntime's API.

>>> import onnx_cudnn as oc
>>> session = oc.InferenceSession("model.onnx")
>>> outputs = session.run(None, {"x": array})
"""

import os

from . import _core, errors
from .errors import (
    Cancelled,
    DataLoss,
    Error,
    ErrorCode,
    FailedPrecondition,
    Internal,
    InvalidArgument,
    NotFound,
    ResourceExhausted,
    Unimplemented,
)

_core.set_error_types(errors.BY_CODE)

from ._core import SharedArena  # noqa: E402
from ._device import get_available_providers, get_device  # noqa: E402
from ._metadata import ModelMetadata  # noqa: E402
from .batcher import Batcher  # noqa: E402
from .iobinding import Binding, IOBinding  # noqa: E402
from .options import (  # noqa: E402
    ExecutionMode,
    GraphOptimizationLevel,
    RunOptions,
    SessionOptions,
    set_default_logger_severity,
    set_default_logger_verbosity,
    tqdm_progress,
)
from .ortvalue import OrtValue  # noqa: E402
from .session import InferenceSession, NodeArg, RunFuture  # noqa: E402
from .verification import Verification, VerifiedOutput, verify  # noqa: E402

__version__ = _core.version


def get_include() -> str:
    """The folder of onnx_cudnn_op.h, for ops of your own (docs/custom-ops.md)."""
    return os.path.join(os.path.dirname(__file__), "include")


__all__ = [
    "Batcher",
    "Binding",
    "Cancelled",
    "DataLoss",
    "Error",
    "ErrorCode",
    "ExecutionMode",
    "FailedPrecondition",
    "GraphOptimizationLevel",
    "IOBinding",
    "InferenceSession",
    "Internal",
    "InvalidArgument",
    "ModelMetadata",
    "NodeArg",
    "NotFound",
    "OrtValue",
    "ResourceExhausted",
    "RunFuture",
    "RunOptions",
    "SessionOptions",
    "SharedArena",
    "Unimplemented",
    "Verification",
    "VerifiedOutput",
    "get_available_providers",
    "get_device",
    "get_include",
    "set_default_logger_severity",
    "set_default_logger_verbosity",
    "tqdm_progress",
    "verify",
]
