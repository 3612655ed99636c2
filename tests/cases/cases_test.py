"""The generator of cases, the comparison of the judges, and the verdict on the results of onnx-cudnn."""

import dataclasses
import json
import os
import pathlib
import re
import stat
import subprocess
import sys
import tempfile
import textwrap
import types
import unittest
import xml.etree.ElementTree as ElementTree
from unittest import mock

import numpy as np

import check
import judges
import ours
import workers
from case import CONTRIB_OPS, FIRST_CONTRIB, ML_OPS, OPS, make_case
from differences import decided
from expectation import AGREED, ALONE, ASIDE, REFUSED, Expectation, Writer, expect
from makers import ELEMENT_WISE, EXACT, QUANTIZED
from part import Part  # check.py adds its folder to the path

ROOT = pathlib.Path(__file__).resolve().parents[2]
OURS = {"BoundedCompress", "BoundedNonMaxSuppression", "BoundedNonZero", "BoundedUnique", "FirstElements", "Inverse", "Reformat", "Transfer"}  # not in ONNX


def expectation(kind, **fields):
    return Expectation("Add-3", "Add", "", kind, **fields)


def first_case(op):
    return make_case(0, OPS.index(op))


class CaseTest(unittest.TestCase):
    def test_equal_seed_and_index_give_equal_bytes(self):
        for index in range(len(OPS)):
            first, second = make_case(5, index), make_case(5, index)
            self.assertEqual(first.model.SerializeToString(), second.model.SerializeToString(), first.name)
            self.assertEqual([a.tobytes() for a in first.feeds.values()], [a.tobytes() for a in second.feeds.values()], first.name)

    def test_another_seed_gives_another_case(self):
        self.assertNotEqual(make_case(5, 0).text, make_case(6, 0).text)

    def test_every_op_with_a_definition_has_a_maker(self):
        defined = set(re.findall(r"^(?:OP\(|OP_OF\(\w+, |POINTWISE\()(\w+)", (ROOT / "runtime/ops/ops.inc").read_text(), re.MULTILINE))
        self.assertEqual(defined - OURS - set(OPS) - set(ML_OPS), set())

    def test_cases_are_spread_evenly_over_ops_and_versions(self):
        cases = [make_case(5, index) for index in range(40 * len(OPS))]
        self.assertEqual({sum(c.op == op for c in cases) for op in OPS}, {40})
        pads = [make_case(5, OPS.index("Pad") + i * len(OPS)) for i in range(200)]
        self.assertGreaterEqual({c.version for c in pads}, {2, 11, 13, 18, 25})

    def test_every_op_of_onnxruntime_that_ours_replaces_has_a_maker(self):
        replaced = set(re.findall(r"\{kMicrosoft, \"(\w+)\"", (ROOT / "runtime/import/contrib.cc").read_text()))
        without_a_kernel = {  # in onnxruntime's CPU build
            "BiasAdd", "BiasSplitGelu", "FusedMatMulActivation", "GroupNorm", "NhwcConv", "NhwcFusedConv", "PackedAttention", "PackedMultiHeadAttention",
            "PagedAttention", "QLinearReduceMean", "SkipGroupNorm",
        }  # fmt: skip
        self.assertEqual(replaced - without_a_kernel - {op.rsplit(".")[-1] for op in CONTRIB_OPS}, set())

    def test_cases_of_other_domains_follow_those_of_onnx(self):
        case = make_case(5, FIRST_CONTRIB + 2)
        self.assertIn(case.op, CONTRIB_OPS)
        self.assertEqual(case.name, f"{case.op}-{FIRST_CONTRIB + 2}")

    def test_a_few_cases_are_spoiled(self):
        spoiled = [make_case(5, index).spoiled for index in range(10 * len(OPS))]
        self.assertTrue(0.01 < sum(spoiled) / len(spoiled) < 0.08, sum(spoiled))


