"""IOBinding and Binding: runs that read and write memory of the caller's choice."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from . import _core, _cuda, _types
from ._messages import drain
from .errors import InvalidArgument
from .options import RunOptions, stream_address
from .ortvalue import CPU, CUDA, OrtValue, allocate, device_type_of, on_host, tensor_of

if TYPE_CHECKING:
    from .session import InferenceSession


class Binding:
    """Inputs and outputs at fixed addresses, with their own memory for intermediate values. One caller at a time."""

    def __init__(self, session: InferenceSession, inputs: Mapping[str, Any], outputs: Mapping[str, Any]) -> None:
        bound = [(name, _writable(name, value)) for name, value in outputs.items()]
        self._binding = session._session.bind(session._inputs(inputs, None), bound)
        drain()

    def run(self, run_options: RunOptions | None = None, *, stream: Any = None) -> None:
        """With a stream and all tensors on the GPU it does not wait for the end."""
        self._binding.run(stream_address(stream), run_options._flag if run_options is not None else None)

    def time_runs(self, runs: int) -> list[float]:
        """Milliseconds of each run, after two to warm up; on a GPU by its clock."""
        return self._binding.time_runs(runs)

    @property
    def graph_note(self) -> str:
        """Why runs are not replayed as one CUDA graph; empty: they are."""
        return self._binding.graph_note


def _writable(name: str, value: Any) -> _core.Tensor:
    """The memory of an output, which is never a copy."""
    if isinstance(value, np.ndarray):
        if not value.flags.writeable or not value.flags.c_contiguous:
            raise InvalidArgument(f'output "{name}": expected a writable, contiguous array')
        if value.dtype.kind in "OUST" or _types.bits_of(_types.number_of(value.dtype)) < 8:
            raise InvalidArgument(f'output "{name}": arrays of {value.dtype} have another layout than tensors: bind an OrtValue')
    elif isinstance(value, OrtValue):
        if not value._writeable:
            raise InvalidArgument(f'output "{name}": the array of the OrtValue is read-only')
    elif not hasattr(value, "__dlpack__") and not hasattr(value, "__cuda_array_interface__"):
        raise InvalidArgument(f'output "{name}": expected an array or a tensor, found {type(value).__name__}')
    return tensor_of(value)


class IOBinding:
    """Inputs and outputs of runs in memory that the caller chooses."""

    def __init__(self, session: InferenceSession) -> None:
        self._owner = session
        self._session = session._session
        self._inputs: dict[str, Any] = {}
        self._outputs: dict[str, OrtValue | tuple[int, int]] = {}  # bound memory, or the device where it is to be
        self._results: list[OrtValue] = []
        self._stream = 0

    def bind_cpu_input(self, name: str, arr_on_cpu: np.ndarray[Any, Any]) -> None:
        """Reads the array at each run; it is kept alive."""
        self._inputs[name] = OrtValue(tensor_of(np.asarray(arr_on_cpu), self._owner._types.get(name)))

    def bind_input(self, name: str, device_type: str, device_id: int, element_type: Any, shape: Sequence[int], buffer_ptr: int) -> None:
        """Memory of the caller, who keeps it alive. element_type: a numpy type or a number of onnx.TensorProto.DataType."""
        number = _types.number_of(element_type)
        self._inputs[name] = OrtValue(_core.Tensor.from_address(buffer_ptr, number, list(shape), device_type_of(device_type), device_id, None))

    def bind_ortvalue_input(self, name: str, ortvalue: OrtValue) -> None:
        """Reads the memory of the value at each run."""
        self._inputs[name] = ortvalue

    def bind_output(
        self,
        name: str,
        device_type: str = "cpu",
        device_id: int = 0,
        element_type: Any = None,
        shape: Sequence[int] | None = None,
        buffer_ptr: int | None = None,
    ) -> None:
        """Memory of the caller, who keeps it alive; without buffer_ptr, new memory of each run on that device."""
        self._owner._indices([name])
        if buffer_ptr is None:
            self._outputs[name] = (device_type_of(device_type), device_id)
            return
        if shape is None or element_type is None:
            raise InvalidArgument(f'output "{name}": buffer_ptr needs element_type and shape')
        tensor = _core.Tensor.from_address(buffer_ptr, _types.number_of(element_type), list(shape), device_type_of(device_type), device_id, None)
        self._outputs[name] = OrtValue(tensor)

    def bind_ortvalue_output(self, name: str, ortvalue: OrtValue) -> None:
        """Writes to the memory of the value at each run."""
        self._owner._indices([name])
        _writable(name, ortvalue)
        self._outputs[name] = ortvalue

    def clear_binding_inputs(self) -> None:
        """Unbinds all inputs."""
        self._inputs.clear()

    def clear_binding_outputs(self) -> None:
        """Unbinds all outputs."""
        self._outputs.clear()
        self._results = []

    def synchronize_inputs(self) -> None:
        """Waits for work that other libraries gave to the legacy default stream."""
        for value in self._inputs.values():
            if value._tensor.device_type == CUDA:
                _cuda.synchronize(_cuda.LEGACY_STREAM, value._tensor.device_id)

    def synchronize_outputs(self) -> None:
        """Waits for the end of a run on a stream."""
        if self._stream:
            _cuda.synchronize(self._stream, self._session.device_id)

    def get_outputs(self) -> list[OrtValue]:
        """Of the last run, in the order in which they were bound."""
        return list(self._results)

    def copy_outputs_to_cpu(self) -> list[np.ndarray[Any, Any]]:
        """As get_outputs, as arrays."""
        self.synchronize_outputs()
        return [_types.array_of_tensor(on_host(value._tensor)) for value in self._results]

    def _memory(self, inputs: list[tuple[str, _core.Tensor]]) -> dict[str, OrtValue]:
        """Memory for every output of the model; for one that is not bound, in the host's."""
        values = {}
        found: dict[str, _core.ValueInfo] = {}
        for info in self._owner._output_infos:
            bound = self._outputs.get(info.name, (CPU, 0))
            if isinstance(bound, OrtValue):
                values[info.name] = bound
                continue
            found = found or {output.name: output for output in self._session.outputs_for(inputs)}
            made = found[info.name]
            shape = [extent for extent in made.shape if isinstance(extent, int)]
            if not made.ranked or len(shape) < len(made.shape):
                raise InvalidArgument(f'output "{info.name}": its shape depends on data: bind memory for it, or every output to new memory of the host')
            values[info.name] = OrtValue(allocate(info.dtype, shape, *bound))
        return values

    def _run(self, run_options: RunOptions | None, stream: Any) -> None:
        self._stream = stream_address(stream if stream is not None or run_options is None else run_options.stream)
        flag = run_options._flag if run_options is not None else None
        inputs = [(name, value._tensor) for name, value in self._inputs.items()]
        try:
            if all(bound == (CPU, 0) for bound in self._outputs.values()):
                made = self._session.run(inputs, self._stream, flag)
                values = {info.name: OrtValue(tensor) for info, tensor in zip(self._owner._output_infos, made, strict=True)}
            else:
                values = self._memory(inputs)
                self._session.run_into(inputs, [(name, value._tensor) for name, value in values.items()], self._stream, flag)
            self._results = [values[name] for name in self._outputs]
        finally:
            drain()
