"""zoo.py --folder FOLDER [--table TABLE] [--deadline SECONDS] [NAME...]: builds models of many architectures, with random weights from fixed seeds, from
the packages of build/zoo/environment, which tools/test.sh --long=zoo makes. Without names: all that FOLDER lacks or that were made by other code.

Of each it writes NAME.onnx, NAME.npz (inputs to run it with) and at last NAME.json: {"package", "exporter", "symbols", "made_of", "opset", "nodes",
"seconds"}, or {"error"} for one that its exporter does not write. --list prints a line for each. The tables are in models/architectures.
"""

import argparse
import hashlib
import importlib
import json
import os
import pathlib
import random
import time
import traceback

HERE = pathlib.Path(__file__).resolve().parent
PINS = HERE.parent / "build/python/zoo-packages.txt"
TABLES = (
    "vision_networks", "detectors", "timm_networks", "text_networks", "multimodal_networks", "further_networks", "layers", "classic", "tensorflow_networks",
    "paddle_networks", "rewritten",
)  # fmt: skip
COMMON = ("example", "torch_export")
# Tables whose models are made of others'.
ABOVE = {"detectors": ("vision_networks",), "multimodal_networks": ("text_networks",), "further_networks": ("text_networks", "multimodal_networks"),
         "rewritten": ("vision_networks", "text_networks", "multimodal_networks", "layers")}  # fmt: skip
# Nothing is fetched and no GPU is looked for.
ENVIRONMENT = {"HF_HUB_OFFLINE": "1", "CUDA_VISIBLE_DEVICES": "", "TF_CPP_MIN_LOG_LEVEL": "3", "TOKENIZERS_PARALLELISM": "false"}


def variants_of(table):
    """{name: Variant} of a table."""
    found = list(importlib.import_module(f"architectures.{table}").variants())
    variants = {variant.name: variant for variant in found}
    assert len(variants) == len(found), f"{table}: two variants have one name"
    return variants


def made_of(table):
    """Hash of everything that a table's models follow from."""
    digest = hashlib.sha1()
    for name in (*COMMON, *ABOVE.get(table, ()), table):
        digest.update((HERE / "architectures" / f"{name}.py").read_bytes())
    digest.update(PINS.read_bytes())
    return digest.hexdigest()[:12]


def known(folder, name, made):
    """What NAME.json says, if it was written by this code."""
    answer = folder / f"{name}.json"
    facts = json.loads(answer.read_text()) if answer.exists() else {}
    return facts if facts.get("made_of") == made else None


def facts_of(path):
    import onnx

    model = onnx.load(path, load_external_data=False)
    opset = max((one.version for one in model.opset_import if one.domain in ("", "ai.onnx")), default=None)
    return {"opset": opset, "nodes": len(model.graph.node), "inputs": [value.name for value in model.graph.input]}


def build(variant, folder):
    """Writes the model and its inputs; returns their facts."""
    import numpy as np

    path = folder / f"{variant.name}.onnx"
    random.seed(0)
    np.random.seed(0)
    try:
        inputs = variant.write(path)
        facts = facts_of(path)
        # An exporter leaves out inputs that nothing reads.
        taken = facts.pop("inputs")
        np.savez(path.with_suffix(".npz"), **{name: array for name, array in inputs.items() if name in taken})
    except Exception as error:  # noqa: BLE001: whatever an exporter throws is the answer
        traceback.print_exc()
        return {"error": f"{type(error).__name__}: {' '.join(str(error).split())}"[:300]}
    return facts


def build_missing(table, options):
    variants, made = variants_of(table), made_of(table)
    for name in options.names or variants:
        if name not in variants or (not options.names and known(options.folder, name, made)) or time.time() > options.deadline:
            continue
        answer = options.folder / f"{name}.json"
        variant = variants[name]
        head = {"package": variant.package, "exporter": variant.exporter, "symbols": variant.symbols, "made_of": made}
        answer.write_text(json.dumps({**head, "error": "the exporter ended the process"}))
        began = time.monotonic()
        facts = {**build(variant, options.folder), "seconds": round(time.monotonic() - began, 1)}
        print(f"{name}: {facts.get('error', 'written')}, {facts['seconds']} s", flush=True)
        answer.write_text(json.dumps({**head, **facts}))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--folder", type=pathlib.Path, default=HERE.parent / "build/zoo/models")
    parser.add_argument("--table", choices=TABLES, help="default: each")
    parser.add_argument("--deadline", type=float, default=float("inf"), help="time after which no model is begun, in seconds since 1970")
    parser.add_argument("--list", action="store_true")
    parser.add_argument("names", nargs="*")
    options = parser.parse_args()
    os.environ.update(ENVIRONMENT)
    options.folder.mkdir(parents=True, exist_ok=True)
    for table in [options.table] if options.table else TABLES:
        if options.list:
            for variant in variants_of(table).values():
                print(variant.name, variant.package, variant.exporter, " ".join(variant.symbols), sep="\t")
        else:
            build_missing(table, options)


if __name__ == "__main__":
    main()
