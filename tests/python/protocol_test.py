"""Bodies of HTTP requests: the Open Inference Protocol and numpy's files."""

import io
import json
import tracemalloc
import unittest
import zipfile
from unittest import mock

import ml_dtypes
import numpy as np

import onnx_cudnn as oc
from onnx_cudnn import _npy, _protocol
from onnx_cudnn._protocol import BINARY, HEADER_LENGTH, JSON, NPY, NPZ, HttpError


class Node:
    def __init__(self, name, kind, shape):
        self.name, self.type, self.shape = name, f"tensor({kind})", shape


X = [Node("x", "float", ["N", 2])]


def tensor(data, datatype="FP32", shape=None, name="x", **more):
    return {"name": name, "datatype": datatype, "shape": [len(data)] if shape is None else shape, "data": data, **more}


def read(body, kind=JSON, query=(), inputs=X, **headers):
    content = body if isinstance(body, bytes) else json.dumps(body).encode()
    return _protocol.read({"content-type": kind, **headers}, dict(query), content, inputs)


def saved(array, **arguments):
    file = io.BytesIO()
    np.save(file, array, **arguments)
    return file.getvalue()


def saved_all(save=np.savez, **arrays):
    file = io.BytesIO()
    save(file, **arrays)
    return file.getvalue()


def npy(header):
    """A .npy file without data, of a header as text."""
    return b"\x93NUMPY\x01\0" + len(header).to_bytes(2, "little") + header.encode()


class JsonTest(unittest.TestCase):
    def test_types(self):
        for datatype, data, expected in (
            ("FP32", [[1, 2.5]], np.array([1, 2.5], np.float32)), ("INT8", [-128, 127], np.array([-128, 127], np.int8)), ("BOOL", [True, False], np.array([True, False])),
            ("UINT64", [2**64 - 1], np.array([2**64 - 1], np.uint64)), ("FP16", [0.1], np.array([0.1], np.float16)), ("BYTES", ["ä", ""], np.array(["ä", ""], object)),
            ("BF16", [1.5], np.array([1.5], ml_dtypes.bfloat16)), ("INT64", [], np.array([], np.int64)),
        ):  # fmt: skip
            with self.subTest(datatype):
                found = read({"inputs": [tensor(data, datatype, [expected.size])]}).inputs["x"]
                self.assertEqual(found.dtype, expected.dtype)
                np.testing.assert_array_equal(found, expected)
        self.assertEqual(read({"inputs": [tensor([1, 2, 3, 4], shape=[2, 2])]}).inputs["x"].tolist(), [[1, 2], [3, 4]])

    def test_bf16_is_rounded_with_and_without_ml_dtypes(self):
        # 1 + 2⁻⁸ and 1 + 3 · 2⁻⁸ are in the middle of two; the last two lie beyond the largest number and below the middle to it.
        numbers = [[1.5, -2, 1 + 2**-8, 1 + 3 * 2**-8, 1 + 2**-8 + 2**-20], [float("nan"), float("-inf"), 1e300, 3.4e38, 3.39e38]]
        bits = [[0x3FC0, 0xC000, 0x3F80, 0x3F82, 0x3F81], [0x7FC0, 0xFF80, 0x7F80, 0x7F80, 0x7F7F]]
        for data, shape, expected in ((numbers, [2, 5], bits), ([3, 257], [2], [0x4040, 0x4380]), (-2, [], 0xC000)):
            body = {"inputs": [tensor(data if shape else [data], "BF16", shape)]}
            found = read(body).inputs["x"]
            self.assertEqual((found.dtype, found.view(np.uint16).tolist()), (ml_dtypes.bfloat16, expected))
            with mock.patch.dict("sys.modules", ml_dtypes=None):
                without = read(body).inputs["x"]
            self.assertEqual((without.dtype, without.tolist()), (np.uint16, expected))
        with self.assertRaisesRegex(oc.InvalidArgument, "expected BF16"):
            read({"inputs": [tensor(["1"], "BF16")]})

    def test_what_is_asked_for(self):
        request = read({"id": "7", "inputs": [tensor([1])], "outputs": [{"name": "y"}], "parameters": {"timeout": 1500}})
        self.assertEqual((request.id, request.outputs, request.form, request.binary), ("7", ["y"], JSON, frozenset()))
        self.assertAlmostEqual(request.timeout_s, 0.0015)
        self.assertEqual(read({"inputs": [tensor([1])]}, query={"timeout_s": "2"}).timeout_s, 2)
        self.assertEqual(read({"inputs": [tensor([1])]}).outputs, None)

    def test_what_is_wrong(self):
        for body, text in (
            (b"{", "JSONDecodeError"), (b"[" * 100_000, "RecursionError"), (b"\xff", "UnicodeDecodeError"), ([], "expected {"), ({"inputs": {}}, "expected {"),
            ({"inputs": [3]}, "input: expected the field name, found 3"), ({"inputs": [tensor([1], "FP8")]}, "datatype: expected of BOOL"),
            ({"inputs": [tensor([1, 2], shape=[3])]}, r"shape \[3\] has 3 elements, data 2"), ({"inputs": [tensor([1], shape=[-1])]}, "shape: expected numbers ≥ 0"),
            ({"inputs": [tensor([[1], [1, 2]], shape=[3])]}, "ValueError"), ({"inputs": [tensor([1.5], "INT32")]}, "expected INT32, found float64"),
            ({"inputs": [tensor([300], "UINT8")]}, "out of the range of UINT8"), ({"inputs": [tensor([-1], "UINT64")]}, "out of the range"),
            ({"inputs": [tensor(["1"])]}, "expected FP32"), ({"inputs": [tensor([1], "BYTES")]}, "expected texts"), ({"inputs": [tensor([1], "BOOL")]}, "expected BOOL"),
            ({"inputs": [tensor([None])]}, "expected FP32, found object"), ({"inputs": [tensor([1]), tensor([1])]}, "'x' is there twice"),
            ({"inputs": [tensor([2**70], "INT64")]}, "expected INT64"), ({"inputs": [tensor([1])], "outputs": ["y"]}, "output: expected the field name"),
            ({"inputs": [tensor([1])], "id": 3}, "id: expected a text"), ({"inputs": [tensor([1])], "parameters": {"timeout": "soon"}}, "ValueError"),
            ({"inputs": [tensor(["a"], "BYTES", [10**14])]}, "100000000000000 elements, data 1"), ({"inputs": [tensor([1], parameters=3)]}, "parameters: expected values by name"),
        ):  # fmt: skip
            with self.subTest(text), self.assertRaisesRegex(oc.InvalidArgument, text):
                read(body)

    def test_what_is_not_supported(self):
        for body in ({"inputs": [tensor([1], parameters={"shared_memory_region": "r"})]}, {"inputs": [tensor([1])], "outputs": [{"name": "y", "parameters": {"classification": 3}}]}):
            with self.assertRaises(oc.Unimplemented):
                read(body)
        with self.assertRaises(HttpError) as refused:
            read(b"x=1", "application/x-www-form-urlencoded")
        self.assertEqual(refused.exception.status, 415)


