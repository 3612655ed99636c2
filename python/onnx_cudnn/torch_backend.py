"""torch.compile(model, backend="onnx_cudnn"): graphs go through torch's ONNX exporter into sessions. Needs torch, onnx and onnxscript.

For inference. Parameters and buffers are constants of a session; if one changes, the graph is exported again. Each set of input shapes has a session of its
own. A graph that cannot be run so runs in eager mode, and the logger "onnx_cudnn" says why.
"""

from __future__ import annotations

import re
import shutil
import tempfile
import weakref
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import torch  # type: ignore[import-not-found, unused-ignore]

from ._messages import logger
from .errors import Error
from .options import SessionOptions
from .ortvalue import tensor_of
from .session import InferenceSession


class _Refused(Exception):
    """Why a graph runs in eager mode."""


class _Graph(torch.nn.Module):  # type: ignore[misc, unused-ignore]
    """A graph as a function of its tensors that are not constants. Returns the tensors among its outputs; `told` gets all of them."""

    def __init__(
        self, graph: torch.fx.GraphModule, arguments: Sequence[Any], variables: Sequence[int], told: Callable[[Sequence[Any]], None]
    ) -> None:
        super().__init__()
        self.graph, self.told = graph, told
        self.fixed = {i: value for i, value in enumerate(arguments) if i not in variables and not isinstance(value, torch.Tensor)}
        for i, value in enumerate(arguments):
            if i not in variables and isinstance(value, torch.Tensor):
                self.register_buffer(f"constant_{i}", value.detach())
        self.count, self.variables = len(arguments), list(variables)

    def forward(self, *inputs: torch.Tensor) -> tuple[torch.Tensor, ...]:
        given = dict(zip(self.variables, inputs, strict=True))
        arguments = [
            given[i] if i in given else self.fixed[i] if i in self.fixed else getattr(self, f"constant_{i}") for i in range(self.count)
        ]
        results = self.graph(*arguments)
        self.told(results)
        return tuple(value for value in results if isinstance(value, torch.Tensor))


def _device_of(tensors: Sequence[torch.Tensor]) -> torch.device:
    devices = {tensor.device for tensor in tensors}
    if len(devices) > 1 or not all(device.type in ("cpu", "cuda") for device in devices):
        raise _Refused(f"its tensors are on {', '.join(sorted(map(str, devices)))}; expected the CPU or one GPU")
    return next(iter(devices), torch.device("cpu"))


def _export(graph: _Graph, inputs: Sequence[torch.Tensor], path: Path) -> list[tuple[torch.Size, torch.dtype]]:
    """Writes the graph as an ONNX model; returns the shape and the type of each output."""
    program = torch.export.export(graph, tuple(inputs), strict=False).run_decompositions({})  # which makes writes outputs
    signature = program.graph_signature
    if changed := [*signature.buffers_to_mutate.values(), *signature.user_inputs_to_mutate.values()]:
        raise _Refused(f"it writes to its inputs or buffers: {', '.join(map(str, changed))}")
    if random := [str(node.target) for node in program.graph.nodes if torch.Tag.nondeterministic_seeded in getattr(node.target, "tags", ())]:
        raise _Refused(f"its random numbers are those of torch's generator: {', '.join(random)}")
    exported = torch.onnx.export(program, dynamo=True, verbose=False, input_names=[f"input_{i}" for i in range(len(inputs))])
    if exported is None:
        raise _Refused("torch.onnx.export returned no model")
    exported.save(path)
    (output,) = program.graph_module.graph.find_nodes(op="output")
    values = [node.meta["val"] for node in output.args[0]]
    return [(value.shape, value.dtype) for value in values]


