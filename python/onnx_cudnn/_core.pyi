from collections.abc import Callable, Sequence
from typing import Any, ClassVar

version: str

def set_error_types(types: tuple[type[Exception], ...]) -> None: ...
def take_messages() -> list[tuple[int, str]]: ...
def open_log(drain: Callable[[], None]) -> None: ...
def close_callbacks() -> None: ...

class Tensor:
    @staticmethod
    def from_address(address: int, dtype: int, shape: Sequence[int], device_type: int, device_id: int, owner: object) -> Tensor: ...
    @staticmethod
    def from_capsule(capsule: object) -> Tensor: ...
    @staticmethod
    def from_strings(values: Sequence[str | bytes], shape: Sequence[int]) -> Tensor: ...
    @staticmethod
    def allocate(dtype: int, shape: Sequence[int]) -> Tensor: ...
    @property
    def address(self) -> int: ...
    @property
    def dtype(self) -> int: ...
    @property
    def shape(self) -> tuple[int, ...]: ...
    @property
    def device_type(self) -> int: ...
    @property
    def device_id(self) -> int: ...
    @property
    def nbytes(self) -> int: ...
    def strings(self) -> list[str]: ...
    def dlpack(self) -> Any: ...

class _Choice:
    name: str
    value: int

class DeviceChoice(_Choice):
    auto: ClassVar[DeviceChoice]
    cpu: ClassVar[DeviceChoice]
    cuda: ClassVar[DeviceChoice]

class PartitionerChoice(_Choice):
    greedy: ClassVar[PartitionerChoice]
    cost: ClassVar[PartitionerChoice]

class PrecisionChoice(_Choice):
    auto: ClassVar[PrecisionChoice]
    strict: ClassVar[PrecisionChoice]
    tf32: ClassVar[PrecisionChoice]
    fp16: ClassVar[PrecisionChoice]
    bf16: ClassVar[PrecisionChoice]

class TuneMode(_Choice):
    foreground: ClassVar[TuneMode]
    background: ClassVar[TuneMode]

class FirstProgram(_Choice):
    best: ClassVar[FirstProgram]
    quick: ClassVar[FirstProgram]

class SharedArena:
    def __init__(self, bytes: int) -> None: ...
    @property
    def bytes(self) -> int: ...

class SessionOptions:
    def __init__(self, other: SessionOptions = ...) -> None: ...
    # The enums are strings in the subclass onnx_cudnn.SessionOptions.
    device: Any
    precision: Any
    partitioner: Any
    tune: Any
    first_program: Any
    device_ordinal: int
    devices: Any  # list[int]; a tuple in the subclass
    rerun_if_lost: bool
    threads: int
    optimization_level: int
    allow_nondeterministic: bool
    disabled_passes: list[str]
    op_libraries: list[str]
    target: str
    compute_capability: int
    pins: str
    tune_budget_s: float
    plan_cache: str
    tune_worker: str
    map_external_data: bool
    follow_hub_links: bool
    streams: int
    cuda_graph: bool
    max_memory_bytes: int
    arena: SharedArena | None
    max_programs: int
    shape_buckets: list[str]
    max_executors_per_program: int
    keep_f32: list[str]
    check_finite: bool
    def set_progress(self, callable: Callable[[str, int, int, str], object] | None) -> None: ...

class CancelFlag:
    cancelled: bool
    def __init__(self) -> None: ...

class ValueInfo:
    @property
    def name(self) -> str: ...
    @property
    def dtype(self) -> int: ...
    @property
    def ranked(self) -> bool: ...
    @property
    def kind(self) -> int: ...
    @property
    def elements(self) -> list[ValueInfo]: ...
    @property
    def shape(self) -> list[int | str | None]: ...

class ProgramBuild:
    inputs: str
    is_quick: bool
    bind_ms: float
    fold_ms: float
    partition_ms: float
    compile_ms: float
    plan_ms: float
    total_ms: float

class DeviceStats:
    device_id: int
    runs: int
    running: int
    is_lost: bool

class SessionStats:
    devices: list[DeviceStats]
    device_ms: float
    load_ms: float
    optimize_ms: float
    plan_ms: float
    tune_ms: float
    tuned_signatures: int
    cached_signatures: int
    tune_notes: list[str]
    programs_built: int
    programs_held: int
    programs_swapped: int
    weight_bytes: int
    arena_bytes: int
    nodes: int
    host_nodes: int
    segments: int
    nodes_between: int
    size_reads: int
    size_reads_ms: float
    padded_runs: int
    bucket_note: str
    graph_captures: int
    between_ms: float
    segmented_ms: float
    builds: list[ProgramBuild]

class DeviceFacts:
    product: str
    driver: str
    cuda: str
    cudnn: str
    cublaslt: str

class Binding:
    def run(self, stream: int = 0, cancel: CancelFlag | None = None) -> None: ...
    def time_runs(self, runs: int) -> list[float]: ...
    @property
    def graph_note(self) -> str: ...

class Session:
    @staticmethod
    def load(path: str, options: SessionOptions) -> Session: ...
    @staticmethod
    def load_bytes(bytes: bytes, options: SessionOptions) -> Session: ...
    def run(self, inputs: Sequence[tuple[str, Tensor]], stream: int = 0, cancel: CancelFlag | None = None) -> list[Tensor]: ...
    def run_values(self, inputs: dict[str, Any], stream: int = 0, cancel: CancelFlag | None = None) -> list[Any]: ...
    def run_into(
        self, inputs: Sequence[tuple[str, Tensor]], outputs: Sequence[tuple[str, Tensor]], stream: int = 0, cancel: CancelFlag | None = None
    ) -> None: ...
    def warm_up(self, inputs: Sequence[tuple[str, Tensor]], runs_at_once: int) -> None: ...
    def bind(self, inputs: Sequence[tuple[str, Tensor]], outputs: Sequence[tuple[str, Tensor]]) -> Binding: ...
    def outputs_for(self, inputs: Sequence[tuple[str, Tensor]]) -> list[ValueInfo]: ...
    def profile(self, inputs: Sequence[tuple[str, Tensor]], runs: int) -> list[dict[str, Any]]: ...
    def check_partitions(self, inputs: Sequence[tuple[str, Tensor]]) -> list[dict[str, Any]]: ...
    def stats(self) -> SessionStats: ...
    @property
    def inputs(self) -> list[ValueInfo]: ...
    @property
    def outputs(self) -> list[ValueInfo]: ...
    @property
    def device(self) -> str: ...
    @property
    def device_id(self) -> int: ...
    @property
    def device_note(self) -> str: ...
    @property
    def device_facts(self) -> DeviceFacts: ...
    @property
    def precision(self) -> PrecisionChoice: ...

class BatcherStats:
    requests: int
    refused: int
    cancelled: int
    failed: int
    batches: int
    rows: int
    padding_rows: int
    queued_rows: int

class Batcher:
    def __init__(self, session: Session, max_batch: int, max_delay_s: float, batch_sizes: Sequence[int], max_queued: int, threads: int) -> None: ...
    def submit(
        self,
        inputs: Sequence[tuple[str, Tensor]],
        done: Callable[[list[Tensor] | None, int | None, str], object],
        timeout_s: float | None,
        cancel: CancelFlag | None,
    ) -> None: ...
    def stop(self) -> None: ...
    def stats(self) -> BatcherStats: ...