class BinaryTest(unittest.TestCase):
    def body(self, *tensors, **request):
        """The request's JSON, with the bytes of each tensor behind it."""
        inputs = [{**described, "parameters": {"binary_data_size": len(data)}} for described, data in tensors]
        head = json.dumps({"inputs": inputs, **request}).encode()
        return head + b"".join(data for _, data in tensors), str(len(head))

    def read(self, *tensors, cut=0, **request):
        body, length = self.body(*tensors, **request)
        return read(body[: len(body) - cut], BINARY, **{HEADER_LENGTH: length})

    def test_numbers_and_texts(self):
        described = {"name": "x", "datatype": "FP32", "shape": [2]}
        texts = {"name": "s", "datatype": "BYTES", "shape": [1, 2]}
        request = self.read((texts, b"\x02\0\0\0\xc3\xa4\0\0\0\0"), (described, np.array([1, 2], "<f4").tobytes()), parameters={"binary_data_output": True})
        self.assertEqual((request.inputs["x"].tolist(), request.inputs["s"].tolist(), request.binary), ([1, 2], [["ä", ""]], True))
        self.assertTrue(request.inputs["x"].flags.aligned)

    def test_bytes_that_do_not_fit(self):
        described, texts = {"name": "x", "datatype": "FP32", "shape": [2]}, {"name": "s", "datatype": "BYTES", "shape": [1]}
        for parts, cut, text in (([(described, bytes(4))], 0, r"FP32\[2\] has 8 bytes, found 4"), ([(described, bytes(8))], 1, "the bytes that are left, found 8"),
                                 ([(texts, b"\x09\0\0\0a")], 0, "expected 1 texts"), ([(texts, b"")], 0, "expected 1 texts"),
                                 ([({**texts, "shape": [10**14]}, b"\0\0\0\0")], 0, "expected 100000000000000 texts"),
                                 ([({**described, "shape": [10**14]}, b"")], 0, "has 400000000000000 bytes, found 0")):  # fmt: skip
            with self.subTest(text), self.assertRaisesRegex(oc.InvalidArgument, text):
                self.read(*parts, cut=cut)
        body, length = self.body((described, bytes(8)))
        for content, said in ((body + b"!", length), (body, str(len(body) + 1)), (body, "-1"), (body, "x")):
            with self.assertRaises(oc.InvalidArgument):
                read(content, BINARY, **{HEADER_LENGTH: said})


