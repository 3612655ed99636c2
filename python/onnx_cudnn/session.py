"""InferenceSession and IOBinding, with the shapes of onnxruntime's API."""

from __future__ import annotations

import asyncio
import concurrent.futures
import os
from collections.abc import Callable, Generator, Mapping, Sequence
from typing import Any

import numpy as np

from . import _core, _types, _values
from ._messages import drain, logger
from ._metadata import ModelMetadata, read_metadata
from .errors import InvalidArgument
from .iobinding import Binding, IOBinding
from .options import RunOptions, SessionOptions, stream_address
from .ortvalue import OrtValue, tensor_of

_CUDA_PROVIDER, _CPU_PROVIDER = "CUDAExecutionProvider", "CPUExecutionProvider"
# Providers of onnxruntime that run on an NVIDIA GPU: all of them mean this package's own device there.
_GPU_PROVIDERS = (_CUDA_PROVIDER, "TensorrtExecutionProvider", "NvTensorRTRTXExecutionProvider")

Providers = Sequence[str | tuple[str, Mapping[str, Any]]]

# Methods of onnxruntime's that are not here, and what is.
_ELSEWHERE = {
    "set_providers": "make another session",
    "disable_fallback": 'SessionOptions.device = "cuda" is an error without a GPU',
    "enable_fallback": "the argument providers falls back to the CPU with a warning",
    "end_profiling": "session.profile(inputs) times each step, python -m onnx_cudnn run MODEL --trace FILE writes a timeline",
}


class NodeArg:
    """An input or an output of a model.

    name   its name
    type   "tensor(float)", "seq(tensor(float))", "optional(tensor(float))", "map(int64,tensor(float))"
    shape  a list of numbers, names of symbolic dims, and None for unknown dims; empty for a scalar and for an unknown rank
    """

    def __init__(self, info: _core.ValueInfo) -> None:
        self.name = info.name
        self.type = _values.type_string(info)
        self.shape: list[int | str | None] = info.shape
        self._text = str(info)

    def __str__(self) -> str:
        return f"NodeArg(name='{self.name}', type='{self.type}', shape={self.shape})"

    __repr__ = __str__


class RunFuture(concurrent.futures.Future[Any]):
    """The result of run_async: result() waits for it, and so does `await`."""

    def __await__(self) -> Generator[Any, None, Any]:
        return asyncio.wrap_future(self).__await__()


def _with_providers(
    options: SessionOptions, providers: Providers | None, provider_options: Sequence[Mapping[str, Any]] | None
) -> _core.SessionOptions:
    """A copy of the options with the device that onnxruntime's `providers` ask for: a GPU, or the CPU if there is none."""
    copy = _core.SessionOptions(options)
    if not providers:
        return copy
    providers = [providers] if isinstance(providers, str) else providers
    names = [item if isinstance(item, str) else item[0] for item in providers]
    settings = [{} if isinstance(item, str) else item[1] for item in providers]
    if provider_options is not None:
        if len(provider_options) != len(names):
            raise InvalidArgument(f"provider_options: expected one for each of the {len(names)} providers, found {len(provider_options)}")
        settings = list(provider_options)
    for name, setting in zip(names, settings, strict=True):
        if name in _GPU_PROVIDERS:
            copy.device = _core.DeviceChoice.auto
            if "device_id" in setting:
                copy.device_ordinal, copy.devices = int(setting["device_id"]), []
            return copy
        if name == _CPU_PROVIDER:
            copy.device, copy.devices = _core.DeviceChoice.cpu, []
            return copy
    raise InvalidArgument(f"providers: expected {_CUDA_PROVIDER} or {_CPU_PROVIDER}, found {', '.join(names)}")


