"""gpu_tests.py FOLDER --commit C --run ID --output FILE: collects results as JSON: one record per program from
GoogleTest's JSON reports (FOLDER/NAME[-SHARD].json), which tests/python/unittest_report.py writes too, one per model and precision from agreement_test.py (FOLDER/../agreement-MODEL-PRECISION.log).

A record is {"who", "suite", "passed", "failed": [names], "skipped", "seconds", "nodes", "host_nodes", "device", "driver", "commit", "date",
"run"}; nodes are those of the ONNX vectors' graphs, host_nodes those that ran on the host. For a model it is {"who", "model", "precision", "agrees", "largest_of_allowed", …}. Needs nvidia-smi.
"""

import argparse
import datetime
import json
import pathlib
import re
import subprocess


def tests_of(report):
    """(full name, status, properties) of each test in a report."""
    for suite in json.loads(report.read_text())["testsuites"]:
        for test in suite["testsuite"]:
            if test["status"] != "RUN":
                continue
            failed = "failures" in test
            status = "failed" if failed else "skipped" if test["result"] == "SKIPPED" else "passed"
            yield f"{suite['name']}.{test['name']}", status, test


def sanitizers_errors(report):
    """The result of compute-sanitizer for a report, if it ran the program: 0, or the number of errors or hazards."""
    log = report.parent.parent / f"{report.stem}.log"
    return sum(int(number) for number in re.findall(r"SUMMARY: (\d+) (?:error|hazard)", log.read_text(errors="replace"))) if log.exists() else 0


def record_of(name, reports):
    record = {"who": "onnx-cudnn", "suite": name, "passed": 0, "failed": [], "skipped": 0, "seconds": 0, "nodes": 0, "host_nodes": 0}
    for report in reports:
        record["seconds"] += float(json.loads(report.read_text())["time"].removesuffix("s"))
        if errors := sanitizers_errors(report):
            record["failed"].append(f"{report.stem}: compute-sanitizer counts {errors}")
        for test, status, properties in tests_of(report):
            if status == "failed":
                record["failed"].append(test)
            else:
                record[status] += 1
            if "skip_reason" in properties:
                record.setdefault("skipped_tests", {})[test] = properties["skip_reason"]
            for count in ("nodes", "host_nodes"):
                record[count] += int(properties.get(count, 0))
    record["seconds"] = round(record["seconds"], 1)
    return record


def agreements(folder):
    """One record per log: the difference of the worst output element to onnxruntime, as a share of what is allowed."""
    for log in sorted(folder.glob("agreement-*.log")):
        model, precision = re.fullmatch(r"agreement-(.+)-(\w+)", log.stem).groups()
        shares = [float(share) for share in re.findall(r", ([\d.]+) of what is allowed", log.read_text())]
        if shares:
            yield {"who": "onnx-cudnn", "model": model, "precision": precision, "agrees": max(shares) <= 1, "largest_of_allowed": max(shares)}


def device():
    query = ["nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader"]
    name, driver = subprocess.run(query, check=True, capture_output=True, text=True).stdout.splitlines()[0].split(", ")
    return {"device": name, "driver": driver}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=pathlib.Path)
    for option in ("commit", "run", "output"):
        parser.add_argument(f"--{option}", required=True)
    arguments = parser.parse_args()
    by_name = {}
    for report in sorted(arguments.folder.glob("*.json")):
        by_name.setdefault(re.sub(r"-\d+$", "", report.stem), []).append(report)
    date = datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
    about = {**device(), "commit": arguments.commit, "date": date, "run": arguments.run}
    suites = [record_of(name, reports) for name, reports in by_name.items()]
    records = [{**record, **about} for record in [*suites, *agreements(arguments.folder.parent)]]
    pathlib.Path(arguments.output).write_text(json.dumps(records, indent=1) + "\n")
    for record in suites:
        print(f"{record['suite']}: {record['passed']} passed, {len(record['failed'])} failed, {record['skipped']} skipped")


if __name__ == "__main__":
    main()