class JudgesTest(unittest.TestCase):
    def test_types_and_shapes_must_be_equal(self):
        one = np.ones([2], np.float32)
        self.assertEqual(judges.difference(one, one, EXACT), "")
        self.assertNotEqual(judges.difference(one.astype(np.float64), one, EXACT), "")
        self.assertNotEqual(judges.difference(one.reshape(1, 2), one, EXACT), "")

    def test_f64_has_a_smaller_tolerance_than_f32(self):
        for dtype, words in ((np.float32, ""), (np.float64, "1 of 1 elements")):
            self.assertEqual(judges.difference(np.array([1 + 1e-5], dtype), np.array([1], dtype), ELEMENT_WISE), words)

    def test_integers_may_differ_only_by_ties_of_a_quantization(self):
        seven, eight = np.array([7], np.uint8), np.array([8], np.uint8)
        self.assertEqual(judges.difference(seven, eight, QUANTIZED), "")
        self.assertNotEqual(judges.difference(seven, eight, ELEMENT_WISE), "")

    def test_nans_and_equal_infinities_are_equal(self):
        found = np.array([np.nan, np.inf, -np.inf])
        self.assertEqual(judges.difference(found, found, EXACT), "")
        self.assertEqual(judges.difference(found, found[::-1], EXACT), "2 of 3 elements")

    def test_both_judges_run_an_addition(self):
        case = first_case("Add")
        made, outputs = expect(case, {"onnxruntime": judges.by_onnxruntime(case), "reference": judges.by_reference(case)})
        self.assertEqual((made.kind, len(outputs)), (AGREED, 1))

    def test_onnxruntime_runs_its_own_ops(self):
        for index in range(FIRST_CONTRIB, FIRST_CONTRIB + len(CONTRIB_OPS)):
            case = make_case(5, index)
            answer = judges.by_onnxruntime(case)
            self.assertTrue(answer.ran or case.spoiled, f"{case.text}: {answer.refusal}")

    def test_onnxruntime_runs_the_op_in_an_opset_that_it_supports(self):
        case = dataclasses.replace(first_case("MaxRoiPool"), version=22, opset=28)
        self.assertEqual(judges.opsets_tried(case), (26, 21))
        self.assertEqual(judges.opsets_tried(dataclasses.replace(case, version=1, opset=21)), (21,))

    def test_packed_elements_are_read_as_they_were_written(self):
        for elem in ("int4", "uint4", "int2", "uint2"):
            array = np.array([0, 1, -1, 1, -2] if elem[0] == "i" else [0, 1, 3, 2, 1]).astype(elem)
            raw = judges.packed(array).tobytes()
            np.testing.assert_array_equal(judges.unpacked(raw, 5, array.dtype).astype(int), array.astype(int))


class ExpectationTest(unittest.TestCase):
    def expected(self, runtime, reference, op="Add"):
        return expect(first_case(op), {"onnxruntime": runtime, "reference": reference})

    def test_if_one_judge_refuses_the_other_decides(self):
        one = judges.Answer([np.ones(1)])
        made, outputs = self.expected(judges.Answer(refusal="no"), one)
        self.assertEqual((made.kind, made.judge, outputs), (ALONE, "reference", one.outputs))

    def test_a_case_that_both_refuse_is_refused(self):
        made, outputs = self.expected(judges.Answer(refusal="no"), judges.Answer(refusal="no"))
        self.assertEqual((made.kind, outputs), (REFUSED, None))

    def test_a_spoiled_case_that_one_judge_runs_is_set_aside(self):
        case = dataclasses.replace(first_case("Add"), spoiled=True)
        made, outputs = expect(case, {"onnxruntime": judges.Answer(refusal="no"), "reference": judges.Answer([np.ones(1)])})
        self.assertEqual((made.kind, outputs), (ASIDE, None))

    def test_judges_that_differ_set_the_case_aside(self):
        made, outputs = self.expected(judges.Answer([np.ones(1)]), judges.Answer([np.zeros(1)]))
        self.assertEqual((made.kind, outputs), (ASIDE, None))

    def test_a_judge_known_to_be_wrong_does_not_count(self):
        right = judges.Answer([np.ones(1)])
        made, outputs = self.expected(right, judges.Answer([np.zeros(1)]), "LpNormalization")
        self.assertEqual((made.judge, outputs), ("onnxruntime", right.outputs))
        self.assertEqual(decided(first_case("LpNormalization"), expectation(ALONE, onnxruntime="refused")), "")