def _load(model: str | os.PathLike[str] | bytes, options: _core.SessionOptions) -> tuple[_core.Session, str | ModelMetadata]:
    """The session, and the model's metadata or the absolute path of the file that has them."""
    try:
        if isinstance(model, (str, os.PathLike)):
            return _core.Session.load(os.fspath(model), options), os.path.abspath(os.fspath(model))
        if isinstance(model, (bytes, bytearray, memoryview)):
            data = bytes(model)
        elif hasattr(model, "SerializeToString"):
            data = model.SerializeToString()
        else:
            raise InvalidArgument(f"model: expected a path or bytes, found {type(model).__name__}")
        return _core.Session.load_bytes(data, options), read_metadata(data)
    finally:
        drain()


class InferenceSession:
    """A loaded model. Any number of threads may run it at the same time; the GIL is released while it loads and runs.

    path_or_bytes     file, or the serialized model; an onnx.ModelProto is taken too
    sess_options      SessionOptions; None: defaults
    providers         onnxruntime's names, the first one counts: "CUDAExecutionProvider" takes a GPU if there is one (else a warning is
                      logged), "CPUExecutionProvider" the CPU. None: as sess_options.device says
    provider_options  one dict per provider: "device_id" is used

    Raises NotFound, DataLoss: the file. InvalidArgument: no valid model. Unimplemented: a type, an opset or a domain that is not
    supported; ops are compiled for the shapes of the first run, which raises it for an op that no engine runs, and ResourceExhausted
    for too little memory. FailedPrecondition: no such device.
    """

    def __init__(
        self,
        path_or_bytes: str | os.PathLike[str] | bytes,
        sess_options: SessionOptions | None = None,
        providers: Providers | None = None,
        provider_options: Sequence[Mapping[str, Any]] | None = None,
        **kwargs: Any,
    ) -> None:
        for name in kwargs:
            if name != "disabled_optimizers":  # of onnxruntime's rewrites
                raise TypeError(f"InferenceSession has no argument {name}")
        self._options = sess_options if sess_options is not None else SessionOptions()
        self._session, self._metadata = _load(path_or_bytes, _with_providers(self._options, providers, provider_options))
        self._input_infos, self._output_infos = self._session.inputs, self._session.outputs
        self._types = {info.name: info.dtype for info in self._input_infos}
        self._has_other_kinds = any(info.kind != _values.TENSOR for info in [*self._input_infos, *self._output_infos])
        self._output_indices = {info.name: i for i, info in enumerate(self._output_infos)}
        self._pool: concurrent.futures.ThreadPoolExecutor | None = None
        if providers and self._session.device_note and self._session.device == "cpu":
            logger.warning("%s", self._session.device_note)

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(f"InferenceSession has no attribute {name}" + (f": {_ELSEWHERE[name]}" if name in _ELSEWHERE else ""))

    def get_inputs(self) -> list[NodeArg]:
        """The model's inputs, in its order."""
        return [NodeArg(info) for info in self._input_infos]

    def get_outputs(self) -> list[NodeArg]:
        """The model's outputs, in its order."""
        return [NodeArg(info) for info in self._output_infos]

    def get_modelmeta(self) -> ModelMetadata:
        """What the model says about itself: producer, names, version, properties. The first call reads the model's file again."""
        if isinstance(self._metadata, str):
            self._metadata = read_metadata(self._metadata)
        return self._metadata

    def get_overridable_initializers(self) -> list[NodeArg]:
        """None: initializers are constants."""
        return []

    def get_providers(self) -> list[str]:
        """["CPUExecutionProvider"], after "CUDAExecutionProvider" on a GPU."""
        return [_CUDA_PROVIDER, _CPU_PROVIDER] if self._session.device == "cuda" else [_CPU_PROVIDER]

    def get_provider_options(self) -> dict[str, dict[str, str]]:
        """The options of each provider: "device_id" of the GPU."""
        return {name: {"device_id": str(self._session.device_id)} if name == _CUDA_PROVIDER else {} for name in self.get_providers()}

    def get_session_options(self) -> SessionOptions:
        """The options that the session was made with."""
        return self._options

    @property
    def device(self) -> str:
        """"cpu" or "cuda"."""
        return self._session.device

    @property
    def device_note(self) -> str:
        """Why the device was selected; empty if the options name it."""
        return self._session.device_note

    @property
    def precision(self) -> str:
        """"strict", "tf32", "fp16" or "bf16"."""
        return str(self._session.precision.name)

    def stats(self) -> _core.SessionStats:
        """Times of loading and building, memory, what tuning did."""
        return self._session.stats()

    def _check_names(self, feed: Mapping[str, Any]) -> None:
        if not isinstance(feed, Mapping):
            raise InvalidArgument(f"inputs: expected a dict of values by name, found {type(feed).__name__}")
        unknown = [name for name in feed if name not in self._types]
        if unknown:
            raise InvalidArgument(f"unknown input {unknown[0]!r}, expected: {', '.join(map(repr, self._types))}")

    def _inputs(self, feed: Mapping[str, Any], stream: int | None) -> list[tuple[str, _core.Tensor]]:
        self._check_names(feed)
        return [(name, tensor_of(value, self._types[name], stream)) for name, value in feed.items() if value is not None]

    def _indices(self, output_names: Sequence[str] | None) -> Sequence[int]:
        if not output_names:
            return range(len(self._output_infos))
        if isinstance(output_names, str):
            raise InvalidArgument(f"output_names: expected a list of names, found {output_names!r}")
        for name in output_names:
            if name not in self._output_indices:
                raise InvalidArgument(f'output "{name}": expected of {", ".join(map(repr, self._output_indices))}')
        return [self._output_indices[name] for name in output_names]

    def run(
        self, output_names: Sequence[str] | None, input_feed: Mapping[str, Any], run_options: RunOptions | None = None, *, stream: Any = None
    ) -> list[np.ndarray[Any, Any]]:
        """Runs the model and returns arrays in memory of their own.

        output_names  which outputs, in which order; None or empty: all
        input_feed    by name: numpy arrays (copied only if they are not contiguous), OrtValues, anything with __dlpack__,
                      __cuda_array_interface__ or __array_interface__, numbers and lists. None leaves an optional input out.
                      Sequences are lists, maps dicts, empty optionals None; outputs of these kinds too
        stream        the CUDA stream on which inputs on the GPU were made: an address, torch's or CuPy's stream. None: the host waits
                      for their producers

        Raises InvalidArgument: a name, a type or a shape that does not match the model. Types are never converted.
        """
        indices = self._indices(output_names)
        outputs = self._arrays(input_feed, run_options, stream)
        return [outputs[i] for i in indices]

    def _arrays(self, feed: Mapping[str, Any], run_options: RunOptions | None, stream: Any = None) -> list[Any]:
        if not self._has_other_kinds:
            return [_types.array_of_tensor(tensor) for tensor in self._run(feed, run_options, stream)]
        address = stream_address(stream if stream is not None or run_options is None else run_options.stream)
        self._check_names(feed)
        values = {info.name: _values.core_of(feed.get(info.name), info, address) for info in self._input_infos}
        try:
            outputs = self._session.run_values(values, address, run_options._flag if run_options is not None else None)
            return [_values.python_of(output) for output in outputs]
        finally:
            drain()

    def _run(self, feed: Mapping[str, Any], run_options: RunOptions | None, stream: Any = None) -> list[_core.Tensor]:
        address = stream_address(stream if stream is not None or run_options is None else run_options.stream)
        try:
            return self._session.run(self._inputs(feed, address), address, run_options._flag if run_options is not None else None)
        finally:
            drain()

    def warm_up(self, input_feed: Mapping[str, Any], runs_at_once: int = 1) -> None:
        """Does what the first runs of inputs of these shapes would wait for, on every device: builds the program, makes the arenas of
        `runs_at_once` runs, and captures their CUDA graphs. Runs the model; inputs and outputs are tensors. Raises as run."""
        try:
            self._session.warm_up(self._inputs(input_feed, None), runs_at_once)
        finally:
            drain()

    def profile(self, input_feed: Mapping[str, Any], runs: int = 20) -> list[dict[str, Any]]:
        """Times the steps of runs on these inputs: a dict for each step, in the order of the graph.

        "nodes" and "ops" are ONNX's, "engine" and "variant" what runs them; "us" is the median of `runs`, by events within the CUDA graph
        on a GPU, "share" that of the sum of all steps; "floor_us" a lower bound at the device's peaks, "of_floor" its share of "us";
        "flops", "bytes", "gb_per_s", "tflop_per_s", "index", "stream". Between two steps stands an event, so that their sum is longer
        than a run. Of a model that runs as several programs "segment" counts their runs; "index" is -1 for nodes and copies between them.

        Raises Unimplemented: the model runs padded.
        """
        try:
            return self._session.profile(self._inputs(input_feed, None), runs)
        finally:
            drain()

    def check_partitions(self, input_feed: Mapping[str, Any]) -> list[dict[str, Any]]:
        """Runs each partition of the program for these inputs alone, and compares it with the references of its ops on the host: a dict
        for each, the wrong ones first, then by "share_of_tolerance".

        "ok", "index" (its place in the program), "ops" ("Conv Relu: conv1"), "nodes", "engine", "variant"; of its worst output:
        "output", "largest_difference", "largest_expected", "share_of_tolerance", "largest_relative", "largest_ulps", "cosine", "note";
        of f16 and bf16 beside f32: "share_of_f32", and "overflowed", the elements that are finite in f32 alone; "op_by_op": of a wrong
        one with several ops, each of them alone. Needs the time and memory of the references.

        Raises Unimplemented: the model runs as several programs, or padded.
        """
        try:
            return self._session.check_partitions(self._inputs(input_feed, None))
        finally:
            drain()

    def run_with_ort_values(
        self, output_names: Sequence[str] | None, input_dict_ort_values: Mapping[str, OrtValue], run_options: RunOptions | None = None
    ) -> list[OrtValue]:
        """As run, with OrtValues in memory of the host."""
        indices = self._indices(output_names)
        outputs = self._run(input_dict_ort_values, run_options)
        return [OrtValue(outputs[i]) for i in indices]

    def run_async(
        self,
        output_names: Sequence[str] | None,
        input_feed: Mapping[str, Any],
        callback: Callable[[list[np.ndarray[Any, Any]], Any, str], object] | None = None,
        user_data: Any = None,
        run_options: RunOptions | None = None,
        *,
        stream: Any = None,
    ) -> RunFuture:
        """Runs on another thread. The inputs must not change before it ended.

        callback  callback(results, user_data, error): error is "" or the message, results then is empty; called by that thread
        returns   a concurrent.futures.Future that can be awaited in asyncio, too
        """
        indices = self._indices(output_names)
        if self._pool is None:
            self._pool = concurrent.futures.ThreadPoolExecutor(self._options.max_executors_per_program, "onnx_cudnn")
        future = RunFuture()

        def work() -> None:
            if not future.set_running_or_notify_cancel():
                return
            try:
                outputs = self._arrays(input_feed, run_options, stream)
                results = [outputs[i] for i in indices]
            except BaseException as error:
                if callback is not None:
                    callback([], user_data, str(error))
                future.set_exception(error)
                return
            if callback is not None:
                callback(results, user_data, "")
            future.set_result(results)

        self._pool.submit(work)
        return future

    def io_binding(self) -> IOBinding:
        """An IOBinding without inputs and outputs."""
        return IOBinding(self)

    def run_with_iobinding(self, iobinding: IOBinding, run_options: RunOptions | None = None, *, stream: Any = None) -> None:
        """Reads and writes what is bound. With a stream and all tensors on the GPU it does not wait for the end."""
        iobinding._run(run_options, stream)

    def bind(self, inputs: Mapping[str, Any], outputs: Mapping[str, Any]) -> Binding:
        """Fixes the addresses of all inputs and outputs, for the least time per run; each run reads and writes them in place."""
        return Binding(self, inputs, outputs)
