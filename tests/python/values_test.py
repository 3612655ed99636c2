"""OrtValue, IOBinding and Binding: the same memory on both sides, and what is refused."""

import ctypes
import gc
import unittest
import weakref

import ml_dtypes
import models
import numpy as np
from onnx import TensorProto, helper

import onnx_cudnn as oc

A = np.arange(6, dtype=np.float32).reshape(2, 3)
B = np.full((2, 3), 10, np.float32)


def address(array):
    return array.__array_interface__["data"][0]


def session(model=None):
    return oc.InferenceSession(model or models.add(), providers=["CPUExecutionProvider"])


class Producer:
    """Shows an array through DLPack alone."""

    def __init__(self, array):
        self.array = array

    def __dlpack__(self, **arguments):
        return self.array.__dlpack__(**arguments)

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()


class Described:
    """Shows an array through __array_interface__ alone."""

    def __init__(self, array):
        self.array = array
        self.__array_interface__ = array.__array_interface__


class OrtValueTest(unittest.TestCase):
    def test_facts(self):
        value = oc.OrtValue.ortvalue_from_numpy(A)
        self.assertEqual((value.device_name(), value.shape(), value.data_type(), value.element_type()), ("cpu", [2, 3], "tensor(float)", 1))
        self.assertTrue(value.has_value() and value.is_tensor())
        self.assertFalse(value.is_sparse_tensor() or value.is_tensor_sequence())

    def test_looks_at_the_memory_of_an_array_and_keeps_it(self):
        array = A.copy()
        value = oc.OrtValue.ortvalue_from_numpy(array)
        self.assertEqual(value.data_ptr(), address(array))
        array[0, 0] = 42
        alive = weakref.ref(array)
        del array
        gc.collect()
        self.assertIsNotNone(alive())
        self.assertEqual(value.numpy()[0, 0], 42)
        del value
        gc.collect()
        self.assertIsNone(alive())

    def test_numpy_looks_at_the_memory_of_the_value(self):
        value = oc.OrtValue.ortvalue_from_shape_and_type([2, 3], np.float32)
        self.assertEqual({address(value.numpy()), address(np.asarray(value))}, {value.data_ptr()})
        self.assertEqual(value.data_ptr() % 64, 0)
        value.numpy()[:] = 7
        self.assertEqual(np.asarray(value).sum(), 42)

    def test_dlpack_both_ways_without_a_copy(self):
        value = oc.OrtValue.ortvalue_from_numpy(A)
        self.assertEqual(value.__dlpack_device__(), (1, 0))
        self.assertEqual(address(np.from_dlpack(value)), address(A))
        for shown in (Producer(A), A.__dlpack__()):
            self.assertEqual(oc.OrtValue.from_dlpack(shown).data_ptr(), address(A))
        np.testing.assert_array_equal(np.from_dlpack(oc.OrtValue.from_dlpack(Producer(A))), A)

    def test_a_dlpack_tensor_outlives_the_value(self):
        array = np.from_dlpack(oc.OrtValue.ortvalue_from_numpy(A.copy()))
        gc.collect()
        np.testing.assert_array_equal(array, A)

    def test_the_producer_is_released(self):
        array = A.copy()
        value = oc.OrtValue.from_dlpack(Producer(array))
        alive = weakref.ref(array)
        del array
        gc.collect()
        self.assertIsNotNone(alive())
        del value
        gc.collect()
        self.assertIsNone(alive())

    def test_strides_of_dlpack_are_refused_except_for_extents_of_one(self):
        with self.assertRaisesRegex(oc.InvalidArgument, "row-major"):
            oc.OrtValue.from_dlpack(Producer(A.T))
        row = A[:, :1].T  # [1,2] with a stride of 12 bytes
        with self.assertRaisesRegex(oc.InvalidArgument, "row-major"):
            oc.OrtValue.from_dlpack(Producer(row))
        self.assertEqual(oc.OrtValue.from_dlpack(Producer(A[:1])).shape(), [1, 3])
        self.assertEqual(oc.OrtValue.from_dlpack(Producer(A[:1].T)).shape(), [3, 1])

    def test_interfaces_are_those_of_the_device(self):
        value = oc.OrtValue.ortvalue_from_numpy(A)
        self.assertTrue(hasattr(value, "__array_interface__"))
        self.assertFalse(hasattr(value, "__cuda_array_interface__"))
        self.assertEqual(value.__array_interface__["data"][0], address(A))

    def test_types_of_ml_dtypes(self):
        x = np.array([1, -2, 0.5], ml_dtypes.bfloat16)
        value = oc.OrtValue.ortvalue_from_numpy(x)
        self.assertEqual((value.data_type(), value.data_ptr()), ("tensor(bfloat16)", address(x)))
        np.testing.assert_array_equal(value.numpy(), x)
        value = oc.OrtValue.ortvalue_from_numpy(np.array([1, -2, 3], ml_dtypes.int4))
        self.assertEqual((value.data_type(), value.numpy().astype(int).tolist()), ("tensor(int4)", [1, -2, 3]))
        self.assertFalse(hasattr(value, "__array_interface__"))
        self.assertEqual(bytes((ctypes.c_uint8 * 2).from_address(value.data_ptr())), b"\xe1\x03")

    def test_update_inplace(self):
        value = oc.OrtValue.ortvalue_from_numpy(A.copy())
        pointer = value.data_ptr()
        value.update_inplace(B)
        self.assertEqual((value.data_ptr(), value.numpy().tolist()), (pointer, B.tolist()))
        with self.assertRaisesRegex(oc.InvalidArgument, r"tensor\(float\) \[2, 3\], found tensor\(double\) \[2, 3\]"):
            value.update_inplace(B.astype(np.float64))

    def test_a_gpu_that_is_not_there(self):
        if oc.get_device() == "GPU":
            self.skipTest("there is a GPU")
        with self.assertRaisesRegex(oc.FailedPrecondition, "no NVIDIA driver"):
            oc.OrtValue.ortvalue_from_numpy(A, "cuda")
        with self.assertRaisesRegex(oc.InvalidArgument, '"tpu"'):
            oc.OrtValue.ortvalue_from_numpy(A, "tpu")


