"""golden_test.py ONNX-CUDNN-OPT [CASE …] [--write]: compares the whole output of --explain with tests/golden.

A case is MODEL (on h200) or MODEL@TARGET; default: every case. Transformers are made by models/make_transformer.py. --write replaces the golden files."""

import argparse
import difflib
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / "models"))

import make_transformer  # noqa: E402

COLUMNS, LINES = 120, 120  # of output: two screens

# {stem of the model's file: flags}
FLAGS = {
    "open-nsfw": [],
    "PP-OCRv6_det_small": ["--shape", "1x3x448x512"],
    "resnet50": ["--shape", "1x3x224x224"],
}
# {name of models/make_transformer.py: the most launches}
TRANSFORMERS = {"bert": 16, "convnext": 80, "llama": 19, "swin": 120, "vit": 90}
# GPUs whose prices are rooflines of published peaks.
TARGETS = ["h100", "a100", "a10", "l4", "rtx4090", "b200"]


def explain(tool, case):
    model, _, target = case.partition("@")
    with tempfile.TemporaryDirectory() as folder:
        is_made = model in TRANSFORMERS
        path = make_transformer.write(model, folder) if is_made else ROOT / "models" / f"{model}.onnx"
        flags = ["--precision", "fp16"] if is_made else ["--precision", "strict", *FLAGS[model]]
        command = [tool, path, "--explain", "--target", target or "h200", *flags]
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def check(tool, case, golden):
    """An error in one line, or None."""
    found = explain(tool, case).splitlines()
    expected = golden.read_text().splitlines()
    if found != expected:
        return "\n".join(difflib.unified_diff(expected, found, str(golden), "found", lineterm=""))
    if any(len(line) > COLUMNS for line in found):
        return f"{golden}: a line has more than {COLUMNS} columns"
    launches = int(re.search(r"(\d+) launches", "\n".join(found)).group(1))
    if launches > TRANSFORMERS.get(case, launches):
        return f"{golden}: {launches} launches, expected at most {TRANSFORMERS[case]}"
    if case.startswith("resnet50") and len(found) > LINES:
        return f"{golden}: {len(found)} lines, expected at most {LINES}"
    return None


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("tool")
    parser.add_argument("cases", nargs="*")
    parser.add_argument("--write", action="store_true")
    arguments = parser.parse_args()
    complaints = []
    for case in arguments.cases or [*FLAGS, *TRANSFORMERS, *(f"resnet50@{target}" for target in TARGETS)]:
        golden = ROOT / "tests" / "golden" / f"explain-{case.replace('@', '-')}.txt"
        if arguments.write:
            golden.parent.mkdir(exist_ok=True)
            golden.write_text(explain(arguments.tool, case))
        else:
            complaints.append(check(arguments.tool, case, golden))
    complaints = [complaint for complaint in complaints if complaint]
    print("\n".join(complaints))
    sys.exit(bool(complaints))


if __name__ == "__main__":
    main()
