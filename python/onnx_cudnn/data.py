"""Ray Data: inference over a dataset, such as a folder of images. Needs numpy alone; the extra `data` brings Ray.

>>> import ray, onnx_cudnn.data
>>> images = ray.data.read_images("pictures/", size=(224, 224), mode="RGB", include_paths=True)
>>> scores = images.map_batches(
...     onnx_cudnn.data.Predictor,
...     fn_constructor_kwargs={"model": "/models/resnet50.onnx", "prepare": onnx_cudnn.data.Images("x")},
...     batch_size=64, num_gpus=1, concurrency=2)
>>> scores.write_parquet("scores/")
"""

from __future__ import annotations

import dataclasses
import math
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from . import _types
from ._served import ModelConfig, batch_symbol
from .errors import InvalidArgument, Unimplemented
from .session import Providers

Batch = dict[str, np.ndarray[Any, Any]]


def _given_by_ray() -> tuple[int | None, int]:
    """How many GPUs and CPUs an actor of Ray has; (None, 0) elsewhere: the options say it."""
    ray = sys.modules.get("ray")
    if ray is None or not ray.is_initialized() or ray.get_runtime_context().get_actor_id() is None:
        return None, 0
    context = ray.get_runtime_context()
    return len(context.get_accelerator_ids()["GPU"]), math.ceil(context.get_assigned_resources().get("CPU", 0))


@dataclasses.dataclass(frozen=True)
class Images:
    """A `prepare` of Predictor: (pixel / 255 - mean) / std of the pictures of a column.

    input      name of the model's input
    column     of pictures u8[N, H, W, C], as ray.data.read_images(…, size=(H, W), mode="RGB") reads them
    mean, std  of the C channels; the defaults are those of ImageNet
    layout     "NCHW" or "NHWC", of the input
    dtype      "float32" or "float16", of the input
    """

    input: str
    column: str = "image"
    mean: Sequence[float] = (0.485, 0.456, 0.406)
    std: Sequence[float] = (0.229, 0.224, 0.225)
    layout: str = "NCHW"
    dtype: str = "float32"

    def __post_init__(self) -> None:
        if self.layout not in ("NCHW", "NHWC"):
            raise InvalidArgument(f"layout: expected NCHW or NHWC, found {self.layout!r}")
        if len(self.mean) != len(self.std) or not all(self.std):
            raise InvalidArgument(f"mean, std: expected as many numbers, std without 0, found {self.mean}, {self.std}")

    @property
    def columns(self) -> list[str]:
        """The columns that are read."""
        return [self.column]

    def __call__(self, batch: Mapping[str, np.ndarray[Any, Any]]) -> Batch:
        """The input by its name."""
        pixels = _column(batch, self.column)
        if pixels.dtype != np.uint8 or pixels.ndim != 4 or pixels.shape[3] != len(self.mean):
            raise InvalidArgument(f"column {self.column!r}: expected pictures uint8[N, H, W, {len(self.mean)}], found {pixels.dtype}{list(pixels.shape)}")
        scale = np.float32(1) / (255 * np.asarray(self.std, np.float32))
        shift = -np.asarray(self.mean, np.float32) / np.asarray(self.std, np.float32)
        values = (pixels * scale + shift).astype(self.dtype)
        return {self.input: np.ascontiguousarray(values.transpose(0, 3, 1, 2)) if self.layout == "NCHW" else values}


def _column(batch: Mapping[str, Any], name: str) -> np.ndarray[Any, Any]:
    """A column as one array. InvalidArgument: there is none, or its arrays have different shapes."""
    if name not in batch:
        raise InvalidArgument(f"the batch has no column {name!r}: expected of {', '.join(map(repr, batch))}")
    column = np.asarray(batch[name])
    if column.dtype != object or not len(column) or not isinstance(column[0], np.ndarray):
        return column
    shapes = {array.shape for array in column}
    if len(shapes) > 1:
        raise InvalidArgument(f"column {name!r} has arrays of the shapes {sorted(shapes)}: expected one shape, as read_images(…, size=(H, W)) gives")
    return np.stack(list(column))


