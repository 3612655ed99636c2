"""scaling.py [--rounds N] [--nice N] [--search-alone]: measures how load, rewriting, search and planning grow with the number of nodes, compared with onnxruntime.

Chains, diamonds and ladders of 1,000, 10,000 and 100,000 nodes; onnxruntime's session creation on the same files in the same run,
stopped after PEER_LIMIT_S, which then counts as its time (it needs many minutes for some of 100,000). The round with the least total
counts, of ours and of theirs. Prints exponents and ratios and writes results/scaling-DATE.json. Run it with build/python/bin/python after a build.
"""

import argparse
import json
import math
import os
import pathlib
import subprocess
import sys
import tempfile

import cpu
import onnx

PHASES = cpu.ROOT / "build/bin/onnx-cudnn-phases"
SIZES = (1_000, 10_000, 100_000)
COST_SIZES = (1_000, 10_000)
SEARCHES = 5  # per round, because they take milliseconds
PEER_LIMIT_S = 60
NICENESS = 0  # of the measured processes
OURS = ("load_ms", "rewrite_ms", "search_ms", "plan_ms")

ONNXRUNTIME_PROGRAM = """
import sys, time
import onnxruntime
start = time.perf_counter()
onnxruntime.InferenceSession(sys.argv[1], providers=["CPUExecutionProvider"])
print(1e3 * (time.perf_counter() - start))
"""


def chain(count):
    """x → Tanh → Neg → Tanh → …"""
    for i in range(count):
        yield ("Tanh", "Neg")[i % 2], [f"v{i}"], f"v{i + 1}"


def diamonds(count):
    """v → Tanh and Neg → Add → v'"""
    for i in range(count // 3):
        yield "Tanh", [f"v{i}"], f"a{i}"
        yield "Neg", [f"v{i}"], f"b{i}"
        yield "Add", [f"a{i}", f"b{i}"], f"v{i + 1}"


def ladder(count):
    """Two rails, each step of one reads the other's."""
    yield "Neg", ["v0"], "b0"
    for i in range(count // 2):
        yield "Tanh", [f"v{i}"], f"v{i + 1}"
        yield "Add", [f"b{i}", f"v{i + 1}"], f"b{i + 1}"


def save(path, nodes):
    """The model of `nodes` whose output is what the last one makes."""
    made = [onnx.helper.make_node(op, inputs, [output]) for op, inputs, output in nodes]
    info = [onnx.helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, [1, 16]) for name in ("v0", made[-1].output[0])]
    graph = onnx.helper.make_graph(made, "g", info[:1], info[1:])
    onnx.save(onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 17)], ir_version=8), path)


def with_niceness(command):
    return ["nice", "-n", str(NICENESS), *map(str, command)] if NICENESS else list(map(str, command))


def run(command):
    return json.loads(subprocess.run(with_niceness(command), stdout=subprocess.PIPE, check=True).stdout)


def peer_ms(path):
    """Milliseconds of onnxruntime's session creation, or the limit."""
    try:
        command = with_niceness([sys.executable, "-c", ONNXRUNTIME_PROGRAM, path])
        return float(subprocess.run(command, stdout=subprocess.PIPE, check=True, timeout=PEER_LIMIT_S).stdout)
    except subprocess.TimeoutExpired:
        return 1e3 * PEER_LIMIT_S


def total_ms(sample):
    return sum(sample[key] for key in OURS)


def measure(path, rounds):
    """Milliseconds of our phases, in the round with the smallest total, and of onnxruntime's session creation, in alternation."""
    ours, theirs = [], []
    for _ in range(rounds):
        ours.append(run([PHASES, path, "cpu", "greedy"]))
        theirs.append(peer_ms(path))
    best = min(ours, key=total_ms)
    return {**best, "total_ms": total_ms(best), "onnxruntime_ms": min(theirs)}


def exponent(sizes, times):
    """The largest slope of log time over log size between neighbours."""
    pairs = list(zip(sizes, times))
    return max(math.log(t1 / t0) / math.log(n1 / n0) for (n0, t0), (n1, t1) in zip(pairs, pairs[1:]))


