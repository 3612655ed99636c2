"""What this machine can run models on."""

import functools

from . import _core

# A serialized model of one Identity on an f32 scalar.
_IDENTITY = bytes.fromhex(
    "08083a2f0a100a017812017922084964656e746974791201675a0b0a017812060a0408011200620b0a017912060a040801120042040a00100d"
)


@functools.cache
def _device() -> str:
    return str(_core.Session.load_bytes(_IDENTITY, _core.SessionOptions()).device)


def get_available_providers() -> list[str]:
    """["CPUExecutionProvider"], after "CUDAExecutionProvider" if a GPU can be used. The first call opens the GPU."""
    return ["CUDAExecutionProvider", "CPUExecutionProvider"] if _device() == "cuda" else ["CPUExecutionProvider"]


def get_device() -> str:
    """"GPU" or "CPU"."""
    return "GPU" if _device() == "cuda" else "CPU"
