"""peers.py --output FILE [--who onnx-cudnn,torch-compile]: measures us and our peers on the same networks, in one run on one machine, as one JSON list.

Records have the format of onnx-cudnn-bench; all share one run id. A program that is not installed is left out; a configuration that fails or
takes too long is recorded as {who, model, precision, batch, run, error}, and the run continues. FILE is written after each configuration.
With --control the first record is that of a cell which tells whether this machine runs as another one did. Exit code 1: nothing was measured, or the
control cell differs.
"""

import argparse
import datetime
import importlib
import itertools
import json
import multiprocessing
import os
import pathlib
import shlex
import signal
import subprocess
import sys
import typing
import uuid

from timing import dims_of

ROOT = pathlib.Path(__file__, "../../..").resolve()
OURS = "onnx-cudnn"
MODULES = {"torch": "torch_peer", "torch-graph": "torch_peer", "torch-compile": "torch_peer",
           "torch-reduce-overhead": "torch_peer", "onnxruntime-cuda": "onnxruntime_peer"}
START_S = 120  # for importing a peer and creating its CUDA context
LIMIT_S = 300  # for a configuration
NO_GPU = 5  # onnx-cudnn-bench's exit code
CONTROL_FLAGS = ["--partitioner", "cost", "--tune-budget", "8"]
CONTROL_SHARE = 0.03  # by which a control cell may differ


class Configuration(typing.NamedTuple):
    who: str
    model: str
    precision: str
    batch: int
    threads: int = 1  # callers of the back-to-back runs

    def fields(self):
        """Those of its records."""
        return {name: value for name, value in self._asdict().items() if name != "threads" or value > 1}


CONTROL = Configuration(OURS, "resnet50", "fp16", 1)


class LeftOut(Exception):
    """Why a program cannot run on this host at all."""


def work(connection, module, configurations, seconds, model_folder):
    """Runs in a separate process: sends the fields that the records share, then the figures of each configuration; a reason (str) ends it."""
    try:
        peer = importlib.import_module(module)
        connection.send(peer.about())
        for configuration in configurations:
            connection.send(peer.measure_one(configuration, seconds, model_folder))
    except Exception as error:  # a peer may raise anything
        connection.send(f"{type(error).__name__}: {error}".splitlines()[0])


def receive(process, connection, limit_s):
    """The worker's next message, or why there is none (str)."""
    if not connection.poll(limit_s):
        return f"took longer than {limit_s:g} s"
    try:
        return connection.recv()
    except EOFError:
        process.join()
        return f"its process ended with exit code {process.exitcode}"


def measure_peer(module, configurations, limit_s, seconds, model_folder):
    """Yields figures or a reason (str) for each configuration; starts a new process for the first one and after each reason. Raises LeftOut."""
    context = multiprocessing.get_context("spawn")
    left = list(configurations)
    while left:
        here, there = context.Pipe(duplex=False)
        process = context.Process(target=work, args=(there, module, left, seconds, model_folder))
        process.start()
        there.close()
        try:
            about = receive(process, here, START_S)
            if isinstance(about, str):
                raise LeftOut(about)
            found = {}
            while left and not isinstance(found, str):
                found = receive(process, here, limit_s)
                left.pop(0)
                yield found if isinstance(found, str) else {**found, **about}
        finally:
            process.kill()
            process.join()


def measure_ours(configurations, bench, flags, seconds, model_folder):
    """As measure_peer, with one call of onnx-cudnn-bench per configuration."""
    if not bench.exists():
        raise LeftOut(f"no {bench}")
    for _, model, precision, batch, threads in configurations:
        shape = "x".join(map(str, dims_of(model, batch)))
        command = [bench, model_folder / f"{model}.onnx", "--device", "cuda", "--precisions", precision, "--batches", str(batch), "--shapes", shape]
        if threads > 1:
            command += ["--threads", str(threads)]
        try:
            done = subprocess.run([*command, "--seconds", str(seconds), *flags], capture_output=True, text=True, timeout=LIMIT_S, check=False)
        except subprocess.TimeoutExpired:
            yield f"took longer than {LIMIT_S:g} s"
            continue
        said = (done.stderr.strip().splitlines() or [""])[-1]
        if done.returncode == NO_GPU:
            raise LeftOut(said)
        yield said or f"exit code {done.returncode}" if done.returncode else json.loads(done.stdout)[0]


