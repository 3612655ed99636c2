"""The library's messages as records of Python's logging, logger "onnx_cudnn"."""

import atexit
import logging

from . import _core

logger = logging.getLogger("onnx_cudnn")
_LEVELS = (logging.INFO, logging.WARNING, logging.ERROR)


def drain() -> None:
    """Logs what the library said since the last call, on the thread that calls."""
    for severity, text in _core.take_messages():
        logger.log(_LEVELS[severity], "%s", text)


def _close() -> None:
    drain()
    _core.close_callbacks()


_core.open_log(drain)
atexit.register(_close)