class _Compiled:
    """A graph for one set of input shapes, with the constants as they were."""

    def __init__(self, graph: torch.fx.GraphModule, arguments: Sequence[Any], variables: Sequence[int], options: SessionOptions) -> None:
        constants = [(i, value) for i, value in enumerate(arguments) if isinstance(value, torch.Tensor) and i not in variables]
        if any(value.is_inference() for _, value in constants):
            raise _Refused("its parameters were made under torch.inference_mode(), so that changes of them cannot be seen")
        self.constants = [(i, value, value._version) for i, value in constants]
        inputs = [arguments[i].detach() for i in variables]
        self.device = _device_of([value for value in arguments if isinstance(value, torch.Tensor)])
        self._results: list[Any] = []  # None in place of a tensor, (value,) of anything else
        module = _Graph(graph, arguments, variables, self._keep_others)
        folder = tempfile.mkdtemp(prefix="onnx_cudnn-")
        weakref.finalize(self, shutil.rmtree, folder, ignore_errors=True)  # a session may read its weights later
        path = Path(folder, "model.onnx")
        with torch.no_grad():
            self._outputs = _export(module, inputs, path)
        options.device, options.device_ordinal = self.device.type, self.device.index or 0
        session = InferenceSession(path, options)
        self._session = session._session
        self._output_names = [node.name for node in session.get_outputs()]
        taken = {node.name for node in session.get_inputs()}
        self._inputs = [(f"input_{at}", i) for at, i in enumerate(variables) if f"input_{at}" in taken]

    def _keep_others(self, results: Sequence[Any]) -> None:
        self._results = [None if isinstance(value, torch.Tensor) else (value,) for value in results]

    def holds_for(self, arguments: Sequence[Any]) -> bool:
        return all(arguments[i] is value and value._version == version for i, value, version in self.constants)

    def run(self, arguments: Sequence[Any]) -> list[Any]:
        stream = torch.cuda.current_stream(self.device).cuda_stream if self.device.type == "cuda" else 0
        inputs = [(name, tensor_of(arguments[i].detach().contiguous(), None, stream)) for name, i in self._inputs]
        outputs = [torch.empty(shape, dtype=dtype, device=self.device) for shape, dtype in self._outputs]
        self._session.run_into(inputs, [(name, tensor_of(output)) for name, output in zip(self._output_names, outputs, strict=True)], stream)
        made = iter(outputs)
        return [next(made) if value is None else value[0] for value in self._results]


def onnx_cudnn(graph: torch.fx.GraphModule, example_inputs: Sequence[Any], *, options: Mapping[str, Any] | None = None) -> Callable[..., Any]:
    """The function that torch.compile calls for each graph. options: fields of SessionOptions by name, but not the device."""
    session_options = SessionOptions()
    for name, value in (options or {}).items():
        setattr(session_options, name, value)
    sessions: dict[tuple[Any, ...], _Compiled | None] = {}
    placeholders = graph.graph.find_nodes(op="placeholder")
    constants = {i for i, node in enumerate(placeholders) if "_dynamo_static_input_type" in node.meta.get("tensor_dict", {})}

    def eager(why: object) -> None:
        while isinstance(why, torch.onnx.errors.OnnxExporterError) and why.__cause__ is not None:
            why = why.__cause__  # the exporter's own text names no op
        text = re.sub(r"\x1b\[[0-9;]*m", "", str(why)).strip().partition("\n")[0]
        logger.warning("torch.compile: a graph of %d nodes runs in eager mode: %s", len(graph.graph.nodes), text)

    def call(*arguments: Any) -> Any:
        variables = [i for i, value in enumerate(arguments) if isinstance(value, torch.Tensor) and i not in constants]
        key = tuple((value.shape, value.dtype, value.device) if i in variables else None if i in constants else value for i, value in enumerate(arguments))
        if torch.is_grad_enabled() and any(isinstance(value, torch.Tensor) and value.requires_grad for value in arguments):
            if ("gradients",) not in sessions:
                eager("it needs gradients: call it under torch.inference_mode()")
            sessions["gradients",] = None
            return graph(*arguments)
        compiled = sessions.get(key)
        if key not in sessions or (compiled is not None and not compiled.holds_for(arguments)):
            try:
                compiled = sessions[key] = _Compiled(graph, arguments, variables, session_options)
                return compiled.run(arguments)  # which refuses ops that no engine runs
            except (_Refused, Error, torch.onnx.errors.OnnxExporterError, torch._dynamo.exc.TorchDynamoException, RuntimeError) as why:
                eager(why)
                compiled = sessions[key] = None
        return graph(*arguments) if compiled is None else compiled.run(arguments)

    return call