def measure_all(arguments, shared, save):
    """All records; calls save(records) after each addition."""
    records = []
    for who in arguments.who:
        configurations = [Configuration(who, *rest) for rest in itertools.product(arguments.models, arguments.precisions, arguments.batches, arguments.threads)]
        if who == OURS:
            flags = ["--commit", arguments.commit, *shlex.split(arguments.bench_flags)]
            found = measure_ours(configurations, arguments.bin / "onnx-cudnn-bench", flags, arguments.seconds, arguments.model_folder)
        else:
            limit_s = arguments.compile_seconds if who in ("torch-compile", "torch-reduce-overhead") else LIMIT_S
            found = measure_peer(MODULES[who], configurations, limit_s, arguments.seconds, arguments.model_folder)
        try:
            for figures, configuration in zip(found, configurations):
                figures = {"error": figures, "run": shared["run"]} if isinstance(figures, str) else {**figures, **shared}
                records.append({**configuration.fields(), **figures})
                print(json.dumps(records[-1]), file=sys.stderr, flush=True)
                save(records)
        except LeftOut as reason:
            print(f"peers.py: {who} is left out: {reason}", file=sys.stderr, flush=True)
    return records


def measure_control(arguments, shared):
    """The record of the control cell, "control" in it: tables leave it out."""
    flags = ["--commit", arguments.commit, *CONTROL_FLAGS]
    try:
        [figures] = measure_ours([CONTROL], arguments.bin / "onnx-cudnn-bench", flags, arguments.seconds, arguments.model_folder)
    except LeftOut as reason:
        figures = str(reason)
    return {**CONTROL.fields(), **({"error": figures} if isinstance(figures, str) else figures), **shared, "control": True}


def why_void(control, expected_ms):
    """Why a run with this control cell is not comparable with one where it took expected_ms; None: it is. 0: there is nothing to compare with."""
    if "error" in control:
        return f"the control cell was not measured: {control['error']}"
    if not expected_ms or abs(control["median_ms"] / expected_ms - 1) <= CONTROL_SHARE:
        return None
    return f"{CONTROL.model} at batch {CONTROL.batch} takes {control['median_ms']:.4f} ms, not within {CONTROL_SHARE:.0%} of {expected_ms:g}"


def words(text):
    return text.split(",")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--who", type=words, default=[OURS, "torch", "torch-graph", "torch-compile", "onnxruntime-cuda"], help=",".join([OURS, *MODULES]))
    parser.add_argument("--models", type=words, default=["resnet18", "resnet50"], help="files NAME.onnx; torch has those of torchvision and models/torch_networks.py")
    parser.add_argument("--precisions", type=words, default=["fp16"], help="of fp16, bf16, tf32, strict")
    parser.add_argument("--batches", type=lambda text: [int(word) for word in words(text)], default=[1, 8, 32, 256])
    parser.add_argument("--threads", type=lambda text: [int(word) for word in words(text)], default=[1], help="numbers of callers at once")
    parser.add_argument("--output", type=pathlib.Path, required=True, help="the JSON file")
    parser.add_argument("--seconds", type=float, default=3, help="duration of the back-to-back runs")
    parser.add_argument("--compile-seconds", type=float, default=300, help="limit for each configuration of torch-compile")
    parser.add_argument("--inductor-cache", type=pathlib.Path,
                        help="where Inductor keeps what it compiled and measured, also if its time is over: the same call again goes on from there")
    parser.add_argument("--control", type=float, metavar="MS",
                        help="measure the control cell first, and end if it differs by more than 3 %% from MS, what it took in the run to compare with; 0: record it")
    parser.add_argument("--bin", type=pathlib.Path, default=ROOT / "build/bin", help="where onnx-cudnn-bench is")
    parser.add_argument("--model-folder", type=pathlib.Path, default=ROOT / "models")
    parser.add_argument("--bench-flags", default="", help='more flags for onnx-cudnn-bench: "--partitioner cost --tune-budget 60"')
    parser.add_argument("--commit", default="unknown", help="for our records: the commit that was built")
    parser.add_argument("--run", default=uuid.uuid4().hex[:8], help="id of all records")
    arguments = parser.parse_args()
    if unknown := set(arguments.who) - {OURS, *MODULES}:
        parser.error(f"--who: no program is called {', '.join(sorted(unknown))}")
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("peers.py: was stopped"))  # also ends its worker
    date = datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
    if arguments.inductor_cache:
        os.environ["TORCHINDUCTOR_CACHE_DIR"] = str(arguments.inductor_cache.resolve())  # for the processes of peers
    shared = {"date": date, "run": arguments.run}

    def save(records):
        arguments.output.write_text(json.dumps(records, indent=1) + "\n")

    control = [] if arguments.control is None else [measure_control(arguments, shared)]
    if control:
        save(control)
        if reason := why_void(control[0], arguments.control):
            sys.exit(f"peers.py: this run is void: {reason}")
    records = measure_all(arguments, shared, lambda records: save(control + records))
    if all("error" in record for record in records):
        sys.exit("peers.py: nothing was measured")


if __name__ == "__main__":
    main()
