"""InferenceSession.profile."""

import unittest

import models
import numpy as np

import onnx_cudnn as oc

A = np.arange(6, dtype=np.float32).reshape(2, 3)


class ProfileTest(unittest.TestCase):
    def setUp(self):
        options = oc.SessionOptions()
        options.device = "cpu"
        self.session = oc.InferenceSession(models.add(), options)

    def test_a_dict_for_each_step(self):
        steps = self.session.profile({"a": A, "b": A}, runs=3)
        self.assertEqual([(step["ops"], step["engine"]) for step in steps], [(["Add"], "host"), (["Sub"], "host")])
        self.assertEqual(steps[0]["bytes"], 3 * A.nbytes)
        self.assertAlmostEqual(sum(step["share"] for step in steps), 1)
        for step in steps:
            self.assertGreater(step["us"], 0)
            self.assertAlmostEqual(step["of_floor"], step["floor_us"] / step["us"])

    def test_errors(self):
        with self.assertRaisesRegex(oc.InvalidArgument, "expected 1 run or more"):
            self.session.profile({"a": A, "b": A}, runs=0)
        with self.assertRaisesRegex(oc.InvalidArgument, "unknown input 'c'"):
            self.session.profile({"c": A})


if __name__ == "__main__":
    unittest.main()
