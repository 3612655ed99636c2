"""cpu.py [--model resnet50] [--runs N]: compares our CPU device with onnxruntime's CPU provider, in one run with equal numbers of threads.

Measures latency, set-up (from file to ready to run) and peak memory of set-up; prints ratios and writes results/cpu-DATE.json.
Run it with build/python/bin/python after tools/setup.sh and a build.
"""

import argparse
import datetime
import json
import os
import pathlib
import platform
import statistics
import subprocess
import sys
import threading
import uuid

ROOT = pathlib.Path(__file__).resolve().parents[2]
RESULTS = pathlib.Path(__file__).resolve().parent / "results"
RUN = ROOT / "build/bin/onnx-cudnn-run"
OPT = ROOT / "build/bin/onnx-cudnn-opt"
WARM_UP_MS = 1000

# Prints set-up seconds and every run's milliseconds; `import` and the input are made before the clock starts.
ONNXRUNTIME_PROGRAM = """
import json, sys, time
import numpy, onnxruntime
path, runs, threads, warm_up_ms = sys.argv[1], *map(int, sys.argv[2:])
sys.stdin.readline()
start = time.perf_counter()
options = onnxruntime.SessionOptions()
options.intra_op_num_threads = threads
session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
setup_s = time.perf_counter() - start
print("ready", flush=True)
name = session.get_inputs()[0].name
x = numpy.random.default_rng(0).standard_normal((1, 3, 224, 224), numpy.float32)
def run():
    start = time.perf_counter()
    session.run(None, {name: x})
    return 1e3 * (time.perf_counter() - start)
warm = 0
while warm < warm_up_ms:
    warm += run()
print(json.dumps({"setup_s": setup_s, "ms": [run() for _ in range(runs)]}), flush=True)
"""


def memory(pid):
    """Bytes of a process now: anonymous pages and mapped file pages apart; none when it has ended."""
    try:
        lines = pathlib.Path(f"/proc/{pid}/status").read_text().splitlines()
    except OSError:
        return None
    fields = dict(line.split(":", 1) for line in lines if ":" in line)
    if "RssAnon" not in fields:
        return None
    return {key: 1024 * int(fields[key].split()[0]) for key in ("RssAnon", "RssFile", "VmHWM")}


class PeakMemory:
    """The largest anonymous resident memory of a process, sampled about every millisecond until stopped."""

    def __init__(self, pid):
        self.peak, self.pid, self.done = 0, pid, threading.Event()
        self.thread = threading.Thread(target=self.sample)
        self.thread.start()

    def sample(self):
        while not self.done.wait(0.001):
            now = memory(self.pid)
            self.peak = max(self.peak, now["RssAnon"] if now else 0)

    def stop(self):
        self.done.set()
        self.thread.join()
        return self.peak


def run_onnxruntime(path, runs, threads):
    command = [sys.executable, "-c", ONNXRUNTIME_PROGRAM, str(path), str(runs), str(threads), str(WARM_UP_MS)]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    while not memory(process.pid) or "onnxruntime" not in pathlib.Path(f"/proc/{process.pid}/maps").read_text():
        pass
    subprocess.run(["sleep", "1"], check=True)  # its imports end and it waits for the line
    before = memory(process.pid)["RssAnon"]
    peak = PeakMemory(process.pid)
    process.stdin.write("\n")
    process.stdin.flush()
    assert process.stdout.readline() == "ready\n"
    peak_bytes = peak.stop() - before
    measured = json.loads(process.stdout.readline())
    process.wait()
    return {**measured, "peak_bytes": peak_bytes}


def run_ours(path, runs):
    """As run_onnxruntime; the peak is that of the whole process, so the first run's arena counts too."""
    command = [str(RUN), str(path), "--device", "cpu", "--input", "input=random", "--shape", "input=1x3x224x224"]
    command += ["--runs", str(runs), "--warm-up", str(WARM_UP_MS if runs else 0), "--json"]
    # A host may force OpenBLAS to use older instructions, which would not affect onnxruntime: let both choose by CPU.
    environment = {name: value for name, value in os.environ.items() if name != "OPENBLAS_CORETYPE"}
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment)
    peak = PeakMemory(process.pid)
    report = json.loads(process.stdout.read())
    peak_bytes = peak.stop()
    assert process.wait() == 0
    setup_ms = report["load_ms"] + report["optimize_ms"] + report["plan_ms"]
    return {"setup_s": setup_ms / 1e3, "ms": report.get("timing", {}).get("ms", []), "peak_bytes": peak_bytes}


