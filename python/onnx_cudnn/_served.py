"""A model as a server holds it: loaded and warm, its requests joined by a Batcher or run by threads, replaced without loss. Needs no server."""

from __future__ import annotations

import asyncio
import concurrent.futures
import dataclasses
import difflib
import itertools
import math
import sys
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from . import _types
from ._messages import logger
from .batcher import Batcher
from .errors import Cancelled, FailedPrecondition, InvalidArgument, ResourceExhausted, Unimplemented
from .options import RunOptions, SessionOptions
from .session import InferenceSession, NodeArg

_MOST_WARM_UPS = 256
_LAST_OF_NUMPY = 15  # of the numbers of element types; the others are those of ml_dtypes


@dataclasses.dataclass(frozen=True)
class ModelConfig:
    """What is served. Every field is JSON, so that a configuration file can hold it.

    model           path of the model's file, the same on every node
    version         any text; another one loads the file again
    providers       as InferenceSession takes them; None: the GPUs that the replica was given, or the CPU if it was given none
    options         fields of SessionOptions by name, such as {"precision": "fp16", "plan_cache": "/shared/plans.json"}
    max_batch       rows of a run at most; 0: each request is a run of its own. Rows must not depend on each other
    max_delay_s     seconds that the oldest request of a batch that is not full waits for others
    batch_sizes     rows that runs have, ascending, and max_batch; empty: powers of two
    max_queued      rows that may wait (requests, if each is a run of its own); what is beyond is ResourceExhausted
    runs_at_once    0: two for each GPU, or for the CPU
    timeout_s       seconds that a request may wait for its run to begin, and to end, too, if it is a run of its own; then it is Cancelled.
                    So long may the body of a request by HTTP take to arrive, too
    warm_up         what is run before the model is ready: for each entry, a size of each symbolic dim by its name, {"sequence": 128}, or
                    the shape of an input, {"x": [1, 3, 224, 224]}, at each of the batch sizes. None: what needs no other sizes than
                    the batch; []: nothing
    max_body_bytes  of a request by HTTP

    Raises InvalidArgument: a value that cannot be meant.
    """

    model: str = ""
    version: str = ""
    providers: Sequence[Any] | None = None
    options: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    max_batch: int = 32
    max_delay_s: float = 0.001
    batch_sizes: Sequence[int] = ()
    max_queued: int = 1024
    runs_at_once: int = 0
    max_body_bytes: int = 1 << 28
    timeout_s: float = 30.0
    warm_up: Sequence[Mapping[str, Any]] | None = None

    def __post_init__(self) -> None:
        for name in ("max_batch", "max_queued", "runs_at_once", "max_body_bytes"):
            self._expect(name, "a number ≥ 0", lambda value: type(value) is int and value >= 0)
        for name in ("max_delay_s", "timeout_s"):
            self._expect(name, "seconds ≥ 0", lambda value: type(value) in (int, float) and 0 <= value < math.inf)
        for name in ("model", "version"):
            self._expect(name, "a text", lambda value: isinstance(value, str))
        self._expect("options", "fields of SessionOptions by name", lambda value: isinstance(value, Mapping))
        self._expect("batch_sizes", "a list of numbers", lambda value: not isinstance(value, str) and all(type(size) is int for size in value))
        self._expect("warm_up", "a list of sizes by name", lambda value: value is None or all(isinstance(sizes, Mapping) for sizes in value))
        self._session_options()

    def _expect(self, name: str, what: str, holds: Callable[[Any], bool]) -> None:
        value = getattr(self, name)
        try:
            good = holds(value)
        except TypeError:
            good = False
        if not good:
            raise InvalidArgument(f"{name}: expected {what}, found {value!r}")

    @staticmethod
    def of(config: Mapping[str, Any]) -> ModelConfig:
        """The configuration of a dict, as a file has it. InvalidArgument: a name that is no field."""
        names = [field.name for field in dataclasses.fields(ModelConfig)]
        for name in config:
            if name not in names:
                raise InvalidArgument(f"{name}: expected of {', '.join(names)}")
        return ModelConfig(**config)

    def json(self) -> dict[str, Any]:
        """The fields that are not the defaults, as `of` takes them."""
        default = ModelConfig()
        fields = {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}
        return {name: list(value) if isinstance(value, tuple) else value for name, value in fields.items() if value != getattr(default, name)}

    def _session_options(self) -> SessionOptions:
        options = SessionOptions()
        for name, value in self.options.items():
            if name.startswith("_") or not hasattr(options, name):
                raise InvalidArgument(f"options: SessionOptions has no option {name}")
            try:
                setattr(options, name, value)
            except TypeError:
                raise InvalidArgument(f"option {name}: found {value!r}") from None
        return options

    def run_sizes(self) -> list[int]:
        """The rows that runs of a Batcher have, ascending; max_batch is ≥ 1."""
        return sorted({*(self.batch_sizes or powers_of_two(self.max_batch)), self.max_batch})

    def session(self, gpus: int | None, cpus: int = 0) -> InferenceSession:
        """Loads the model. gpus, cpus: as of Served. Raises as InferenceSession."""
        options = self._session_options()
        if "max_programs" not in self.options:
            options.max_programs = max(options.max_programs, len(self.run_sizes()) * max(1, len(self.warm_up or ())))
        if "max_executors_per_program" not in self.options:
            options.max_executors_per_program = max(options.max_executors_per_program, self.runs_at_once)
        if gpus is not None and self.providers is None and not {"device", "devices"} & set(self.options):
            options.device = "cuda" if gpus else "cpu"
            if gpus > 1:
                options.devices = list(range(gpus))
        if "threads" not in self.options and not gpus:
            options.threads = cpus
        return InferenceSession(self.model, options, self.providers)


