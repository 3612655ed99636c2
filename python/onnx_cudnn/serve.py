"""Ray Serve: a model's file as an application that scales, batches and answers over HTTP. Needs the extra `serve`.

>>> from ray import serve
>>> import onnx_cudnn.serve
>>> handle = serve.run(onnx_cudnn.serve.app("/models/resnet50.onnx", num_gpus=0.5))
>>> handle.remote({"x": array}).result()["y"]
"""

from __future__ import annotations

import asyncio
import dataclasses
import inspect
import json
import math
import os
from collections.abc import Mapping, Sequence
from typing import Any

try:
    import ray  # type: ignore[import-not-found, unused-ignore]
    from ray import serve
    from starlette.requests import Request  # type: ignore[import-not-found, unused-ignore]
    from starlette.responses import Response  # type: ignore[import-not-found, unused-ignore]
except ImportError as error:
    raise ImportError(f'onnx_cudnn.serve needs Ray Serve: pip install "onnx_cudnn[serve]" ({error})') from error

from . import _core, _protocol
from ._messages import logger
from ._served import ModelConfig, Served, check_arguments
from .errors import Cancelled, FailedPrecondition, InvalidArgument

__all__ = ["Model", "ModelConfig", "app", "build"]

_SMALL_BYTES = 1 << 16  # of a body that is read without another thread
_FIELDS = tuple(field.name for field in dataclasses.fields(ModelConfig))
_ARGUMENTS = tuple(dict.fromkeys(("model", "name", "num_gpus", "num_cpus", *_FIELDS, *(name for name in inspect.signature(serve.deployment).parameters if name[0] != "_"))))


class Model:
    """What a replica of a deployment is: one model, loaded once, for any number of requests at a time. `app` makes deployments of it."""

    def __init__(self) -> None:
        self._served: Served | None = None
        self._name = serve.get_replica_context().deployment
        self._changes = asyncio.Lock()

    async def reconfigure(self, config: Mapping[str, Any]) -> None:
        """Loads the model of a configuration (fields of ModelConfig by name), runs the warm-up, and then replaces the model that is there.

        Requests go on meanwhile; those that the old model has end on it. Both are in memory until then. Raises as Served: Ray Serve then
        stops this replica, and the deployment fails if its replacements do, too.
        """
        new = ModelConfig.of(config)
        async with self._changes:
            if self._served is not None and self._served.config == new:
                return
            context = ray.get_runtime_context()
            gpus, cpus = len(context.get_accelerator_ids()["GPU"]), math.ceil(context.get_assigned_resources().get("CPU", 0))
            served = await asyncio.to_thread(Served, new, gpus, cpus)
            old, self._served = self._served, served
            logger.info("%s: %s is ready (%s)", self._name, new.model, served.batching)
            if old is not None:
                await old.close()

    def _current(self) -> Served:
        if self._served is None:
            raise FailedPrecondition(f"deployment {self._name}: there is no model: user_config has none")
        return self._served

    async def check_health(self) -> None:
        """FailedPrecondition: there is no model, or a GPU is lost; Ray Serve then starts another replica."""
        self._current().check_health()

    async def stats(self) -> dict[str, Any]:
        """What one replica serves and has run, and its process: handle.stats.remote()."""
        return {"pid": os.getpid(), "gpus": ray.get_runtime_context().get_accelerator_ids()["GPU"], **self._current().stats()}

    async def __call__(self, inputs: Any, outputs: Sequence[str] | None = None, timeout_s: float | None = None) -> Any:
        """The outputs by name: handle.remote({"x": array}). Called by Ray Serve for HTTP, too.

        inputs     by name: arrays of numpy, tensors of torch, numbers and lists, as InferenceSession.run takes them
        outputs    names; None: all
        timeout_s  seconds, instead of the configuration's

        returns    arrays; tensors of torch if an input is one

        Raises as InferenceSession.run; Cancelled: the time is over; ResourceExhausted: too many requests wait.
        """
        if isinstance(inputs, Request):
            return await self._answer(inputs)
        return await self._current().run(inputs, outputs, timeout_s)

    async def _answer(self, request: Any) -> Any:
        try:
            # A client that sends slowly does not hold the model, which may be replaced meanwhile.
            sent = await _body_of(request, self._current().config) if request.method == "POST" else b""
            with self._current() as served:
                body, headers = await self._respond(request, sent, served)
            return Response(body, 200, headers)
        except Exception as error:
            status = _protocol.status_of(error)
            if status == 500:
                logger.exception("%s: a request failed", self._name)
            return Response(_protocol.error_body(error), status, {"content-type": _protocol.JSON})

    async def _respond(self, request: Any, body: bytes, served: Served) -> tuple[bytes, dict[str, str]]:
        path, version = request.scope["path"].removeprefix(request.scope.get("root_path", "")), served.config.version or "1"
        what = _protocol.route(request.method, path, self._name, version)
        if what != "infer":
            described = {
                "ready": {"ready": True},
                "server": {"name": "onnx_cudnn", "version": _core.version, "extensions": ["binary_tensor_data"]},
                "model": _protocol.metadata(self._name, version, served.inputs, served.outputs),
            }
            return json.dumps(described[what]).encode(), {"content-type": _protocol.JSON}
        arguments = dict(request.headers), dict(request.query_params), body, served.inputs
        read = _protocol.read(*arguments) if len(body) <= _SMALL_BYTES else await asyncio.to_thread(_protocol.read, *arguments)
        outputs = await served.run(read.inputs, read.outputs, read.timeout_s)
        types = {node.name: node.type for node in served.outputs}
        is_small = sum(getattr(value, "nbytes", 0) for value in outputs.values()) <= _SMALL_BYTES
        answer = read, outputs, types, self._name, version
        return _protocol.write(*answer) if is_small else await asyncio.to_thread(_protocol.write, *answer)