class NumpyTest(unittest.TestCase):
    def test_npy_is_the_only_input(self):
        x = np.arange(6, dtype=np.float32).reshape(2, 3)
        for array in (x, np.asfortranarray(x), x[:0]):
            found = read(saved(array), NPY)
            np.testing.assert_array_equal(found.inputs["x"], array)
            self.assertEqual((found.inputs["x"].shape, found.form), (array.shape, NPY))
        both = [*X, Node("z", "float", [])]
        self.assertEqual(list(read(saved(x), NPY, {"input": "z"}, both).inputs), ["z"])
        with self.assertRaisesRegex(oc.InvalidArgument, "one of x, z"):
            read(saved(x), NPY, (), both)

    def test_npz_has_inputs_by_name(self):
        x, z = np.ones((1, 2), np.float32), np.array(["a", "bc"])
        for save in (np.savez, np.savez_compressed):
            request = read(saved_all(save, x=x, z=z), NPZ)
            self.assertEqual((request.inputs["x"].tolist(), request.inputs["z"].tolist(), request.inputs["z"].dtype), ([[1, 1]], ["a", "bc"], object))

    def test_types_that_numpy_writes_as_bytes(self):
        x = np.array([1.5], ml_dtypes.bfloat16)
        found = read(saved(x), NPY, (), [Node("x", "bfloat16", ["N"])]).inputs["x"]
        self.assertEqual((found.dtype, found.tolist()), (x.dtype, [1.5]))

    def test_files_that_are_not_what_they_say(self):
        good = saved(np.zeros(4, np.float32))
        huge = good.replace(b"(4,)", b"(9,)")
        for body, kind, text in ((good[:-1], NPY, "has 16 bytes, found 15"), (huge, NPY, "has 36 bytes, found 16"), (b"x", NPY, "no .npy file"),
                                 (b"\x93NUMPY\x01\0\x08\0garbage\n", NPY, "no .npy file"), (saved(np.array([{}], object), allow_pickle=True), NPY, "Python objects"),
                                 (b"PK", NPZ, "no .npz file"), (saved_all(x=np.zeros(2))[:-30], NPZ, "no .npz file")):  # fmt: skip
            with self.subTest(text), self.assertRaisesRegex(oc.InvalidArgument, text):
                read(body, kind)


    def test_elements_without_bytes(self):
        for dtype in ("<U0", "|S0", "|V0"):
            header = repr({"descr": dtype, "fortran_order": False, "shape": (10**10,)})
            with self.subTest(dtype), self.assertRaisesRegex(oc.InvalidArgument, "has no bytes: expected a type"):
                read(npy(header), NPY)

    def test_headers_that_numpy_cannot_read(self):
        for header in ("{'descr': (", "{'descr': (), 'fortran_order': False, 'shape': ()}", "{1: 2, 'a': 3}", "(" * 5000, "-" * 9000 + "1", "[]"):
            with self.subTest(header[:20]), self.assertRaisesRegex(oc.InvalidArgument, "no .npy file|too large"):
                _npy.array_of_npy(memoryview(npy(header)), "body")

    def test_archives_that_cannot_be_read(self):
        for compression in (zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA):
            with zipfile.ZipFile(file := io.BytesIO(), "w", compression) as archive:
                archive.writestr("x.npy", saved(np.zeros(2)))
            with self.subTest(compression), self.assertRaisesRegex(oc.InvalidArgument, "x.npy: expected a member as numpy.savez"):
                read(file.getvalue(), NPZ)
        whole = saved_all(x=np.zeros(2))
        for error in (OSError("a"), EOFError("a"), MemoryError("a")):
            with self.subTest(error), mock.patch("zipfile.ZipFile.open", side_effect=error), self.assertRaisesRegex(oc.InvalidArgument, "no .npz file: a|too large"):
                read(whole, NPZ)

    def test_an_archive_takes_no_more_memory_than_it_says(self):
        size, body = (128 + (1 << 22)).to_bytes(4, "little"), saved_all(np.savez_compressed, x=np.zeros(1 << 22, np.uint8))
        self.assertIn(size, body)
        tracemalloc.start()
        self.addCleanup(tracemalloc.stop)
        with self.assertRaises(oc.InvalidArgument):
            read(body.replace(size, (200).to_bytes(4, "little")), NPZ)
        self.assertLess(tracemalloc.get_traced_memory()[1], 1 << 20)