def check_arguments(given: Mapping[str, Any], known: Collection[str]) -> None:
    """InvalidArgument: an argument of onnx_cudnn.serve.app that is none of `known`, or num_gpus or num_cpus that is no number."""
    for name, value in given.items():
        if name not in known:
            nearest = difflib.get_close_matches(name, known, 1)
            meant = f"did you mean {nearest[0]}?" if nearest else f"known are {', '.join(known)}"
            raise InvalidArgument(f'unknown argument "{name}" of onnx_cudnn.serve.app; {meant}')
        if name in ("num_gpus", "num_cpus") and (type(value) not in (int, float) or not 0 <= value < math.inf):
            raise InvalidArgument(f"{name}: expected a number ≥ 0, found {value!r}")


def batch_symbol(session: InferenceSession) -> str:
    """The symbol that is the first dim of every input and output. Unimplemented: there is none, with the reason."""
    first = ""
    for node in [*session.get_inputs(), *session.get_outputs()]:
        found = node.shape[0] if node.type.startswith("tensor(") and node.shape else None
        if not isinstance(found, str) or (first and found != first):
            raise Unimplemented(f"{node.name} is {node.type} {node.shape}: expected a tensor whose first dim is {first or 'a symbol'}")
        first = found
    return first


def powers_of_two(most: int) -> list[int]:
    """1, 2, 4, … below `most`, and `most`."""
    return [*itertools.takewhile(lambda size: size < most, (2**i for i in itertools.count())), most]


def shape_of(node: NodeArg, sizes: Mapping[str, Any]) -> list[int]:
    """The shape of an input by a number for each symbol, or by its own name. InvalidArgument: a dim without a number, or another one."""
    given = sizes.get(node.name)
    dims: list[Any] = list(given) if isinstance(given, Sequence) else [dim if isinstance(dim, int) else sizes.get(str(dim)) for dim in node.shape]
    fits = len(dims) == len(node.shape) and all(not isinstance(own, int) or own == dim for own, dim in zip(node.shape, dims, strict=True))
    if not fits or not all(type(dim) is int and dim >= 0 for dim in dims):
        raise InvalidArgument(f"warm_up: {node.name} is {node.shape}, found the sizes {dict(sizes)}")
    return dims