def load_peak_bytes(path):
    """Peak memory of loading and rewriting alone."""
    process = subprocess.Popen([str(OPT), str(path), "-O2"], stdout=subprocess.DEVNULL)
    peak = PeakMemory(process.pid)
    assert process.wait() == 0
    return peak.stop()


def percentile(values, share):
    return sorted(values)[min(len(values) - 1, int(share * len(values)))]


def record(who, model, samples, common):
    """One line of results: latency over all runs of all samples, medians of set-up and memory over samples."""
    times = [ms for sample in samples for ms in sample["ms"]]
    return {
        "who": who,
        "model": model,
        "precision": "fp32",
        "batch": 1,
        "median_ms": statistics.median(times),
        "p99_ms": percentile(times, 0.99),
        "setup_s": statistics.median(sample["setup_s"] for sample in samples),
        "peak_bytes": int(statistics.median(sample["peak_bytes"] for sample in samples)),
        **common,
    }


def host():
    """What the figures depend on."""
    cpu = next(line.split(":")[1].strip() for line in open("/proc/cpuinfo") if line.startswith("model name"))
    commit = subprocess.run(["git", "-C", ROOT, "rev-parse", "HEAD"], stdout=subprocess.PIPE, text=True, check=False).stdout.strip()
    changed = subprocess.run(["git", "-C", ROOT, "status", "--porcelain"], stdout=subprocess.PIPE, text=True, check=False).stdout
    return {
        "device": f"{cpu}, {os.cpu_count()} cores",
        "threads": os.cpu_count(),
        "system": platform.platform(),
        "load_average": os.getloadavg()[0],
        "commit": commit + ("+changes" if changed else ""),
        "date": datetime.date.today().isoformat(),
        "run": uuid.uuid4().hex[:8],
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--model", default="resnet50", choices=("resnet18", "resnet50"))
    parser.add_argument("--runs", type=int, default=30, help="timed runs per process")
    parser.add_argument("--rounds", type=int, default=5, help="processes of each, in alternation")
    options = parser.parse_args()
    path = ROOT / "models" / f"{options.model}.onnx"
    if not path.exists():
        subprocess.run([sys.executable, ROOT / "models/make.py", options.model], check=True)
    import onnxruntime  # for its version alone

    common = host()
    theirs_name = f"onnxruntime {onnxruntime.__version__}"
    samples = {"onnx-cudnn": [], theirs_name: []}
    for _ in range(options.rounds):
        samples["onnx-cudnn"].append(run_ours(path, options.runs))
        samples[theirs_name].append(run_onnxruntime(path, options.runs, common["threads"]))
    loads = [load_peak_bytes(path) for _ in range(options.rounds)]
    ours, theirs = (record(who, options.model, found, common) for who, found in samples.items())
    ours["load_peak_bytes"] = int(statistics.median(loads))
    RESULTS.mkdir(exist_ok=True)
    file = RESULTS / f"cpu-{common['date']}.json"
    file.write_text(json.dumps([ours, theirs], indent=1) + "\n")
    for key, unit in (("median_ms", "ms"), ("p99_ms", "ms"), ("setup_s", "s"), ("peak_bytes", "bytes")):
        print(f"{key:10}  ours {ours[key]:.4g} {unit}  onnxruntime {theirs[key]:.4g} {unit}  ratio {ours[key] / theirs[key]:.2f}")
    for key in ("load_peak_bytes", "peak_bytes"):
        print(f"{key} of ours is {ours[key] / path.stat().st_size:.2f} times the file, mapped pages apart")
    print(file)


if __name__ == "__main__":
    main()