class Predictor:
    """A model for Dataset.map_batches(Predictor, fn_constructor_kwargs={"model": …}): each actor loads it once.

    model      path of the model's file, the same on every node
    columns    {input: column}; None: an input is the column of its name
    prepare    instead of columns: prepare(batch) gives the inputs by name, with as many rows as the batch
    outputs    {output: column} of what is returned; None: all, by their names
    keep       columns that are returned, too; None: all but those that are read (`columns`, or prepare.columns if it has that)
    providers  as InferenceSession takes them; None: the GPUs that Ray gives the actor (num_gpus), or the CPU; without Ray as the options say
    options    fields of SessionOptions by name

    A row is an element of the first axis of every input and output. If its size is a symbol, a smaller batch than one before is filled up to a
    power of two with copies of its last row, so that few programs are built; if it is a number, batches are divided into runs of so many rows.
    Rows must not depend on each other. Raises as InferenceSession.
    """

    def __init__(
        self,
        model: str | os.PathLike[str],
        *,
        columns: Mapping[str, str] | None = None,
        prepare: Callable[[Mapping[str, np.ndarray[Any, Any]]], Mapping[str, Any]] | None = None,
        outputs: Mapping[str, str] | None = None,
        keep: Sequence[str] | None = None,
        providers: Providers | None = None,
        options: Mapping[str, Any] | None = None,
    ) -> None:
        if columns is not None and prepare is not None:
            raise InvalidArgument("columns, prepare: expected one of them")
        if isinstance(keep, str):
            raise InvalidArgument(f"keep: expected a list of columns, found {keep!r}")
        config = ModelConfig(model=os.fspath(model), options=options or {}, providers=providers)
        self._session = config.session(*_given_by_ray())
        names = [node.name for node in self._session.get_inputs()]
        self._columns = dict(columns) if columns is not None else {name: name for name in names}
        self._session._check_names(self._columns)
        self._prepare, self._keep = prepare, keep
        self._read = list(self._columns.values()) if prepare is None else list(getattr(prepare, "columns", ()))
        self._outputs = dict(outputs) if outputs is not None else {node.name: node.name for node in self._session.get_outputs()}
        self._session._indices(list(self._outputs))
        self._rows = self._rows_of_a_run()
        self._largest = 0

    def _rows_of_a_run(self) -> int | None:
        """The first dim that every input has; 0: a symbol, of every output, too; None: something else."""
        first = {node.shape[0] if node.shape else None for node in self._session.get_inputs()}
        if len(first) == 1 and isinstance(rows := first.pop(), int) and rows > 0:
            return rows
        try:
            batch_symbol(self._session)
        except Unimplemented:
            return None
        return 0

    def __call__(self, batch: Mapping[str, np.ndarray[Any, Any]]) -> Batch:
        """The outputs, and the columns that are kept, of a batch in the format "numpy". InvalidArgument: a column, its type or its shape."""
        if not isinstance(batch, Mapping):
            raise InvalidArgument(f'the batch is {type(batch).__name__}: expected arrays by name, as batch_format="numpy" gives')
        rows = len(next(iter(batch.values()), ()))
        kept = self._keep if self._keep is not None else [name for name in batch if name not in self._read]
        results: Batch = {name: _kept(batch, name) for name in kept}
        if rows == 0:
            return {**results, **self._nothing()}
        feed = self._prepare(batch) if self._prepare is not None else {name: _column(batch, column) for name, column in self._columns.items()}
        if self._rows is not None:
            for name, array in feed.items():
                if np.shape(array)[:1] != (rows,):
                    raise InvalidArgument(f"input {name!r} is {list(np.shape(array))}: expected as many rows as the batch, {rows}")
        for name, array in self._run(feed, rows).items():
            if array.ndim == 0 or len(array) != rows:
                raise InvalidArgument(f"output {name!r} is {list(array.shape)}: expected as many rows as the batch, {rows}")
            results[self._outputs[name]] = array
        return results

    def _run(self, feed: Mapping[str, Any], rows: int) -> Batch:
        """The outputs of all rows."""
        names = list(self._outputs)
        if self._rows is None:
            return dict(zip(names, self._session.run(names, feed), strict=True))
        size = self._rows or self._size_for(rows)
        runs = []
        for begin in range(0, rows, size):
            part = {name: _filled(np.asarray(array)[begin : begin + size], size) for name, array in feed.items()}
            runs.append(self._session.run(names, part))
            for name, array in zip(names, runs[-1], strict=True):
                if array.ndim == 0 or len(array) != size:
                    raise InvalidArgument(f"output {name!r} is {list(array.shape)}: expected as many rows as the run, {size}")
        joined = [outputs[0] if len(outputs) == 1 else np.concatenate(outputs) for outputs in zip(*runs, strict=True)]
        return {name: array[:rows] for name, array in zip(names, joined, strict=True)}

    def _size_for(self, rows: int) -> int:
        """The largest number of rows so far, or a power of two below it."""
        self._largest = max(self._largest, rows)
        return min(self._largest, 1 << (rows - 1).bit_length())

    def _nothing(self) -> Batch:
        """Outputs without rows; a dim that is not known is 0."""
        infos = {info.name: info for info in self._session._output_infos}
        empty = {}
        for name, column in self._outputs.items():
            dims = [dim if isinstance(dim, int) else 0 for dim in infos[name].shape[1:]]
            empty[column] = np.empty((0, *dims), object if infos[name].dtype == _types.STRING else _types.numpy_type(infos[name].dtype))
        return empty


def _kept(batch: Mapping[str, np.ndarray[Any, Any]], name: str) -> np.ndarray[Any, Any]:
    if name not in batch:
        raise InvalidArgument(f"keep: the batch has no column {name!r}: expected of {', '.join(map(repr, batch))}")
    return batch[name]


def _filled(array: np.ndarray[Any, Any], rows: int) -> np.ndarray[Any, Any]:
    """The array with copies of its last row behind, up to so many rows."""
    return array if len(array) == rows else np.concatenate([array, np.repeat(array[-1:], rows - len(array), axis=0)])
