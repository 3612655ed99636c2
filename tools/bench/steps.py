"""steps.py PLANS [--model resnet50] [--batches 1,256]: compares the times of a tuned network's steps with their roofline lower bounds.

PLANS is the plan cache that the tuner wrote, results/plans-RUN.json. onnx-cudnn-opt reports the partitions and lower bounds on the H200,
the cache the fastest measured time of each partition (from any engine, matched by ops, types, formats and products). Writes
results/steps-RUN.json: {run, device, date, plans: [{model, precision, batch, steps: [{node, ops, engine, times, us, floor_us,
measured}]}]}, equal steps are listed once, with their number in `times`; us is predicted if `measured` is false. Run it with
build/python/bin/python after a build.
"""

import argparse
import json
import math
import pathlib
import re
import subprocess
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
OPT = ROOT / "build/bin/onnx-cudnn-opt"
RESULTS = pathlib.Path(__file__).resolve().parent / "results"
AXES = {"NHWC": (0, 2, 3, 1), "NCHW": (0, 1, 2, 3)}  # from outer to inner


def dims(tensor_type):
    """The dims in text such as "f16[1,64,56,56]"."""
    return [int(extent) for extent in tensor_type[tensor_type.index("[") + 1 : -1].split(",") if extent]


def operand(tensor_type, placement):
    return f"{tensor_type} at {placement.strip()}"


def explained_key(partition):
    """(ops, inputs, outputs) of a partition of --explain, as entry_key."""

    def operands(side):
        for value in partition[side]:
            extents = dims(value["type"])
            axes = AXES.get(value["format"], range(len(extents)))
            yield operand(value["type"], " ".join(f"{axis}:{extents[axis]}" for axis in axes if extents[axis] > 1))

    return tuple(partition["ops"]), tuple(sorted(operands("inputs"))), tuple(sorted(operands("outputs")))


def entry_key(signature):
    """(ops, inputs, outputs) of a plan cache's signature; an operand is its type and its axes from outer to inner."""
    types = dict(re.findall(r"(%\d+)[#!](\w+\[[\d,]*\])", signature))
    inputs, outputs = signature.rsplit("\nin ", 1)[1].split(" out ")

    def operands(text):
        return tuple(sorted(operand(types[name], axes) for name, axes in re.findall(r"(%\d+)@device\(([^)]*)\)", text)))

    return tuple(re.findall(r"^:(\w+)\.\d+\(", signature, re.MULTILINE)), operands(inputs), operands(outputs)


def product_flops(signature):
    """The weights of its convolutions and Gemms: result types alone do not distinguish 1x1 from 3x3."""
    types = dict(re.findall(r"(%\d+)[#!](\w+\[[\d,]*\])", signature))
    flops = 0
    for op, weight, result in re.findall(r"^:(Conv|Gemm)\.\d+\(%\d+[^%]*(%\d+).*->(%\d+)", signature, re.MULTILINE):
        results = dims(types[result])
        places = results[0] * math.prod(results[2:]) if op == "Conv" else results[0]  # each meets every weight once
        flops += 2 * places * math.prod(dims(types[weight]))
    return flops


def measured_steps(partitions, entries):
    """One step for each partition with a launch, in launch order; equal ones are merged."""
    by_key = {}
    for entry in entries:
        by_key.setdefault(entry_key(entry["signature"]), []).append((entry, product_flops(entry["signature"])))
    steps = {}
    for partition in partitions:
        if not partition["launches"]:
            continue
        alike = by_key.get(explained_key(partition), [])
        same = [entry for entry, flops in alike if flops == 0 or 0.9 * partition["flops"] < flops <= partition["flops"]]
        best = min(same, key=lambda entry: entry["us"], default=partition)
        named = zip(partition["nodes"], partition["ops"])
        node = next((node for node, op in named if op != "Cast"), partition["nodes"][0])
        step = {"node": node, "ops": partition["ops"], "engine": best["engine"], "times": 0, "us": round(best["us"], 3),
                "floor_us": round(partition["floor_us"], 3), "measured": bool(same)}
        key = (*step["ops"], step["engine"], step["us"], step["floor_us"])
        steps.setdefault(key, step)["times"] += 1
    return list(steps.values())


def explain(model, precision, batch):
    """The partitions of models/MODEL.onnx on the H200."""
    with tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder, "explained.json")
        command = [OPT, ROOT / "models" / f"{model}.onnx", "--explain", "--target", "h200", "--partitioner", "cost", "--precision", precision]
        subprocess.run([*command, "--shape", f"{batch}x3x224x224", "--json", file], check=True, stdout=subprocess.DEVNULL)
        return json.loads(file.read_text())["partitions"]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("plans", type=pathlib.Path)
    parser.add_argument("--model", default="resnet50")
    parser.add_argument("--precision", default="fp16")
    parser.add_argument("--batches", default="1,256")
    arguments = parser.parse_args()
    entries = [entry for entry in json.loads(arguments.plans.read_text())["entries"] if entry["engine"] != "network"]
    plans = []
    for batch in map(int, arguments.batches.split(",")):
        steps = measured_steps(explain(arguments.model, arguments.precision, batch), entries)
        plans.append({"model": arguments.model, "precision": arguments.precision, "batch": batch, "steps": steps})
        count = sum(step["times"] for step in steps if step["measured"])
        print(f"batch {batch}: {count} of {sum(step['times'] for step in steps)} steps were measured")
    newest = max(entries, key=lambda entry: entry["date"])
    run = arguments.plans.stem.removeprefix("plans-")
    file = RESULTS / f"steps-{run}.json"
    file.write_text(json.dumps({"run": run, "device": newest["device"], "date": newest["date"], "plans": plans}, indent=1) + "\n")
    print(file)


if __name__ == "__main__":
    main()