def zeros(node: NodeArg, number: int, shape: Sequence[int]) -> np.ndarray[Any, Any]:
    """Zeros of an input's type; empty strings."""
    if number == _types.STRING:
        return np.full(shape, "", object)
    return np.zeros(shape, _types.numpy_type(number))


def on_host(value: Any, torch: Any) -> Any:
    """A tensor of torch, which may be None, as one that can be read without torch; anything else as it is."""
    if torch is None or not isinstance(value, torch.Tensor):
        return value
    return value.detach().cpu().contiguous()


def as_torch(value: Any, number: int, torch: Any) -> Any:
    """An array of the type `number` as a tensor of torch over the same memory; what torch has no type for as it is."""
    if not isinstance(value, np.ndarray) or number == _types.STRING:
        return value
    if number <= _LAST_OF_NUMPY:
        return torch.from_numpy(value)
    dtype = getattr(torch, _types.torch_name(number), None)
    return value if dtype is None or _types.bits_of(number) < 8 else torch.from_numpy(value.view(f"u{value.itemsize}")).view(dtype)


class Served:
    """A loaded model that answers requests. Made by any thread; all else is of one event loop.

    config  what is served
    gpus    how many GPUs are its own, 0: the CPU; None: as the options say
    cpus    how many threads a run may use on the CPU, if the options do not say it; 0: one per core

    Raises as InferenceSession, and as the first run of each shape of the warm-up.
    """

    def __init__(self, config: ModelConfig, gpus: int | None = None, cpus: int = 0) -> None:
        if not config.model:
            raise InvalidArgument("model: expected the path of a model, found none")
        self.config = config
        self.session = config.session(gpus, cpus)
        self.inputs, self.outputs = self.session.get_inputs(), self.session.get_outputs()
        self._threads = config.runs_at_once or 2 * len(self.session.stats().devices)
        self._batch, self.batching = "", "each request is a run of its own: max_batch is 0"
        self._batcher: Batcher | None = None
        if config.max_batch:
            self._join_requests()
        self._pool = concurrent.futures.ThreadPoolExecutor(self._threads, "onnx_cudnn")  # without threads until it is used
        self._held, self._alone = 0, 0  # requests, and those of them that are runs of their own
        self._idle = asyncio.Event()
        self._idle.set()
        self.warmed = self._warm_up()

    def _join_requests(self) -> None:
        config = self.config
        try:
            self._batch = batch_symbol(self.session)
        except Unimplemented as reason:
            self.batching = f"each request is a run of its own: {reason}"
            logger.info("%s: %s", config.model, self.batching)
            return
        self._batcher = Batcher(
            self.session,
            max_batch=config.max_batch,
            max_delay_s=config.max_delay_s,
            batch_sizes=config.batch_sizes,
            max_queued=max(config.max_queued, config.max_batch),
            threads=config.runs_at_once,
        )
        self.batching = f"up to {config.max_batch} rows"

    def _shapes(self) -> Iterator[Mapping[str, Any]]:
        """Sizes for each run of the warm-up."""
        entries, config = self.config.warm_up, self.config
        if entries is None:
            symbols = {dim for node in self.inputs for dim in node.shape if not isinstance(dim, int)} - {self._batch}
            if symbols or any(not node.type.startswith("tensor(") for node in self.inputs):
                logger.warning("%s: nothing is run before it is ready, since the sizes of %s are not known: say them by warm_up", config.model,
                               ", ".join(sorted(map(str, symbols))) or "its sequences")  # fmt: skip
                return
            entries = [{}]
        batches = config.run_sizes() if self._batch else [0]
        if len(entries) * len(batches) > _MOST_WARM_UPS:
            raise InvalidArgument(f"warm_up: {len(entries)} entries at {len(batches)} batch sizes are more than {_MOST_WARM_UPS} runs")
        for sizes, batch in itertools.product(entries, batches):
            named = {name: [batch, *dims[1:]] if self._batch and isinstance(dims, Sequence) else dims for name, dims in sizes.items()}
            yield {**named, self._batch: batch} if self._batch else named

    def _warm_up(self) -> list[str]:
        """Runs each shape for as many runs at once as there will be, on each GPU; returns the shapes as text."""
        done = []
        for sizes in self._shapes():
            feed = {node.name: zeros(node, self.session._types[node.name], shape_of(node, sizes)) for node in self.inputs}
            self.session.warm_up(feed, self._threads)
            done.append(", ".join(f"{name}{list(array.shape)}" for name, array in feed.items()))
        return done

    def __enter__(self) -> Served:
        """Keeps the model while a request reads it: close() waits."""
        self._held += 1
        self._idle.clear()
        return self

    def __exit__(self, *_: object) -> None:
        self._held -= 1
        if self._held == 0:
            self._idle.set()

    async def run(self, inputs: Mapping[str, Any], outputs: Sequence[str] | None = None, timeout_s: float | None = None) -> dict[str, Any]:
        """The outputs by name, as InferenceSession.run gives them; torch tensors if an input is one.

        inputs     as InferenceSession.run takes them; memory on a GPU is copied to the host
        outputs    which; None: all
        timeout_s  instead of the configuration's

        Raises as InferenceSession.run. Cancelled: the time is over. ResourceExhausted: too many requests wait.
        """
        self.session._check_names(inputs)
        indices = self.session._indices(outputs)
        if timeout_s is not None and not 0 <= timeout_s < math.inf:
            raise InvalidArgument(f"timeout_s: expected seconds ≥ 0, found {timeout_s}")
        timeout_s = self.config.timeout_s if timeout_s is None else timeout_s
        torch = sys.modules.get("torch")
        has_torch = torch is not None and any(isinstance(value, torch.Tensor) for value in inputs.values())
        feed = {name: on_host(value, torch) for name, value in inputs.items()}
        with self:
            if self._batcher is not None:
                results = await asyncio.wrap_future(self._batcher.submit(feed, timeout_s))
            else:
                results = await self._run_alone(feed, timeout_s)
        return {self.outputs[i].name: as_torch(results[i], self.session._output_infos[i].dtype, torch) if has_torch else results[i] for i in indices}

    async def _run_alone(self, feed: Mapping[str, Any], timeout_s: float) -> list[Any]:
        if self._alone >= self._threads + self.config.max_queued:
            raise ResourceExhausted(f"{self._alone} requests run or wait, max_queued = {self.config.max_queued}")
        loop, options = asyncio.get_running_loop(), RunOptions()
        future = self._pool.submit(self.session.run, None, feed, options)
        self._alone += 1
        future.add_done_callback(lambda _: loop.call_soon_threadsafe(self._ended))
        try:
            return await asyncio.wait_for(asyncio.wrap_future(future), timeout_s)
        except TimeoutError:
            raise Cancelled(f"the request had not ended after timeout_s = {timeout_s:g}") from None
        finally:
            options.terminate = True  # a run that nobody waits for ends, too

    def _ended(self) -> None:
        self._alone -= 1

    async def close(self) -> None:
        """Returns when every request and run has ended."""
        await self._idle.wait()
        await asyncio.to_thread(self._batcher.stop if self._batcher is not None else self._pool.shutdown)

    def check_health(self) -> None:
        """FailedPrecondition: a GPU of the session is lost, and comes back only in a new process."""
        for device in self.session.stats().devices:
            if device.is_lost:
                raise FailedPrecondition(f"{self.config.model}: the GPU {device.device_id} is lost")

    def stats(self) -> dict[str, Any]:
        """What is served and what was run, as JSON."""
        session, names = self.session.stats(), ("requests", "refused", "cancelled", "failed", "batches", "rows", "padding_rows", "queued_rows")
        batcher = self._batcher.stats() if self._batcher is not None else None
        return {
            "model": self.config.model, "version": self.config.version, "device": self.session.device, "batching": self.batching,
            "warmed": self.warmed, "programs": session.programs_held, "runs": sum(device.runs for device in session.devices),
            "batcher": None if batcher is None else {name: getattr(batcher, name) for name in names},
        }  # fmt: skip