class VerdictTest(unittest.TestCase):
    def wrong(self, kind, word, message="", **fields):
        return check.verdict(expectation(kind, **fields), word, message)[1]

    def test_refusing_a_case_that_a_judge_runs_is_an_error(self):
        self.assertIsNone(self.wrong(AGREED, "pass"))
        self.assertIn("refused (3)", self.wrong(AGREED, "3", "not today"))
        self.assertIsNone(self.wrong(ALONE, "3", "Foo (opset 28) on f32: the op is not implemented"))

    def test_a_crash_is_an_error_whatever_is_expected(self):
        for kind in (AGREED, ALONE, REFUSED, ASIDE):
            for word in ("crashed", "hung", "7"):
                self.assertIsNotNone(self.wrong(kind, word), (kind, word))

    def test_a_case_that_both_refuse_must_not_be_refused_for_a_false_reason(self):
        self.assertIsNone(self.wrong(REFUSED, "2", "axis 9 is outside rank 2"))
        self.assertIsNotNone(self.wrong(REFUSED, "3", "the shape of output y depends on data"))

    def test_a_case_that_onnx_finds_invalid_may_be_refused(self):
        self.assertIsNone(self.wrong(ALONE, "2", "no", checker="ShapeInferenceError"))

    def test_a_spoiled_case_may_be_refused(self):
        self.assertIsNone(self.wrong(AGREED, "3", "p is -1", spoiled=True))
        self.assertIsNotNone(self.wrong(AGREED, "wrong", "differs", spoiled=True))

    def test_a_case_set_aside_is_only_counted(self):
        self.assertEqual(check.verdict(expectation(ASIDE), "wrong", ""), ("set aside", None))


def program(folder, script):
    file = pathlib.Path(folder, "program")
    file.write_text(f"#!/bin/bash\n{script}\n")
    file.chmod(file.stat().st_mode | stat.S_IXUSR)
    return str(file)


class GuardTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def test_a_judge_that_crashes_refuses(self):
        with mock.patch.dict(workers.JUDGES, onnxruntime=lambda case: os.abort()):
            made, _ = workers.judge_all(0, [OPS.index("Abs")], Writer(self.folder), 1)[OPS.index("Abs")]
        self.assertEqual((made.kind, made.judge, made.onnxruntime), (ALONE, "reference", "crashed"))

    def test_a_judge_that_crashes_once_is_asked_again(self):
        crashed, by_onnxruntime = pathlib.Path(self.folder, "crashed"), workers.JUDGES["onnxruntime"]

        def judge(case):
            if crashed.exists():
                return by_onnxruntime(case)
            crashed.touch()
            return os.abort()

        with mock.patch.dict(workers.JUDGES, onnxruntime=judge):
            made, _ = workers.judge_all(0, [OPS.index("Abs")], Writer(self.folder), 1)[OPS.index("Abs")]
        self.assertEqual((made.kind, made.judge, made.onnxruntime), (AGREED, "onnxruntime", ""))

    def test_no_thread_of_onnxruntime_runs_before_workers_are_forked(self):
        script = """
            import os, sys, numpy
            before = len(os.listdir("/proc/self/task"))
            sys.path.insert(0, sys.argv[1])
            import judges
            print(len(os.listdir("/proc/self/task")) - before)"""
        environment = {name: value for name, value in os.environ.items() if name != "ORT_DISABLE_TELEMETRY"}
        command = [sys.executable, "-c", textwrap.dedent(script), str(ROOT / "tests/cases")]
        self.assertEqual(subprocess.run(command, capture_output=True, text=True, check=True, env=environment).stdout, "0\n")

    def test_a_judge_that_hangs_refuses(self):
        hangs = mock.patch.dict(workers.JUDGES, reference=lambda case: __import__("time").sleep(60))
        with hangs, mock.patch.object(workers, "SECONDS", 0.5):
            made, _ = workers.judge_all(0, [OPS.index("Abs")], Writer(self.folder), 1)[OPS.index("Abs")]
        self.assertEqual((made.judge, made.reference), ("onnxruntime", "no answer in 0.5 s"))

    def test_a_case_that_crashes_run_cases_is_recorded_and_the_rest_is_run(self):
        script = 'for ((i = $2; i < 3; ++i)); do [ $i = 1 ] && kill -ABRT $$; printf "c$i\\tcpu\\tpass\\t\\n"; done'
        found = ours.run_part(program(self.folder, script), self.folder, ["c0", "c1", "c2"], 0, 1, ["cpu"])
        self.assertEqual([found[f"c{i}", "cpu"][0] for i in range(3)], ["pass", "crashed", "pass"])

    def test_a_crash_as_run_cases_ends_is_recorded(self):
        script = 'printf "c0\\tcpu\\tpass\\t\\nc1\\tcpu\\tpass\\t\\n"; echo terminated >&2; kill -ABRT $$'
        found = ours.run_part(program(self.folder, script), self.folder, ["c0", "c1"], 0, 1, ["cpu"])
        self.assertEqual(found, {("c0", "cpu"): ("pass", ""), ("c1", "cpu"): ("crashed", "exit code -6: terminated\n")})

    def test_a_case_that_hangs_run_cases_is_recorded(self):
        script = '[ $2 = 0 ] && exec sleep 60; printf "c1\\tcpu\\tpass\\t\\n"'
        with mock.patch.object(ours, "SECONDS", 0.5):
            found = ours.run_part(program(self.folder, script), self.folder, ["c0", "c1"], 0, 1, ["cpu"])
        self.assertEqual([found[f"c{i}", "cpu"][0] for i in range(2)], ["hung", "pass"])

    def test_errors_can_be_stored_as_json(self):
        case, results = first_case("Add"), {("Add-3", "cpu"): ("wrong", "differs")}
        made = dataclasses.replace(expectation(AGREED), spoiled=case.spoiled)
        self.assertIn("differs", json.dumps(check.judged(made, results, ["cpu"])[1]))

    def test_finished_chunks_are_not_run_again(self):
        options = types.SimpleNamespace(
            folder=pathlib.Path(self.folder), deadline=float("inf"), seed=1, program=program(self.folder, "exit 1"), first=0, count=4, chunk=2, domain=""
        )
        part = Part("cases", options)
        with mock.patch.object(check, "run_chunk", side_effect=lambda o, indices, m: [("Add", f"Add-{i}", "agreed", []) for i in indices]) as run:
            first, again = check.run_chunks(options, part, ["cpu"]), check.run_chunks(options, part, ["cpu"])
        self.assertEqual((run.call_count, again), (2, first))

    def test_chunks_beyond_the_deadline_are_not_run(self):
        options = types.SimpleNamespace(folder=None, deadline=0, seed=1, program=program(self.folder, "exit 1"), first=0, count=4, chunk=2, domain="")
        self.assertEqual(check.run_chunks(options, Part("cases", options), ["cpu"]), [])

    def test_an_expected_refusal_is_reported_as_skipped(self):
        cases = [(op, op, count, []) for op, count in (("Add", "agreed"), ("Scan", "refused: Scan 8 with a batch"), ("Abs", "refused by all"))]
        report = pathlib.Path(self.folder, "report.xml")
        check.write_report(report, cases)
        skipped = [case.get("name") for case in ElementTree.parse(report).iter("testcase") if case.get("result") == "skipped"]
        self.assertEqual(skipped, ["Scan"])


if __name__ == "__main__":
    unittest.main()