async def _body_of(request: Any, config: ModelConfig) -> bytes:
    """HttpError: it is too long. Cancelled: it takes too long to arrive."""
    parts, size = [], 0
    try:
        async with asyncio.timeout(config.timeout_s or None):
            async for part in request.stream():
                size += len(part)
                if size > config.max_body_bytes:
                    raise _protocol.HttpError(413, f"the body has more than max_body_bytes = {config.max_body_bytes}")
                parts.append(part)
    except TimeoutError:
        raise Cancelled(f"the body had not arrived after timeout_s = {config.timeout_s:g}") from None
    return b"".join(parts)


def app(model: str | os.PathLike[str] = "", *, name: str = "model", num_gpus: float = 1, num_cpus: float = 1, **settings: Any) -> Any:
    """An application of one model, for serve.run, or to bind to other deployments, which then have its handle.

    model     path of the model's file, the same on every node. "": user_config of a configuration file says it
    name      of the deployment, and of the model in paths of HTTP
    num_gpus  of each replica: a fraction shares a GPU, several are one session over all of them, 0 is the CPU
    num_cpus  of each replica; on the CPU also the threads of a run
    settings  fields of ModelConfig (max_batch, options, warm_up, …); all else goes to ray.serve.deployment (num_replicas,
              autoscaling_config, ray_actor_options, health_check_period_s, …). Defaults that differ from Ray Serve's: max_ongoing_requests
              is four batches, max_queued_requests 1024, and target_ongoing_requests of an autoscaling_config one batch

    Raises InvalidArgument: an argument that neither has, no number of devices, a field of ModelConfig. TypeError, ValueError: as
    ray.serve.deployment.
    """
    if "user_config" in settings:
        raise InvalidArgument(f"user_config: give its fields as arguments: {', '.join(_FIELDS)}")
    check_arguments({"num_gpus": num_gpus, "num_cpus": num_cpus, **settings}, _ARGUMENTS)
    config = ModelConfig.of({"model": os.fspath(model), **{field: settings.pop(field) for field in _FIELDS if field in settings}})
    actor_options = {"num_gpus": num_gpus, "num_cpus": num_cpus, **settings.pop("ray_actor_options", {})}
    batch = max(config.max_batch, 4)
    options = {"max_ongoing_requests": 4 * batch, "max_queued_requests": 1024, **settings}
    scaling = options.get("autoscaling_config")
    if isinstance(scaling, Mapping) and config.max_batch:
        options["autoscaling_config"] = {"target_ongoing_requests": config.max_batch, **scaling}
    if config.model:
        options["user_config"] = config.json()
    return serve.deployment(name=name, ray_actor_options=actor_options, **options)(Model).bind()


def build(arguments: Mapping[str, Any]) -> Any:
    """The application of a configuration file (import_path: onnx_cudnn.serve:build, args: the arguments of app by name), and of a command
    line, whose texts may be JSON: serve run onnx_cudnn.serve:build model=/models/m.onnx num_gpus=0"""

    def value_of(value: Any) -> Any:
        try:
            return json.loads(value) if isinstance(value, str) else value
        except ValueError:
            return value

    texts = ("model", "version", "name")
    return app(**{name: value if name in texts else value_of(value) for name, value in arguments.items()})