def scaling(folder, rounds):
    records = []
    for make in (chain, diamonds, ladder):
        for size in SIZES:
            path = folder / f"{make.__name__}-{size}.onnx"
            save(path, make(size))
            records.append({"graph": make.__name__, "size": size, **measure(path, rounds)})
            last = records[-1]
            print(f"{make.__name__:9} {size:7}", *(f"{key[:-3]} {last[key]:.1f}" for key in (*OURS, "total_ms", "onnxruntime_ms")), "ms", flush=True)
    return records


def cost_search(folder, rounds):
    """Milliseconds of both searches for an H200: on ResNet-50, in alternation, and the cost search on chains."""
    resnet = cpu.ROOT / "models/resnet50.onnx"
    samples = [{search: run([PHASES, resnet, "h200", search])["search_ms"] for search in ("greedy", "cost")} for _ in range(SEARCHES * rounds)]
    found = {f"resnet50_{search}_ms": min(sample[search] for sample in samples) for search in ("greedy", "cost")}
    for size in COST_SIZES:
        path = folder / f"chain-{size}.onnx"
        found[f"chain_{size}_cost_ms"] = min(run([PHASES, path, "h200", "cost"])["search_ms"] for _ in range(rounds))
    found["exponent"] = exponent(COST_SIZES, [found[f"chain_{size}_cost_ms"] for size in COST_SIZES])
    return found


def slope(sizes, times):
    """Of the line through log time over log size, by least squares."""
    x, y = [math.log(n) for n in sizes], [math.log(t) for t in times]
    mean = sum(x) / len(x)
    return sum((a - mean) * b for a, b in zip(x, y)) / sum((a - mean) ** 2 for a in x)


def exponents(records):
    """Per graph: of each phase and of the whole, from 1,000 to 100,000 nodes, the largest between neighbours and (fitted) of all sizes."""
    found = {}
    for graph in dict.fromkeys(r["graph"] for r in records):
        rows = [r for r in records if r["graph"] == graph]
        found[graph] = {key: exponent([r["nodes"] for r in rows], [r[key] for r in rows]) for key in (*OURS, "total_ms")}
        found[graph]["fitted"] = {key: slope([r["nodes"] for r in rows], [r[key] for r in rows]) for key in (*OURS, "total_ms")}
        found[graph]["worst_ratio_to_onnxruntime"] = max(r["total_ms"] / r["onnxruntime_ms"] for r in rows)
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=3, help="processes of each, in alternation; the minimum counts")
    parser.add_argument("--search-alone", action="store_true", help="measure the cost search again, into today's file")
    parser.add_argument("--nice", type=int, default=0, help="of the measured processes; negative where others keep the machine busy")
    options = parser.parse_args()
    global NICENESS
    NICENESS = options.nice
    host = cpu.host()
    import onnxruntime  # for its version alone

    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        if options.search_alone:
            for size in COST_SIZES:
                save(folder / f"chain-{size}.onnx", chain(size))
        else:
            records = scaling(folder, options.rounds)
        search = {"host": host, **cost_search(folder, options.rounds)}
    host["load_average_at_the_end"] = os.getloadavg()[0]
    file = cpu.RESULTS / f"scaling-{host['date']}.json"
    if options.search_alone:
        result = {**json.loads(file.read_text()), "cost_search": search}
        result["exponents"] = exponents(result["graphs"])
    else:
        result = {"host": host, "nice": options.nice, "rounds": options.rounds, "onnxruntime": onnxruntime.__version__, "graphs": records, "exponents": exponents(records), "cost_search": search}
    for graph, values in result["exponents"].items():
        fitted = values["fitted"]
        print(f"{graph:9}", *(f"{key} {fitted[key]:.2f} (at most {values[key]:.2f})" for key in fitted), f"worst ratio {values['worst_ratio_to_onnxruntime']:.2f}")
    print("cost search on ResNet-50:", f"{search['resnet50_cost_ms'] / search['resnet50_greedy_ms']:.2f} times greedy, exponent {search['exponent']:.2f}")
    file.write_text(json.dumps(result, indent=1) + "\n")
    print(file)


if __name__ == "__main__":
    main()
