"""SessionOptions and RunOptions: the library's options, and the attributes of onnxruntime's that have a meaning here."""

from __future__ import annotations

import enum
import importlib.util
import os
from collections.abc import Callable
from typing import Any

from . import _core
from ._messages import logger
from .errors import InvalidArgument, Unimplemented

Progress = Callable[[str, int, int, str], object]


class GraphOptimizationLevel(enum.IntEnum):
    """onnxruntime's levels. Here: 0, 1 and, for all others, 2 of SessionOptions.optimization_level."""

    ORT_DISABLE_ALL = 0
    ORT_ENABLE_BASIC = 1
    ORT_ENABLE_EXTENDED = 2
    ORT_ENABLE_LAYOUT = 3
    ORT_ENABLE_ALL = 99


class ExecutionMode(enum.IntEnum):
    """onnxruntime's modes. Without effect here: independent steps run on several streams (SessionOptions.streams)."""

    ORT_SEQUENTIAL = 0
    ORT_PARALLEL = 1


# Attributes of onnxruntime's options that are taken and have no effect.
_SESSION_DEFAULTS: dict[str, Any] = {
    "enable_cpu_mem_arena": True,
    "enable_mem_pattern": True,
    "enable_mem_reuse": True,
    "execution_mode": ExecutionMode.ORT_SEQUENTIAL,
    "execution_order": 0,
    "inter_op_num_threads": 0,
    "log_verbosity_level": 0,
    "logid": "",
}
_RUN_DEFAULTS: dict[str, Any] = {"log_severity_level": -1, "log_verbosity_level": 0, "logid": "", "only_execute_path_to_fetches": False, "training_mode": False}


def choice(enumeration: Any, value: Any, what: str) -> Any:
    """A member of an enum, by itself or by name."""
    if isinstance(value, enumeration):
        return value
    members = {str(member.name): member for member in enumeration}
    if value not in members:
        raise InvalidArgument(f'option {what}: expected {", ".join(members)}, found "{value}"')
    return members[value]


def tqdm_progress(description: str = "onnx_cudnn") -> Progress:
    """A progress callback that shows a bar of tqdm for each stage where tqdm is installed, and otherwise logs each tenth of a stage."""
    if importlib.util.find_spec("tqdm") is None:
        last: dict[str, int] = {}

        def log(stage: str, done: int, total: int, text: str) -> None:
            tenth = 10 * done // total
            if tenth != last.get(stage):
                last[stage] = tenth
                logger.info("%s: %s %d of %d: %s", description, stage, done, total, text)

        return log
    import tqdm  # type: ignore[import-untyped,import-not-found,unused-ignore]

    bars: dict[str, Any] = {}

    def show(stage: str, done: int, total: int, text: str) -> None:
        if stage not in bars:
            bars[stage] = tqdm.tqdm(desc=f"{description}: {stage}", total=total, leave=False)
        bar = bars[stage]
        bar.total = total
        bar.set_postfix_str(text, refresh=False)
        bar.update(done - bar.n)
        if done == total:
            bars.pop(stage).close()

    return show


class _Strict:
    """Refuses attributes that do not exist, so that a misspelled option is an error."""

    def __setattr__(self, name: str, value: Any) -> None:
        if not name.startswith("_") and not hasattr(type(self), name):
            raise AttributeError(f"{type(self).__name__} has no option {name}")
        super().__setattr__(name, value)


def _without_effect(name: str, default: Any) -> property:
    def get(self: Any) -> Any:
        return self._ignored.get(name, default)

    def put(self: Any, value: Any) -> None:
        self._ignored[name] = value

    return property(get, put, doc="Taken for onnxruntime's sake, without effect.")


def _named(name: str, enumeration: Any, doc: str) -> property:
    field = getattr(_core.SessionOptions, name)

    def put(self: Any, value: Any) -> None:
        field.__set__(self, choice(enumeration, value, name))

    return property(lambda self: str(field.__get__(self).name), put, doc=doc)


