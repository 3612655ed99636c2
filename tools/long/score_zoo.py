"""score_zoo.py [options] PROGRAMS: builds the zoo of architectures (models/zoo.py) in an environment of its own, scores each model with the onnx-cudnn-run and
onnx-cudnn-opt in the folder PROGRAMS, and compares the scores with models/zoo.json: a model that drops fails. --update writes models/zoo.json and
docs/zoo.md from the scores of this run. Without a change of packages, tables or programs nothing is done again."""

import json
import pathlib
import subprocess
import sys
import time

from environment import environment
from part import ROOT, Part, fingerprint, parser_of

sys.path.append(str(ROOT / "models"))
import zoo as models  # noqa: E402
from model_score import drops, score  # noqa: E402
from zoo_table import page  # noqa: E402

FOLDER = ROOT / "build/zoo"
EXPECTED = ROOT / "models/zoo.json"
PAGE = ROOT / "docs/zoo.md"
SOURCES = [pathlib.Path(__file__).with_name("model_score.py"), ROOT / "tests/e2e/agreement_test.py"]


def tables():
    """{name of a model: its table}"""
    return {name: table for table in models.TABLES for name in models.variants_of(table)}


def build(deadline):
    """Builds what is missing, a process for each table: packages of one table may not bear another's. A process that its exporter ended is begun again."""
    torch = environment(ROOT / "build/torch/environment", ROOT / "build/python/torch-packages.txt")
    python = environment(FOLDER / "environment", models.PINS, below=torch)
    folder = FOLDER / "models"
    for table in models.TABLES:
        names, made = list(models.variants_of(table)), models.made_of(table)
        while any(models.known(folder, name, made) is None for name in names) and time.time() < deadline:
            subprocess.run([python, ROOT / "models/zoo.py", "--folder", folder, "--table", table, "--deadline", str(deadline)], check=False,
                           stderr=subprocess.DEVNULL)


def answer(name, programs):
    """The score of a model, with what models/zoo.py says of it."""
    facts = json.loads((FOLDER / "models" / f"{name}.json").read_text())
    kept = {key: facts[key] for key in ("package", "exporter", "symbols", "opset", "nodes") if key in facts}
    if "error" in facts:
        return {**kept, "runs": False, "reason": f"not exported: {facts['error']}"}
    path = FOLDER / "models" / f"{name}.onnx"
    found = {**kept, **score(programs, path, path.with_suffix(".npz"))}
    print(f"{name}: {found.get('reason', 'agrees')}", flush=True)
    return found


def main():
    parser = parser_of(__doc__)
    parser.add_argument("--update", action="store_true")
    parser.add_argument("programs", type=pathlib.Path)
    options = parser.parse_args()
    part = Part("zoo", options)
    build(options.deadline)
    made = {table: models.made_of(table) for table in models.TABLES}
    code = fingerprint(*SOURCES, *(options.programs / name for name in ("onnx-cudnn-run", "onnx-cudnn-opt")))
    keys = {f"{name}-{made[table]}-{code}": name for name, table in tables().items()}
    built = {key: name for key, name in keys.items() if models.known(FOLDER / "models", name, made[tables()[name]])}
    answers = part.run(list(built), lambda key: answer(built[key], options.programs))
    scores = {built[key]: found for key, found in answers.items()}
    left = len(keys) - len(scores)
    if options.update and not left:
        EXPECTED.write_text(json.dumps(scores, indent=1, sort_keys=True) + "\n")
        PAGE.write_text(page(scores))
    expected = json.loads(EXPECTED.read_text()) if EXPECTED.exists() else {}
    worse = [f"{name}: {words}" for name, found in scores.items() if (words := drops(found, expected.get(name)))]
    gone = [f"{name}: in {EXPECTED.name}, but no longer built" for name in expected if name not in keys.values()]
    sys.exit(part.finish(len(scores) - len(worse), worse + gone, left, {"models": scores}))


if __name__ == "__main__":
    main()