class RunTest(unittest.TestCase):
    def test_inputs_of_every_kind(self):
        value = oc.OrtValue.ortvalue_from_numpy(A)
        for a in (value, Producer(A), Described(A), A):
            with self.subTest(kind=type(a).__name__):
                np.testing.assert_array_equal(session().run(["sum"], {"a": a, "b": B})[0], A + B)

    def test_described_types_are_not_converted(self):
        with self.assertRaisesRegex(oc.InvalidArgument, "f64"):
            session().run(None, {"a": Described(A.astype(np.float64)), "b": B})

    def test_run_with_ort_values(self):
        found = session().run_with_ort_values(["sum"], {"a": oc.OrtValue.ortvalue_from_numpy(A), "b": oc.OrtValue.ortvalue_from_numpy(B)})
        self.assertIsInstance(found[0], oc.OrtValue)
        np.testing.assert_array_equal(found[0].numpy(), A + B)


class IOBindingTest(unittest.TestCase):
    def test_outputs_in_new_memory_in_the_order_of_binding(self):
        s = session()
        binding = s.io_binding()
        binding.bind_cpu_input("a", A)
        binding.bind_ortvalue_input("b", oc.OrtValue.ortvalue_from_numpy(B))
        binding.bind_output("difference")
        binding.bind_output("sum")
        s.run_with_iobinding(binding)
        difference, total = binding.copy_outputs_to_cpu()
        np.testing.assert_array_equal(difference, A - B)
        np.testing.assert_array_equal(total, A + B)
        self.assertEqual([value.shape() for value in binding.get_outputs()], [[2, 3], [2, 3]])

    def test_memory_of_the_caller(self):
        s = session()
        a, out = A.copy(), oc.OrtValue.ortvalue_from_shape_and_type([2, 3], np.float32)
        raw = np.zeros((2, 3), np.float32)
        binding = s.io_binding()
        binding.bind_input("a", "cpu", 0, np.float32, a.shape, address(a))
        binding.bind_cpu_input("b", B)
        binding.bind_ortvalue_output("sum", out)
        binding.bind_output("difference", "cpu", 0, np.float32, raw.shape, address(raw))
        for _ in range(2):
            a += 1
            s.run_with_iobinding(binding)
            np.testing.assert_array_equal(out.numpy(), a + B)
            np.testing.assert_array_equal(raw, a - B)

    def test_what_is_not_bound_is_not_handed_out(self):
        s = session()
        out = oc.OrtValue.ortvalue_from_shape_and_type([2, 3], np.float32)
        binding = s.io_binding()
        binding.bind_cpu_input("a", A)
        binding.bind_cpu_input("b", B)
        binding.bind_ortvalue_output("difference", out)
        s.run_with_iobinding(binding)
        self.assertEqual(len(binding.get_outputs()), 1)
        np.testing.assert_array_equal(out.numpy(), A - B)

    def test_an_output_whose_shape_depends_on_data_needs_memory_or_the_hosts(self):
        nodes = [helper.make_node("Relu", ["x"], ["y"]), helper.make_node("NonZero", ["x"], ["found"])]
        outputs = [("y", TensorProto.FLOAT, ("N",)), ("found", TensorProto.INT64, (1, "K"))]
        s = session(models.model(nodes, [("x", TensorProto.FLOAT, ("N",))], outputs))
        x = np.array([1, 0, 2], np.float32)
        binding = s.io_binding()
        binding.bind_cpu_input("x", x)
        binding.bind_output("y")
        binding.bind_output("found")
        s.run_with_iobinding(binding)
        np.testing.assert_array_equal(binding.copy_outputs_to_cpu()[1], [[0, 2]])
        binding.bind_ortvalue_output("y", oc.OrtValue.ortvalue_from_shape_and_type([3], np.float32))
        with self.assertRaisesRegex(oc.InvalidArgument, '"found": its shape depends on data'):
            s.run_with_iobinding(binding)
        found = np.zeros((1, 2), np.int64)
        binding.bind_output("found", "cpu", 0, np.int64, found.shape, address(found))
        s.run_with_iobinding(binding)
        np.testing.assert_array_equal(found, [[0, 2]])
        binding.bind_output("y")  # its shape is known
        s.run_with_iobinding(binding)
        np.testing.assert_array_equal(binding.copy_outputs_to_cpu()[0], [1, 0, 2])

    def test_errors(self):
        s = session()
        binding = s.io_binding()
        with self.assertRaisesRegex(oc.InvalidArgument, "product"):
            binding.bind_output("product")
        with self.assertRaisesRegex(oc.InvalidArgument, "needs element_type and shape"):
            binding.bind_output("sum", buffer_ptr=1)
        binding.bind_cpu_input("a", A)
        binding.bind_output("sum")
        with self.assertRaisesRegex(oc.InvalidArgument, "2 inputs"):
            s.run_with_iobinding(binding)
        binding.bind_cpu_input("b", B)
        binding.bind_ortvalue_output("sum", oc.OrtValue.ortvalue_from_shape_and_type([2, 2], np.float32))
        with self.assertRaises(oc.InvalidArgument):
            s.run_with_iobinding(binding)
        binding.clear_binding_outputs()
        self.assertEqual(binding.get_outputs(), [])