class SessionOptions(_Strict, _core.SessionOptions):
    """The fields of onnx_cudnn/options.h, with the same names and defaults; enums are given by name: options.precision = "fp16"."""

    def __init__(self) -> None:
        super().__init__()
        self._ignored: dict[str, Any] = {}
        self._entries: dict[str, str] = {}
        self._progress: bool | Progress | None = None
        self._log_severity_level = -1

    device = _named("device", _core.DeviceChoice, '"auto", "cpu" or "cuda"; the argument `providers` of a session goes before it.')
    precision = _named("precision", _core.PrecisionChoice, '"auto", "strict", "tf32", "fp16" or "bf16": precision of f32 arithmetic.')
    partitioner = _named("partitioner", _core.PartitionerChoice, '"greedy" or "cost": how ops are grouped.')
    tune = _named("tune", _core.TuneMode, '"foreground" or "background": when the tuner measures.')
    first_program = _named("first_program", _core.FirstProgram, '"best" or "quick": what the first runs for new input shapes use.')

    @property
    def progress(self) -> bool | Progress | None:
        """callable(stage, done, total, text), called by any thread while a model is loaded and built; True: tqdm_progress().

        stage is "loading", "optimizing", "building" or "tuning". A callback that returns False or raises cancels the call that
        reports, which then raises Cancelled.
        """
        return self._progress

    @progress.setter
    def progress(self, value: bool | Progress | None) -> None:
        self._progress = value
        self.set_progress(tqdm_progress() if value is True else value or None)

    @property
    def intra_op_num_threads(self) -> int:
        """The same as `threads`: 0 is one per core."""
        return self.threads

    @intra_op_num_threads.setter
    def intra_op_num_threads(self, value: int) -> None:
        self.threads = value

    @property
    def graph_optimization_level(self) -> GraphOptimizationLevel:
        """Sets `optimization_level`."""
        return (GraphOptimizationLevel.ORT_DISABLE_ALL, GraphOptimizationLevel.ORT_ENABLE_BASIC, GraphOptimizationLevel.ORT_ENABLE_ALL)[self.optimization_level]

    @graph_optimization_level.setter
    def graph_optimization_level(self, value: GraphOptimizationLevel | int) -> None:
        self.optimization_level = min(int(value), 2)

    @property
    def use_deterministic_compute(self) -> bool:
        """The opposite of `allow_nondeterministic`."""
        return not self.allow_nondeterministic

    @use_deterministic_compute.setter
    def use_deterministic_compute(self, value: bool) -> None:
        self.allow_nondeterministic = not value

    @property
    def log_severity_level(self) -> int:
        """0 verbose, 1 info, 2 warning, 3 error, 4 fatal: the level of Python's logger "onnx_cudnn"; -1: as it is."""
        return self._log_severity_level

    @log_severity_level.setter
    def log_severity_level(self, value: int) -> None:
        self._log_severity_level = value
        set_default_logger_severity(value)

    @property
    def enable_profiling(self) -> bool:
        """False: session.profile times each step."""
        return False

    @enable_profiling.setter
    def enable_profiling(self, value: bool) -> None:
        if value:
            raise Unimplemented("option enable_profiling: session.profile(inputs) times each step")

    @property
    def optimized_model_filepath(self) -> str:
        """Empty: onnx-cudnn-opt writes the optimized model."""
        return ""

    @optimized_model_filepath.setter
    def optimized_model_filepath(self, value: str) -> None:
        if value:
            raise Unimplemented("option optimized_model_filepath: python -m onnx_cudnn opt MODEL -o FILE writes the optimized model")

    def register_custom_ops_library(self, path: str | os.PathLike[str]) -> None:
        """Adds a library of ops to `op_libraries`. It is one of this package's (onnx_cudnn_op.h), not of onnxruntime's."""
        self.op_libraries = [*self.op_libraries, os.fspath(path)]

    def add_session_config_entry(self, key: str, value: str) -> None:
        """Kept, without effect."""
        self._entries[key] = value

    def get_session_config_entry(self, key: str) -> str:
        """What add_session_config_entry kept. InvalidArgument: nothing."""
        if key not in self._entries:
            raise InvalidArgument(f'SessionOptions has no config entry "{key}"')
        return self._entries[key]


def _list(name: str, element: Callable[[Any], Any], what: str) -> property:
    field = getattr(_core.SessionOptions, name)

    def put(self: Any, value: Any) -> None:
        if isinstance(value, (str, int)):
            raise InvalidArgument(f"option {name}: expected a list of {what}, found {value!r}")
        field.__set__(self, [element(item) for item in value])

    return property(lambda self: tuple(field.__get__(self)), put, doc=f"A tuple of {what}; assign a list, the value is a copy.")


for _name in ("disabled_passes", "keep_f32", "op_libraries", "shape_buckets"):
    setattr(SessionOptions, _name, _list(_name, os.fspath, "texts"))
SessionOptions.devices = _list("devices", int, "numbers")
for _name, _default in _SESSION_DEFAULTS.items():
    setattr(SessionOptions, _name, _without_effect(_name, _default))


class RunOptions(_Strict):
    """Options of one run, or of several at a time."""

    def __init__(self) -> None:
        self._ignored: dict[str, Any] = {}
        self._entries: dict[str, str] = {}
        self._flag = _core.CancelFlag()
        self._stream: Any = None

    @property
    def terminate(self) -> bool:
        """True, set by any thread: runs with these options end with Cancelled."""
        return self._flag.cancelled

    @terminate.setter
    def terminate(self, value: bool) -> None:
        self._flag.cancelled = bool(value)

    @property
    def stream(self) -> Any:
        """The CUDA stream on which runs are enqueued: its address, torch's or CuPy's object, or None."""
        return self._stream

    @stream.setter
    def stream(self, value: Any) -> None:
        stream_address(value)
        self._stream = value

    def add_run_config_entry(self, key: str, value: str) -> None:
        """Kept, without effect."""
        self._entries[key] = value

    def get_run_config_entry(self, key: str) -> str:
        """What add_run_config_entry kept. InvalidArgument: nothing."""
        if key not in self._entries:
            raise InvalidArgument(f'RunOptions has no config entry "{key}"')
        return self._entries[key]


for _name, _default in _RUN_DEFAULTS.items():
    setattr(RunOptions, _name, _without_effect(_name, _default))


def stream_address(stream: Any) -> int:
    """The cudaStream_t of a stream: 0 for None, and cudaStreamLegacy for the address 0 of the default stream."""
    if stream is None:
        return 0
    for attribute in ("cuda_stream", "ptr"):  # torch, CuPy
        stream = getattr(stream, attribute, stream)
    if not isinstance(stream, int) or stream < 0:
        raise InvalidArgument(f"stream: expected an address, torch.cuda.Stream or cupy.cuda.Stream, found {type(stream).__name__}")
    return stream or 1


def set_default_logger_severity(level: int) -> None:
    """0 verbose, 1 info, 2 warning, 3 error, 4 fatal: sets the level of Python's logger "onnx_cudnn"; -1: leaves it."""
    if level >= 0:
        logger.setLevel(10 * (level + 1))


def set_default_logger_verbosity(level: int) -> None:
    """Without effect."""
