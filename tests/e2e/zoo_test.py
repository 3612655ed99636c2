"""zoo_test.py PROGRAMS [NAME …] [--update]: scores models of models/small (default: all), as tools/test.sh --long=zoo does for the whole zoo; exit code 1 if one
is worse than models/small/scores.json says. --update writes that file."""

import argparse
import json
import pathlib
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path += [str(ROOT / "tools/long"), str(ROOT / "models")]

import small  # noqa: E402
from model_score import drops, score  # noqa: E402

SCORES = small.SMALL / "scores.json"


def scored(programs, name):
    with tempfile.TemporaryDirectory() as folder:
        return score(programs, *small.fill(name, pathlib.Path(folder)))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("programs", type=pathlib.Path)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--update", action="store_true")
    options = parser.parse_args()
    names = options.names or sorted(file.stem for file in small.SMALL.glob("*.onnx"))
    found = {name: scored(options.programs, name) for name in names}
    expected = json.loads(SCORES.read_text()) if SCORES.exists() else {}
    if options.update:
        expected = {**expected, **found}
        SCORES.write_text(json.dumps(expected, indent=1, sort_keys=True) + "\n")
    for name, row in found.items():
        print(name, row)
    failed = [f"{name}: {words}" for name, row in found.items() if (words := drops(row, expected.get(name)))]
    print("\n".join(failed))
    sys.exit(bool(failed))


if __name__ == "__main__":
    main()
