"""Exports torch modules by both of torch's exporters."""

import dataclasses
import inspect
import warnings
from collections.abc import Callable

from architectures.example import EXPORTED, RUN, Input, Variant, arrays

SEED = 20
OPSETS = {"script": 17, "dynamo": 20}
SCRIPT, SCRIPT_SYMBOLIC, DYNAMO, DYNAMO_SYMBOLIC = "script", "script-symbolic", "dynamo", "dynamo-symbolic"


@dataclasses.dataclass(frozen=True)
class Network:
    make: Callable  # () -> module, with the weights that torch draws
    inputs: dict[str, Input]
    variants: tuple = (DYNAMO,)
    options: dict = dataclasses.field(default_factory=dict)  # of torch.onnx.export


def variants_of(package, networks):
    """The Variants of {name: Network}."""
    found = []
    for name, network in networks.items():
        for variant in network.variants:
            symbols = dict.fromkeys(s for value in network.inputs.values() for s in value.symbols().values()) if variant.endswith("symbolic") else {}
            exporter = "torch " + ("dynamo" if variant.startswith(DYNAMO) else "TorchScript")
            found.append(Variant(f"{name}.{variant}", package, exporter, tuple(symbols), writer(name, network, variant)))
    return found


def settle(module):
    """Moves statistics and scales of normalizations away from 1 and 0, and heads away from 0, where they start: no rewrite is right by accident then."""
    import torch

    for part in module.modules():
        if getattr(part, "running_var", None) is not None:
            part.running_mean.normal_(0, 0.1)
            part.running_var.uniform_(0.5, 1.5)
        if isinstance(part, torch.nn.Linear) and not part.weight.any():
            torch.nn.init.normal_(part.weight, 0, 0.1)
        if type(part).__name__ in ("LayerNorm", "BatchNorm2d", "GroupNorm") and getattr(part, "weight", None) is not None:
            with torch.no_grad():
                part.weight.uniform_(0.8, 1.2)
                part.bias is not None and part.bias.normal_(0, 0.1)


def by_position(forward, values):
    """A tuple of values, one for each input, in the form of the arguments of `forward`: those of *rest in a tuple of their own."""
    kinds = [parameter.kind for parameter in inspect.signature(forward).parameters.values()]
    if inspect.Parameter.VAR_POSITIONAL not in kinds:
        return values
    plain = kinds.index(inspect.Parameter.VAR_POSITIONAL)
    return (*values[:plain], tuple(values[plain:]))


def writer(name, network, variant):
    def write(path):
        import torch

        torch.manual_seed(SEED)
        torch.backends.mha.set_fastpath_enabled(False)  # its op has no form in ONNX
        module = network.make().eval()
        settle(module)
        exported = arrays(name, network.inputs, EXPORTED)
        tensors = tuple(torch.from_numpy(array) for array in exported.values())
        symbolic = variant.endswith("symbolic")
        options = {"input_names": list(network.inputs), "opset_version": OPSETS[variant.split("-")[0]], **network.options}
        with warnings.catch_warnings(), torch.no_grad():
            warnings.simplefilter("ignore")
            if variant.startswith(DYNAMO):
                if symbolic:
                    options["dynamic_shapes"] = by_position(module.forward, tuple(value.symbols() or None for value in network.inputs.values()))
                torch.onnx.export(module, tensors, str(path), dynamo=True, external_data=False, verbose=False, **options)
            else:
                if symbolic:
                    options["dynamic_axes"] = {key: value.symbols() for key, value in network.inputs.items() if value.symbols()}
                torch.onnx.export(module, tensors, str(path), dynamo=False, **options)
        return arrays(name, network.inputs, RUN) if symbolic else exported

    return write


def outputs_of(make, names, outputs, **constants):
    """A function that makes a module of transformers which takes inputs by position and returns a tuple of these outputs."""

    def wrapped():
        import torch

        class Positional(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.inner = make()

            def forward(self, *values):
                answer = self.inner(**dict(zip(names, values, strict=True)), **constants)
                return tuple(answer[key] for key in outputs)

        return Positional()

    return wrapped
