"""Batcher: requests of many threads as few runs."""

import asyncio
import threading
import unittest
import weakref

import models
import numpy as np
from onnx import TensorProto, helper

import onnx_cudnn as oc


def session(model=None):
    options = oc.SessionOptions()
    options.device = "cpu"
    return oc.InferenceSession(model or models.add(), options)


def feed(number, rows=1):
    return {"a": np.full((rows, 3), number, np.float32), "b": np.arange(3 * rows, dtype=np.float32).reshape(rows, 3)}


class BatcherTest(unittest.TestCase):
    def expect(self, outputs, inputs):
        np.testing.assert_array_equal(outputs[0], inputs["a"] + inputs["b"])
        np.testing.assert_array_equal(outputs[1], inputs["a"] - inputs["b"])

    def test_requests_that_wait_become_one_run(self):
        batcher = oc.Batcher(session(), max_batch=4, max_delay_s=3600)
        feeds = [feed(i, rows) for i, rows in ((1, 1), (2, 2), (3, 1))]
        futures = [batcher.submit(f) for f in feeds]
        for future, inputs in zip(futures, feeds, strict=True):
            self.expect(future.result(), inputs)
        stats = batcher.stats()
        self.assertEqual((stats.requests, stats.batches, stats.rows, stats.padding_rows), (3, 1, 4, 0))
        numbers = "requests=3, refused=0, cancelled=0, failed=0, batches=1, rows=4, padding_rows=0, queued_rows=0"
        self.assertEqual(repr(stats), f"BatcherStats({numbers})")

    def test_each_thread_gets_its_own_rows(self):
        faults = []

        def call(batcher, caller):
            for i in range(40):
                inputs = feed(100 * caller + i, 1 + i % 3)
                try:
                    self.expect(batcher.run(inputs), inputs)
                except BaseException as fault:
                    faults.append(fault)

        with oc.Batcher(session(), max_batch=8, batch_sizes=[4]) as batcher:
            threads = [threading.Thread(target=call, args=(batcher, caller)) for caller in range(6)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            self.assertEqual(faults, [])
            self.assertEqual(batcher.stats().requests, 240)

    def test_errors_are_the_requests_own(self):
        table = ("t", np.array([5, 6, 7], np.float32))
        model = models.model([helper.make_node("Gather", ["t", "i"], ["y"])], [("i", TensorProto.INT64, ["N"])],
                             [("y", TensorProto.FLOAT, ["N"])], [table])
        with oc.Batcher(session(model), max_batch=2, max_delay_s=3600) as batcher:
            good, bad = batcher.submit({"i": np.array([2])}), batcher.submit({"i": np.array([9])})
            self.assertEqual(good.result()[0].tolist(), [7])
            self.assertRaises(oc.InvalidArgument, bad.result)

    def test_a_request_that_waits_too_long_is_cancelled(self):
        with oc.Batcher(session(), max_delay_s=3600) as batcher:
            with self.assertRaisesRegex(oc.Cancelled, "deadline"):
                batcher.run(feed(1), timeout_s=0.02)

    def test_cancel_of_a_future(self):
        batcher = oc.Batcher(session(), max_batch=3, max_delay_s=3600)
        future = batcher.submit(feed(1))
        self.assertTrue(future.cancel())
        inputs = feed(2, 3)
        self.expect(batcher.run(inputs), inputs)
        self.assertEqual(batcher.stats().cancelled, 1)

    def test_await(self):
        async def both(batcher):
            return await asyncio.gather(batcher.submit(feed(1)), batcher.submit(feed(2)))

        with oc.Batcher(session(), max_batch=2, max_delay_s=3600) as batcher:
            first, second = asyncio.run(both(batcher))
        self.expect(first, feed(1))
        self.expect(second, feed(2))

    def test_it_ends_what_waits_and_lets_go_of_the_session(self):
        s = session()
        watched = weakref.ref(s)
        batcher = oc.Batcher(s, max_delay_s=3600)
        del s
        future = batcher.submit(feed(1))
        del batcher
        self.expect(future.result(), feed(1))
        del future
        self.assertIsNone(watched())

    def test_what_it_does_not_take(self):
        with oc.Batcher(session(), max_batch=2, max_delay_s=3600, max_queued=2) as batcher:
            waits = batcher.submit(feed(1))
            self.assertRaisesRegex(oc.ResourceExhausted, "max_queued = 2", batcher.run, feed(1, 2))
            self.assertRaisesRegex(oc.InvalidArgument, "3 rows, expected 1 to 2", batcher.run, feed(1, 3))
            self.assertRaises(oc.InvalidArgument, batcher.run, {"a": feed(1)["a"]})
            batcher.stop()
            self.expect(waits.result(), feed(1))
            self.assertRaisesRegex(oc.FailedPrecondition, "stopped", batcher.run, feed(1))
        self.assertRaisesRegex(oc.InvalidArgument, "max_batch", oc.Batcher, session(), max_batch=0)
        self.assertRaisesRegex(oc.InvalidArgument, "max_delay_s", oc.Batcher, session(), max_delay_s=float("nan"))


class DevicesTest(unittest.TestCase):
    def test_the_list_of_devices_is_assigned(self):
        options = oc.SessionOptions()
        options.devices = [1, 0]
        self.assertEqual(options.devices, (1, 0))  # append to it is an error
        with self.assertRaisesRegex(oc.InvalidArgument, "expected a list of numbers, found 0"):
            options.devices = 0
        options.device = "cpu"
        with self.assertRaisesRegex(oc.InvalidArgument, "option devices: expected none for the CPU device"):
            oc.InferenceSession(models.add(), options)
        self.assertEqual(oc.InferenceSession(models.add(), options, providers=["CPUExecutionProvider"]).device, "cpu")

    def test_a_session_says_what_each_device_ran(self):
        s = session()
        s.run(None, feed(1))
        self.assertEqual([(d.device_id, d.runs, d.running, d.is_lost) for d in s._session.stats().devices], [(0, 1, 0, False)])

    def test_a_warm_up_builds_what_the_first_run_needs(self):
        s = session()
        s.warm_up(feed(1), 2)
        self.assertEqual((s.stats().programs_built, s.stats().devices[0].runs), (1, 0))
        np.testing.assert_array_equal(s.run(["sum"], feed(1))[0], feed(1)["a"] + feed(1)["b"])
        self.assertEqual((s.stats().programs_built, s.stats().devices[0].runs), (1, 1))
        with self.assertRaisesRegex(oc.InvalidArgument, "expected 2 inputs"):
            s.warm_up({"a": feed(1)["a"]})
        with self.assertRaisesRegex(oc.InvalidArgument, "expected 1 run at once or more, found 0"):
            s.warm_up(feed(1), 0)