class BindingTest(unittest.TestCase):
    def test_reads_and_writes_in_place(self):
        a, total, difference = A.copy(), np.empty((2, 3), np.float32), np.empty((2, 3), np.float32)
        binding = session().bind({"a": a, "b": B}, {"sum": total, "difference": Producer(difference)})
        for _ in range(2):
            a += 1
            binding.run()
            np.testing.assert_array_equal(total, a + B)
            np.testing.assert_array_equal(difference, a - B)
        self.assertEqual(len(binding.time_runs(3)), 3)

    def test_outputs_are_never_copies(self):
        s = session()
        inputs, good = {"a": A, "b": B}, np.empty((2, 3), np.float32)
        read_only = good.copy()
        read_only.flags.writeable = False
        for bad, pattern in ((good.T.copy().T, "contiguous"), (read_only, "writable"), ([[0]], "found list")):
            with self.assertRaisesRegex(oc.InvalidArgument, pattern):
                s.bind(inputs, {"sum": good, "difference": bad})
        strings = np.array(["a"], object)
        with self.assertRaisesRegex(oc.InvalidArgument, "another layout"):
            session(models.identity(TensorProto.STRING)).bind({"x": strings}, {"y": strings})

    def test_read_only_memory_stays_as_it_is(self):
        read_only = A.copy()
        read_only.flags.writeable = False
        value = oc.OrtValue.ortvalue_from_numpy(read_only)
        self.assertFalse(value.numpy().flags.writeable)
        self.assertFalse(np.asarray(value).flags.writeable)
        io = session().io_binding()
        for write in (
            lambda: value.update_inplace(B),
            lambda: io.bind_ortvalue_output("sum", value),
            lambda: session().bind({"a": A, "b": B}, {"sum": value, "difference": np.empty((2, 3), np.float32)}),
        ):
            with self.assertRaisesRegex(oc.InvalidArgument, "read-only"):
                write()
        with self.assertRaisesRegex(BufferError, "read-only"):
            np.from_dlpack(value)
        np.testing.assert_array_equal(session().run(["sum"], {"a": value, "b": B})[0], A + B)


class CudaInterfaceTest(unittest.TestCase):
    """What needs no GPU of __cuda_array_interface__; tests/python/gpu_test.py has the rest."""

    def test_strides_and_types_are_refused(self):
        class Shown:
            def __init__(self, **facts):
                self.__cuda_array_interface__ = {"version": 3, "shape": (2, 3), "typestr": "<f4", "data": (0, False), "strides": None, **facts}

        with self.assertRaisesRegex(oc.InvalidArgument, "row-major"):
            session().run(None, {"a": Shown(strides=(4, 8)), "b": B})
        with self.assertRaisesRegex(oc.InvalidArgument, "byte order"):
            session().run(None, {"a": Shown(typestr=">f4"), "b": B})


if __name__ == "__main__":
    unittest.main()
