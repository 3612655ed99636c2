"""tools/long: stored answers, counts and records of the long parts, with stand-ins for the programs that they run."""

import contextlib
import io
import json
import os
import pathlib
import sys
import tempfile
import types
import unittest
from unittest import mock

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / "tools/long"))

import deploy  # noqa: E402
import fuzz  # noqa: E402
import part  # noqa: E402
import ray_serve  # noqa: E402
import score_zoo  # noqa: E402
import soak  # noqa: E402
import triton  # noqa: E402
import tsan  # noqa: E402
import vectors  # noqa: E402


class LongPartsTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.enterContext(contextlib.redirect_stdout(io.StringIO()))

    def program(self, name, script):
        file = self.folder / name
        file.write_text(f"#!/bin/sh\n{script}\n")
        file.chmod(0o755)
        return file

    def part(self, deadline=float("inf")):
        return part.Part("some", types.SimpleNamespace(folder=self.folder / "some", deadline=deadline, results=self.folder))

    def call(self, module, *arguments):
        """(exit code, counts, record or None)"""
        folder = self.folder / "part"
        command = ["x", "--folder", str(folder), "--results", str(self.folder), *map(str, arguments)]
        with mock.patch.object(sys, "argv", command), self.assertRaises(SystemExit) as ended:
            module.main()
        records = list(self.folder.glob("*.json"))
        return ended.exception.code, (folder / "counts").read_text().split(), json.loads(records[0].read_text()) if records else None

    def test_units_that_are_done_are_not_run_again(self):
        first, again = mock.Mock(side_effect=lambda key: key == "b"), mock.Mock()
        self.assertEqual(self.part().run(["a", "b"], first), {"a": False, "b": True})
        self.assertEqual(self.part().run(["a", "b"], again), {"a": False, "b": True})
        again.assert_not_called()

    def test_what_did_not_end_is_left(self):
        self.assertEqual(self.part().run(["a", "b"], lambda key: True if key == "a" else None), {"a": True})
        self.assertEqual(self.part(deadline=0).run(["a", "b"], lambda _: True), {"a": True})

    def test_a_record_is_of_a_complete_part(self):
        self.assertEqual(self.part().finish(1, [], 2, {}), 0)
        self.assertEqual((list(self.folder.glob("*.json")), (self.folder / "some/counts").read_text()), ([], "1 0 2 0\n"))
        self.assertEqual(self.part().finish(3, ["x"], 0, {"more": 1}, skipped=2, refused=1), 1)
        record = json.loads(next(self.folder.glob("some-*.json")).read_text())
        self.assertEqual((record["passed"], record["failed"], record["skipped"], record["more"]), (3, ["x"], 2, 1))
        self.assertEqual((self.folder / "some/counts").read_text(), "3 1 2 1\n")

    def test_a_race_fails_its_suite(self):
        report = """<testsuites><testsuite><testcase classname="B" name="t" result="completed"/></testsuite></testsuites>"""
        program = self.program(
            "test_x",
            f"""[ "$1" = --gtest_list_tests ] && printf 'Running main()\\nA.\\n  t\\nB.\\n  t\\n' && exit 0
            case $1 in --gtest_filter=A.*) exit {tsan.RACE} ;; esac
            echo '{report}' >${{2#--gtest_output=xml:}}""",
        )
        code, counts, record = self.call(tsan, program)
        self.assertEqual((code, counts), (1, ["1", "1", "0", "0"]))
        self.assertIn("A: ThreadSanitizer reports", record["failed"][0])
        self.assertEqual(record["programs"]["test_x"]["passed"], 1)

    def test_each_fuzzer_gets_its_slices(self):
        self.program("fuzz_good", "echo '#9 DONE cov: 12 ft: 3'; echo 'stat::number_of_executed_units: 9'")
        self.program("fuzz_bad", "echo 'Test unit written to crash-1'; exit 77")
        code, counts, record = self.call(fuzz, self.folder, self.folder / "corpus", "--minutes", "0.1")
        self.assertEqual((code, counts), (1, ["4", "4", "0", "0"]))
        self.assertEqual({k: record["harnesses"]["fuzz_good"][k] for k in ("runs", "edges", "found")}, {"runs": 36, "edges": 12, "found": []})
        self.assertEqual(record["harnesses"]["fuzz_bad"]["found"], ["crash-1"] * 4)

    def test_a_soak_tells_what_it_measured(self):
        code, counts, record = self.call(soak, self.program("soak", """echo '{"runs": 5}'"""))
        self.assertEqual((code, counts, record["runs"]), (0, ["1", "0", "0", "0"], 5))

    def test_a_soak_that_fails_or_ran_out_of_time(self):
        self.assertEqual(self.call(soak, self.program("soak", "exit 1"))[:2], (1, ["0", "1", "0", "0"]))
        self.assertEqual(self.call(soak, self.program("soak", "exit 2"))[:2], (0, ["0", "0", "1", "0"]))

    def test_vectors_of_older_wheels_and_the_programs_own(self):
        report = """<testsuites><testsuite><testcase value_param="node/a" result="completed"/><testcase value_param="node/b"><failure/></testcase>
            </testsuite></testsuites>"""
        passing = report.replace("<failure/>", "").replace('"node/b"', '"node/b" result="completed"')
        program = self.program("backend", f"""[ -n "$ONNX_CUDNN_VECTORS" ] && answer='{report}' || answer='{passing}'
            echo "$answer" >"${{2#--gtest_output=xml:}}" """)
        stand_ins = {"wheels": lambda: {"1.2": "onnx==1.2"}, "listed": lambda: {"1.2": {"node/b": "was wrong"}}, "unpacked": lambda *_: self.folder}
        with mock.patch.multiple(vectors, **stand_ins), mock.patch.dict(os.environ):
            os.environ.pop("ONNX_CUDNN_VECTORS", None)
            code, counts, record = self.call(vectors, program)
        self.assertEqual((code, counts), (0, ["9", "0", "3", "0"]))
        rows = [{key: row[key] for key in ("vectors", "passed", "refused", "wrong")} for row in (record["wheels"]["1.2"], record["present"][vectors.PRESENT])]
        self.assertEqual(rows, [{"vectors": 2, "passed": 1, "refused": 0, "wrong": 1}, {"vectors": 2, "passed": 2, "refused": 0, "wrong": 0}])

    def test_units_of_ray_that_failed_run_again(self):
        def call(**failed):
            done = []

            def check(unit, _):
                done.append(unit)
                return {"passed": [unit], "failed": failed.get(unit, []), "skipped": {"x": "no torch"} if unit == "serve_test" else {}, "facts": {"qps": 40}}

            with mock.patch.multiple(ray_serve, check=check, versions_of=lambda *_: ["ray==2"], PINS=self.folder / "pins"):
                self.folder.joinpath("pins").touch()
                return *self.call(ray_serve, self.folder), done

        code, counts, record, done = call(cluster_test=["it"])
        self.assertEqual((code, counts, done), (1, ["3", "1", "1", "0"], ["serve_test", "cluster_test", "load"]))
        self.assertEqual((record["failed"], record["load"], record["versions"]), (["it"], {"qps": 40}, ["ray==2"]))
        code, counts, _, done = call()
        self.assertEqual((code, counts, done), (0, ["3", "0", "1", "0"], ["cluster_test"]))

    def linked(self):
        """A library, and a stand-in for ldd that says that everything loads it."""
        library = self.folder / "libonnx_cudnn.so.0.1.0"
        (self.folder / "libonnx_cudnn.so.0.1").symlink_to(library)
        self.program("ldd", f"echo 'libonnx_cudnn.so.0.1 => {self.folder}/libonnx_cudnn.so.0.1 (0x7f)'; echo 'libonnx_cudnn.so.0.2 => not found'")
        self.enterContext(mock.patch.dict(os.environ, PATH=f"{self.folder}:{os.environ['PATH']}"))
        return library

    def test_answers_of_triton_are_those_of_its_binaries(self):
        files = [self.linked(), *(self.folder / name for name in ("libtriton_onnx_cudnn.so", "bench", "pins"))]
        for file in files:
            file.write_text("a")
        options, found = types.SimpleNamespace(backend=self.folder, bench=self.folder / "bench", load_seconds=1), set()
        with mock.patch.object(triton, "PINS", self.folder / "pins"):
            self.assertEqual(triton.made_of(options), triton.made_of(options))
            for file in files:
                found.add(triton.made_of(options))
                file.write_text("b")
            found.add(triton.made_of(options))
        self.assertEqual(len(found), 5)

    def test_answers_of_ray_are_those_of_the_library(self):
        library, done = self.linked(), []
        (self.folder / "onnx_cudnn").mkdir()
        for file in (library, self.folder / "onnx_cudnn/_core.so", self.folder / "pins"):
            file.write_text("a")
        check = mock.Mock(side_effect=lambda unit, _: done.append(unit) or {"passed": [], "failed": [], "skipped": {}})
        with mock.patch.multiple(ray_serve, check=check, versions_of=lambda *_: [], PINS=self.folder / "pins"):
            for content, count in (("a", 3), ("a", 3), ("b", 6)):
                library.write_text(content)
                self.call(ray_serve, self.folder)
                self.assertEqual(len(done), count)

    def test_an_image_is_built_for_each_commit_and_until_it_is_not_skipped(self):
        image, others = mock.Mock(return_value={"skipped": "no Docker"}), mock.Mock(return_value={})
        (self.folder / "pins").touch()
        stand_ins = {"environment": mock.Mock(), "check_lint": others, "check_manifest": others, "check_image": image, "PINS": self.folder / "pins"}
        with mock.patch.multiple(deploy, **stand_ins):
            for commit, answer, count in (("a", {"skipped": "no Docker"}, 1), ("a", {}, 2), ("a", {}, 2), ("b", {}, 3)):
                image.return_value = answer
                with mock.patch.object(deploy, "git", return_value=commit):
                    self.call(deploy)
                self.assertEqual((image.call_count, others.call_count), (count, 4))

    def score(self, expected, found, *flags):
        """Runs the part of the zoo over models whose scores are `found`."""
        self.program("onnx-cudnn-run", "")
        self.program("onnx-cudnn-opt", "")
        (self.folder / "zoo").mkdir(exist_ok=True)
        file = self.folder / "zoo/expected"
        file.write_text(json.dumps(expected))
        stand_ins = {"EXPECTED": file, "PAGE": self.folder / "zoo/page.md", "build": lambda _: None, "tables": lambda: dict.fromkeys(found, "t"),
                     "answer": lambda name, _: found[name]}
        with mock.patch.multiple(score_zoo, **stand_ins), mock.patch.object(score_zoo.models, "TABLES", ("t",)), \
                mock.patch.multiple(score_zoo.models, made_of=lambda _: "m", known=lambda *_: {"made_of": "m"}):
            code, counts, record = self.call(score_zoo, self.folder, *flags)
        return code, counts, record, json.loads(file.read_text())

    def test_a_model_of_the_zoo_that_drops_fails(self):
        good = {"package": "p", "exporter": "e", "symbols": [], "runs": True, "agrees": True, "agrees_as_partitioned": True, "of_tolerance": 0, "launches": 9,
                "share_on_gpu": 1}  # fmt: skip
        code, counts, record, _ = self.score({"a.dynamo": good, "b.dynamo": good}, {"a.dynamo": good, "b.dynamo": {**good, "launches": 12}})
        self.assertEqual((code, counts), (1, ["1", "1", "0", "0"]))
        self.assertEqual((record["failed"], sorted(record["models"])), (["b.dynamo: launches 9 > 12"], ["a.dynamo", "b.dynamo"]))

    def test_a_model_that_left_the_zoo_or_is_new_fails_until_scores_are_written(self):
        good = {"package": "p", "exporter": "e", "symbols": [], "runs": True, "agrees": True, "agrees_as_partitioned": True, "of_tolerance": 0, "share_on_gpu": 1}
        code, counts, record, _ = self.score({"gone.dynamo": good}, {"new.dynamo": good})
        self.assertEqual((code, len(record["failed"])), (1, 2))
        code, counts, _, written = self.score({"gone.dynamo": good}, {"new.dynamo": good}, "--update")
        self.assertEqual((code, counts, list(written)), (0, ["1", "0", "0", "0"], ["new.dynamo"]))


if __name__ == "__main__":
    unittest.main()
