"""builds.py --before FOLDER --after FOLDER: checks whether two builds run the ResNets equally fast, on one GPU, in one run.

Each FOLDER has the `onnx-cudnn-bench` of one build. Both run in alternation, --rounds times; for each network the round with the smallest
median counts. Prints one line per network, writes both builds' records to --output, and exits with 4 if a median of `after` is above
--limit times that of `before`.
"""

import argparse
import json
import pathlib
import subprocess
import sys
import tempfile

NETWORK = ("model", "precision", "partitioner", "batch")
SLOWER = 4


def run(folder, commit, arguments):
    """The records of one run of a build's onnx-cudnn-bench."""
    with tempfile.TemporaryDirectory() as scratch:
        output = pathlib.Path(scratch, "records.json")
        command = [pathlib.Path(folder, "onnx-cudnn-bench"), *arguments, "--commit", commit, "--output", output]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        return json.loads(output.read_text())


def least(rounds):
    """{network: its record of least median} of several runs' records."""
    best = {}
    for records in rounds:
        for record in records:
            network = tuple(record[key] for key in NETWORK)
            if network not in best or record["median_ms"] < best[network]["median_ms"]:
                best[network] = record
    return best


def compare(before, after, limit):
    """(lines, whether none is above `limit`) of two results of least()."""
    lines, holds = [], before.keys() == after.keys()
    if not holds:
        lines.append("the builds measured different networks")
    for network in sorted(before.keys() & after.keys()):
        old, new = before[network]["median_ms"], after[network]["median_ms"]
        verdict = "" if new <= limit * old else f"  slower than {limit:g}"
        holds = holds and not verdict
        lines.append(f"{' '.join(map(str, network)):32} before {old:.4f} ms  after {new:.4f} ms  ratio {new / old:.4f}{verdict}")
    return lines, holds


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--before", required=True, help="folder of the older build's programs")
    parser.add_argument("--after", required=True, help="folder of the newer build's programs")
    parser.add_argument("--commits", default="before,after", help="of the two builds")
    parser.add_argument("--models", default="models/resnet18.onnx,models/resnet50.onnx")
    parser.add_argument("--batches", default="1,32,256")
    parser.add_argument("--precisions", default="fp16")
    parser.add_argument("--seconds", default="1", help="of throughput, for each network")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--limit", type=float, default=1.01)
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--run", default="builds", help="the run's name in the records")
    parser.add_argument("--output", type=pathlib.Path)
    options = parser.parse_args()
    arguments = [*options.models.split(","), "--device", options.device, "--precisions", options.precisions, "--batches", options.batches]
    arguments += ["--seconds", options.seconds, "--run", options.run]
    rounds = {"before": [], "after": []}
    commits = dict(zip(rounds, options.commits.split(","), strict=True))
    for _ in range(options.rounds):
        for build in rounds:
            rounds[build].append(run(getattr(options, build), commits[build], arguments))
    before, after = least(rounds["before"]), least(rounds["after"])
    lines, holds = compare(before, after, options.limit)
    print("\n".join(lines))
    if options.output:
        options.output.write_text(json.dumps([*before.values(), *after.values()], indent=1) + "\n")
    sys.exit(0 if holds else SLOWER)


if __name__ == "__main__":
    main()
