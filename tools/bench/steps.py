"""steps.py --run RUN PROFILE...: the steps of the plans that ran, next to their roofline lower bounds.

A PROFILE is what onnx-cudnn-run MODEL --plan-cache PLANS --profile --json writes on the GPU: every step of the Program that the tuner ended with, timed
in its place. Writes results/steps-RUN.json: {run, device, date, timed, plans: [{model, precision, batch, run_us, steps: [{node, ops, engine, times, us,
floor_us, measured}]}]}; equal steps are listed once, with their number in `times` and their mean in `us`. RUN begins with a date.
"""

import argparse
import json
import pathlib
import re
import statistics

RESULTS = pathlib.Path(__file__).resolve().parent / "results"
TIMED = "in a profile of the plan that ran"


def steps_of(profile):
    """One step for each that launches, in launch order; equal ones are merged."""
    alike = {}  # by what makes steps equal
    for step in profile["steps"]:
        key = (tuple(step["ops"]), step["engine"], step["variant"], step["flops"], step["bytes"])
        alike.setdefault(key, []).append(step)
    merged = []
    for same in alike.values():
        first = same[0]
        named = zip(first["nodes"], first["ops"])
        node = next((node for node, op in named if op != "Cast"), first["nodes"][0])
        merged.append({"node": node, "ops": first["ops"], "engine": first["engine"], "times": len(same), "us": round(statistics.mean(step["us"] for step in same), 3),
                       "floor_us": round(first["floor_us"], 3), "measured": True})
    return merged


def plan_of(report):
    """The plan of one report of onnx-cudnn-run; an input's type is text such as "float[1,3,224,224]"."""
    batch = int(re.search(r"\[(\d+)", report["inputs"][0]["type"])[1])
    return {"model": pathlib.Path(report["model"]).stem, "precision": report["precision"], "batch": batch,
            "run_us": round(report["profile"]["run_us"], 3), "steps": steps_of(report["profile"])}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("profiles", type=pathlib.Path, nargs="+", metavar="PROFILE")
    parser.add_argument("--run", required=True)
    parser.add_argument("--device", default="h200")
    parser.add_argument("--output", type=pathlib.Path, help="default: results/steps-RUN.json")
    arguments = parser.parse_args()
    plans = [plan_of(json.loads(file.read_text())) for file in arguments.profiles]
    file = arguments.output or RESULTS / f"steps-{arguments.run}.json"
    content = {"run": arguments.run, "device": arguments.device, "date": arguments.run[:10], "timed": TIMED, "plans": plans}
    file.write_text(json.dumps(content, indent=1) + "\n")
    print(file)


if __name__ == "__main__":
    main()
