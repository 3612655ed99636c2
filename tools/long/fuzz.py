"""fuzz.py [options] BIN_FOLDER CORPUS: runs each libFuzzer program fuzz_NAME for some minutes, in slices, two programs at a time.
Findings go to FOLDER/findings; CORPUS/NAME grows."""

import pathlib
import re
import subprocess
import sys
import time

from part import Part, fingerprint, parser_of

LONGEST = {"graphs": 512}  # bytes of an input
SLICES = 4


def statistics(words):
    """From libFuzzer's last lines: the number of inputs, and the features and edges that they cover."""
    runs = re.search(r"stat::number_of_executed_units:\s+(\d+)", words)
    covered = re.findall(r"cov: (\d+)", words)
    return {"runs": int(runs[1]) if runs else 0, "edges": int(covered[-1]) if covered else 0}


def run_slice(program, seconds, number, folder, corpus):
    name = program.name.removeprefix("fuzz_")
    findings, log = folder / "findings", folder / "logs" / f"{name}-{number}.log"
    findings.mkdir(parents=True, exist_ok=True)
    log.parent.mkdir(parents=True, exist_ok=True)
    (corpus / name).mkdir(parents=True, exist_ok=True)
    command = [
        program, f"-max_total_time={seconds}", f"-seed={number + 1}", "-timeout=30", "-rss_limit_mb=4096", "-print_final_stats=1",
        f"-max_len={LONGEST.get(name, 16384)}", f"-artifact_prefix={findings}/{name}-", corpus / name,
    ]  # fmt: skip
    start = time.time()
    with log.open("w") as out:
        code = subprocess.run(command, stdout=out, stderr=out, check=False).returncode
    words = log.read_text(errors="replace")
    found = re.findall(r"Test unit written to (\S+)", words)
    if code != 0 and not found:
        found = [f"ended with {code}, see {log}"]
    answer = {"seconds": round(time.time() - start, 1), "found": found, "inputs": len(list((corpus / name).iterdir())), **statistics(words)}
    print(f"{name}, slice {number + 1}: {answer['runs']} runs, {answer['edges']} edges, found {len(found)}", flush=True)
    return answer


def summary(answers):
    return {
        "seconds": round(sum(a["seconds"] for a in answers), 1),
        "runs": sum(a["runs"] for a in answers),
        "edges": max((a["edges"] for a in answers), default=0),
        "inputs": max((a["inputs"] for a in answers), default=0),
        "found": [f for a in answers for f in a["found"]],
    }


def main():
    parser = parser_of(__doc__)
    parser.add_argument("programs", type=pathlib.Path)
    parser.add_argument("corpus", type=pathlib.Path)
    parser.add_argument("--minutes", type=float, default=9, help="per program")
    options = parser.parse_args()
    part = Part("fuzz", options)
    seconds = round(options.minutes * 60 / SLICES)
    units = {}
    for number in range(SLICES):
        for program in sorted(options.programs.glob("fuzz_*")):
            units[f"{program.name}-{fingerprint(program)}-{seconds}s-{number}"] = (program.resolve(), number)
    if not units:
        sys.exit(f"no program fuzz_* in {options.programs}")

    def work(key):
        program, number = units[key]
        return run_slice(program, seconds, number, options.folder, options.corpus)

    answers = part.run(units, work, jobs=2)
    names = sorted({program.name for program, _ in units.values()})
    harnesses = {n: summary([answers[k] for k, (p, _) in units.items() if k in answers and p.name == n]) for n in names}
    failed = [f"{name}: {found}" for name, told in harnesses.items() for found in told["found"]]
    passed = sum(not a["found"] for a in answers.values())
    sys.exit(part.finish(passed, failed, len(units) - len(answers), {"harnesses": harnesses}))


if __name__ == "__main__":
    main()