class AnswerTest(unittest.TestCase):
    def answer(self, request, outputs, **types):
        return _protocol.write(request, outputs, {name: f"tensor({kind})" for name, kind in types.items()}, "m", "3")

    def test_json(self):
        outputs = {"y": np.array([[1, 2]], np.float16), "s": np.array(["ä"], object), "b": np.array([1.5], ml_dtypes.bfloat16)}
        body, headers = self.answer(_protocol.Request({}, id="7"), outputs, y="float16", s="string", b="bfloat16")
        self.assertEqual(headers, {"content-type": JSON})
        self.assertEqual(json.loads(body), {"model_name": "m", "model_version": "3", "id": "7", "outputs": [
            {"name": "y", "datatype": "FP16", "shape": [1, 2], "data": [1, 2]}, {"name": "s", "datatype": "BYTES", "shape": [1], "data": ["ä"]},
            {"name": "b", "datatype": "BF16", "shape": [1], "data": [1.5]}]})  # fmt: skip

    def test_binary_outputs(self):
        request = _protocol.Request({}, binary=frozenset(["y", "s"]))
        outputs = {"y": np.array([1], np.float32), "z": np.array([2], np.int64), "s": np.array(["ab"], object)}
        body, headers = self.answer(request, outputs, y="float", z="int64", s="string")
        length = int(headers[HEADER_LENGTH])
        told = {tensor["name"]: tensor for tensor in json.loads(body[:length])["outputs"]}
        self.assertEqual((told["y"]["parameters"], told["z"]["data"], told["s"]["parameters"]), ({"binary_data_size": 4}, [2], {"binary_data_size": 6}))
        self.assertEqual(body[length:], np.array([1], np.float32).tobytes() + b"\x02\0\0\0ab")

    def test_numpy(self):
        y, z = np.ones((2, 3), np.float32), np.array(["a"], object)
        body, headers = self.answer(_protocol.Request({}, form=NPY), {"y": y}, y="float")
        self.assertEqual((np.load(io.BytesIO(body)).tolist(), headers["content-type"]), (y.tolist(), NPY))
        body, headers = self.answer(_protocol.Request({}, form=NPY), {"y": y, "z": z}, y="float", z="string")
        loaded = np.load(io.BytesIO(body))
        self.assertEqual((loaded["y"].tolist(), loaded["z"].tolist(), headers["content-type"]), (y.tolist(), ["a"], NPZ))

    def test_outputs_that_a_form_does_not_have(self):
        for value, kind in (([1], "float"), (np.zeros(1, np.int8), "int4")):
            with self.assertRaises(oc.Unimplemented):
                self.answer(_protocol.Request({}), {"y": value}, y=kind)

    def test_a_status_for_each_error(self):
        errors = oc.InvalidArgument("x"), oc.Unimplemented("x"), oc.ResourceExhausted("x"), oc.FailedPrecondition("x"), oc.Cancelled("x"), oc.Internal("x"), KeyError("x")
        self.assertEqual([_protocol.status_of(error) for error in errors], [400, 501, 503, 503, 504, 500, 500])
        self.assertEqual(json.loads(_protocol.error_body(oc.InvalidArgument('"x"'))), {"error": '"x"'})
        self.assertEqual(json.loads(_protocol.error_body(KeyError("x"))), {"error": "KeyError: 'x'"})


class RouteTest(unittest.TestCase):
    def test_paths(self):
        for method, path, what in (("POST", "/", "infer"), ("GET", "/", "model"), ("GET", "/v2", "server"), ("GET", "/v2/health/live", "ready"),
                                   ("GET", "/v2/models/m", "model"), ("GET", "/v2/models/m/ready", "ready"), ("POST", "/v2/models/m/infer", "infer"),
                                   ("POST", "/v2/models/m/versions/3/infer", "infer")):  # fmt: skip
            self.assertEqual(_protocol.route(method, path, "m", "3"), what, path)
        for method, path, status in (("GET", "/v2/models/n", 404), ("GET", "/v2/models/m/versions/4", 404), ("GET", "/else", 404), ("GET", "/v2/models", 404),
                                     ("GET", "/v2/models/m/infer", 405), ("POST", "/v2/health/ready", 405), ("PUT", "/", 405)):  # fmt: skip
            with self.subTest(path), self.assertRaises(HttpError) as refused:
                _protocol.route(method, path, "m", "3")
            self.assertEqual(refused.exception.status, status)

    def test_metadata(self):
        told = _protocol.metadata("m", "3", X, [Node("y", "float8e5m2", [None, 4])])
        self.assertEqual(told["inputs"], [{"name": "x", "datatype": "FP32", "shape": [-1, 2]}])
        self.assertEqual((told["versions"], told["outputs"][0]["datatype"], told["outputs"][0]["shape"]), (["3"], "tensor(float8e5m2)", [-1, 4]))


if __name__ == "__main__":
    unittest.main()
