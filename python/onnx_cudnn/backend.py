"""ONNX's Backend interface (onnx.backend.base): prepare, run_model, run_node, supports_device. Needs the package onnx."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import onnx
from onnx.backend.base import Backend, BackendRep, Device, DeviceType

from ._device import get_device
from .errors import InvalidArgument
from .options import SessionOptions
from .session import InferenceSession


class OnnxCudnnBackendRep(BackendRep):
    """A prepared model."""

    def __init__(self, session: InferenceSession) -> None:
        self.session = session

    def run(self, inputs: Any, **kwargs: Any) -> tuple[np.ndarray[Any, Any], ...]:
        """inputs: a dict by name, a list or tuple in the model's order, or the only input. Returns all outputs."""
        names = [node.name for node in self.session.get_inputs()]
        if isinstance(inputs, Mapping):
            feed = dict(inputs)
        elif isinstance(inputs, (list, tuple)):
            if len(inputs) > len(names):
                raise InvalidArgument(f"expected {len(names)} inputs, found {len(inputs)}")
            feed = dict(zip(names, inputs, strict=False))
        else:
            feed = {names[0]: inputs}
        return tuple(self.session.run(None, feed))


def _options(device: str) -> SessionOptions:
    place = Device(device)
    options = SessionOptions()
    options.device = "cuda" if place.type == DeviceType.CUDA else "cpu"
    options.device_ordinal = place.device_id
    options.precision = "strict"
    return options


class OnnxCudnnBackend(Backend):
    """The class that onnx.backend.test.BackendTest takes. Devices are "CPU", "CUDA" and "CUDA:1"."""

    @classmethod
    def prepare(cls, model: onnx.ModelProto | bytes | str, device: str = "CPU", **kwargs: Any) -> OnnxCudnnBackendRep:
        """Loads a model at the precision of its own types. A path allows external data."""
        data = model.SerializeToString() if isinstance(model, onnx.ModelProto) else model
        return OnnxCudnnBackendRep(InferenceSession(data, _options(device)))

    @classmethod
    def run_model(cls, model: onnx.ModelProto, inputs: Any, device: str = "CPU", **kwargs: Any) -> tuple[np.ndarray[Any, Any], ...]:
        return cls.prepare(model, device, **kwargs).run(inputs)

    @classmethod
    def run_node(
        cls, node: onnx.NodeProto, inputs: Any, device: str = "CPU", outputs_info: Any = None, **kwargs: Any
    ) -> tuple[np.ndarray[Any, Any], ...]:
        """Runs one node of the newest opset, or of kwargs["opset_version"], on arrays in the order of its inputs."""
        arrays = [np.asarray(array) for array in inputs]
        names = [name for name in node.input if name]
        graph = onnx.helper.make_graph(
            [node],
            "node",
            [
                onnx.helper.make_tensor_value_info(name, onnx.helper.np_dtype_to_tensor_dtype(array.dtype), array.shape)
                for name, array in zip(names, arrays, strict=True)
            ],
            [onnx.helper.make_empty_tensor_value_info(name) for name in node.output if name],
        )
        version = kwargs.get("opset_version", onnx.defs.onnx_opset_version())
        model = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid(node.domain, version)])
        return cls.run_model(onnx.shape_inference.infer_shapes(model), arrays, device)

    @classmethod
    def supports_device(cls, device: str) -> bool:
        try:
            kind = Device(device).type
        except AttributeError:  # a name that ONNX does not know
            return False
        return bool(kind == DeviceType.CPU or (kind == DeviceType.CUDA and get_device() == "GPU"))


prepare = OnnxCudnnBackend.prepare
run_model = OnnxCudnnBackend.run_model
run_node = OnnxCudnnBackend.run_node
supports_device = OnnxCudnnBackend.supports_device
