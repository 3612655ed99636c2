"""ray_serve.py [options] PACKAGES: runs tests/serving/ray_serve with the package in the folder PACKAGES: Ray Serve and Ray Data on one node, two nodes, and an
open-loop load whose answers are all checked. In an environment with Ray that it makes in build/ray once (build/python/ray-packages.txt), above torch's if
tools/test.sh --long=torch has made that. Ray listens on more than loopback, so each unit has a network namespace and a PID namespace, which end with it: as root,
or where users may make namespaces."""

import json
import os
import pathlib
import shutil
import subprocess
import sys

from environment import environment, packages_of
from part import ROOT, Part, fingerprint, parser_of, with_library
from suite import run_suite, versions_of, with_package

PINS = ROOT / "build/python/ray-packages.txt"
TORCH = ROOT / "build/torch/environment/bin/python"
TESTS = ROOT / "tests/serving/ray_serve"
UNIT_SECONDS = 600  # of an overloaded host: each takes one or two minutes of an idle one
# Ray sends nothing, writes no token to the home folder, gives its workers no less of the host than others have, and waits for replicas that are slow to answer
# since two cores have many processes.
SETTINGS = {"RAY_USAGE_STATS_ENABLED": "0", "RAY_AUTH_MODE": "disabled", "RAY_worker_niceness": "0", "RAY_SERVE_QUEUE_LENGTH_RESPONSE_DEADLINE_S": "2",
            "RAY_SERVE_MAX_QUEUE_LENGTH_RESPONSE_DEADLINE_S": "10"}  # fmt: skip
# The first process of the namespace is a shell, since Ray's processes end when their parent is process 1. Loopback is down at first.
INSIDE = """
"$0" -c 'import fcntl, socket, struct
with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
    fcntl.ioctl(s, 0x8914, struct.pack("16sH14x", b"lo", 0x41))' && "$@"
exit $?"""


def namespace(python, seconds):
    """The words before a command that runs it in namespaces of its own, for so many seconds at most."""
    user = [] if os.geteuid() == 0 else ["--map-root-user"]
    return ["timeout", "-k", "5", str(seconds), "unshare", *user, "--net", "--pid", "--fork", "--mount-proc", "--kill-child", "sh", "-c", INSIDE, str(python)]


def check_load(python, options):
    """One unit: facts of load.py, and what failed."""
    command = [*namespace(python, UNIT_SECONDS + options.seconds), python, "load.py", str(options.seconds), str(options.qps)]
    done = subprocess.run(command, cwd=TESTS, env=with_package(options.packages), stdout=subprocess.PIPE, text=True, check=False)
    lines = [line for line in done.stdout.splitlines() if line.startswith("{")]
    facts = json.loads(lines[-1]) if lines else {"failed": [f"load ended with {done.returncode}"]}
    failed = facts.pop("failed")
    print(json.dumps(facts), flush=True)
    return {"passed": [] if failed else ["load"], "failed": failed, "skipped": {}, "facts": facts}


def check(unit, options):
    """The answer of a unit: "load", or a file of tests."""
    python = environment(ROOT / "build/ray/environment", PINS)
    packages_of(python).joinpath("below.pth").write_text(f"{packages_of(TORCH)}\n" if TORCH.exists() else "")
    os.environ.update(SETTINGS)
    if unit == "load":
        return check_load(python, options)
    return run_suite(python, TESTS / f"{unit}.py", options.packages, namespace(python, UNIT_SECONDS))


def main():
    parser = parser_of(__doc__)
    parser.add_argument("packages", type=pathlib.Path)
    parser.add_argument("--seconds", type=int, default=60, help="how long requests are sent; 600 for ten minutes")
    parser.add_argument("--qps", type=float, default=40, help="requests a second, of a Poisson process")
    options = parser.parse_args()
    part = Part("ray", options)
    if shutil.which("unshare") is None:
        sys.exit("ray_serve.py: needs the program unshare (util-linux)")
    sources = [*sorted(ROOT.glob("python/onnx_cudnn/*.py")), *sorted(TESTS.glob("*.py")), ROOT / "tests/python/models.py", ROOT / "examples/deploy/rayservice.yaml", PINS,
               *(file for core in sorted(options.packages.glob("onnx_cudnn/_core*.so")) for file in with_library(core))]  # fmt: skip
    made_of = fingerprint(*sources, f"{options.seconds} {options.qps} {TORCH.exists()}")
    units = {f"{unit}-{made_of}": unit for unit in ("serve_test", "cluster_test", "load")}
    answers = part.run(units, lambda key: check(units[key], options))
    passed, failed, skipped, facts = [], [], {}, {}
    for key, answer in answers.items():
        passed, failed, skipped = [*passed, *answer["passed"]], [*failed, *answer["failed"]], {**skipped, **answer["skipped"]}
        facts.update(answer.get("facts", {}))
        if answer["failed"]:
            part.forget(key)
    for test, why in skipped.items():
        print(f"skipped: {test}: {why}")
    told = {"tests": passed, "skipped_tests": skipped, "load": facts}
    if answers:
        told["versions"] = versions_of(ROOT / "build/ray/environment/bin/python", "ray", "numpy", "onnx", "torch", "tritonclient")
    sys.exit(part.finish(len(passed), failed, len(units) - len(answers), told, len(skipped)))


if __name__ == "__main__":
    main()
