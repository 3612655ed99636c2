"""check_time_test.py RUN: `onnx-cudnn-run resnet50.onnx --check` answers within a second. The fastest of several counts: other tests run beside it."""

import pathlib
import subprocess
import sys
import time

MODEL = pathlib.Path(__file__).resolve().parents[2] / "models/resnet50.onnx"
LIMIT_S, TRIES = 1, 5


def seconds_of(program):
    start = time.monotonic()
    done = subprocess.run([program, MODEL, "--check"], capture_output=True, text=True, check=True)
    if "runs    yes" not in done.stdout:
        sys.exit(f"--check says\n{done.stdout}")
    return time.monotonic() - start


def main():
    fastest = min(seconds_of(sys.argv[1]) for _ in range(TRIES))
    print(f"{fastest:.2f} s")
    sys.exit(0 if fastest < LIMIT_S else f"expected less than {LIMIT_S} s")


if __name__ == "__main__":
    main()
