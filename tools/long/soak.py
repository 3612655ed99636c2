"""soak.py [options] PROGRAM: 100,000 Runs by tests/soak in one process; if stopped, it starts again from the beginning."""

import json
import pathlib
import subprocess
import sys

from part import Part, fingerprint, parser_of

UNFINISHED = 2  # exit code


def run(program, runs, seconds):
    line = ""
    with subprocess.Popen([program, str(runs), str(max(1, round(min(seconds, 1e6))))], stdout=subprocess.PIPE, text=True) as process:
        for line in process.stdout:
            print(line, end="", flush=True)
    if process.returncode == UNFINISHED:
        return None
    return {"code": process.returncode, **(json.loads(line) if line.startswith("{") else {})}


def main():
    parser = parser_of(__doc__)
    parser.add_argument("program", type=pathlib.Path)
    parser.add_argument("--runs", type=int, default=100_000)
    options = parser.parse_args()
    part = Part("soak", options)
    key = f"{options.runs}-{fingerprint(options.program)}"
    answers = part.run([key], lambda _: run(options.program, options.runs, part.seconds_left()))
    failed = [f"ended with {a['code']}" for a in answers.values() if a["code"] != 0]
    sys.exit(part.finish(len(answers) - len(failed), failed, 1 - len(answers), answers.get(key, {})))


if __name__ == "__main__":
    main()
