"""python -m onnx_cudnn run|opt|bench|doctor|verify ARGUMENTS: the programs that the package holds, and verify."""

import os
import pathlib
import sys

_PROGRAMS = {
    "run": (["onnx-cudnn-run"], "runs a model"),
    "opt": (["onnx-cudnn-opt"], "optimizes a model, and explains how it will run"),
    "bench": (["onnx-cudnn-bench"], "measures a model"),
    "doctor": (["onnx-cudnn-run", "--doctor"], "says what this machine has and what is missing"),
}


def main() -> None:
    """Becomes the program; exit code 1 for wrong usage, 5 if the package was built without programs."""
    if len(sys.argv) > 1 and sys.argv[1] == "--version":
        sys.argv[1:] = ["run", "--version"]
    if sys.argv[1:2] == ["verify"]:
        from .verification import main as verify

        sys.exit(verify(sys.argv[2:]))
    if len(sys.argv) < 2 or sys.argv[1] not in _PROGRAMS:
        asked = len(sys.argv) > 1 and sys.argv[1] in ("-h", "--help")
        if len(sys.argv) > 1 and not asked:
            print(f"onnx_cudnn: unknown program {sys.argv[1]}", file=sys.stderr)
        print("usage: python -m onnx_cudnn PROGRAM [ARGUMENTS]", file=sys.stdout if asked else sys.stderr)
        for name, what in [*((name, what) for name, (_, what) in _PROGRAMS.items()), ("verify", "compares a model's outputs with onnxruntime's")]:
            print(f"  {name:8}{what}", file=sys.stdout if asked else sys.stderr)
        sys.exit(0 if asked else 1)
    _become(_PROGRAMS[sys.argv[1]][0], sys.argv[2:])


def run() -> None:
    """onnx-cudnn-run"""
    _become(_PROGRAMS["run"][0], sys.argv[1:])


def opt() -> None:
    """onnx-cudnn-opt"""
    _become(_PROGRAMS["opt"][0], sys.argv[1:])


def bench() -> None:
    """onnx-cudnn-bench"""
    _become(_PROGRAMS["bench"][0], sys.argv[1:])


def _become(words: list[str], arguments: list[str]) -> None:
    program, *first = words
    path = pathlib.Path(__file__).parent / "bin" / program
    if not path.exists():
        print(f"onnx_cudnn: found no program {path}: the package was built without programs", file=sys.stderr)
        sys.exit(5)
    os.execv(path, [program, *first, *arguments])


if __name__ == "__main__":
    main()
