"""Scripts in the form of onnxruntime's documentation, run with `import onnxruntime as ort` and with `import onnx_cudnn as ort`: the results agree. PAGES
follow the calls of its pages, on models of ours."""

import pathlib
import subprocess
import sys
import tempfile
import unittest

import models
import numpy as np
import onnx
from onnx import TensorProto, helper

# Each script has ort, np, the path `model` of an MLP x[N,8] to y[N,4], and the array x[3,8]; it leaves its results in `found`, a list of arrays.
SCRIPTS = {
    "load and run": """
session = ort.InferenceSession(model)
outputs = session.run(None, {"x": x})
found = outputs
""",
    "names from the session": """
session = ort.InferenceSession(model, providers=["CPUExecutionProvider"])
input_name = session.get_inputs()[0].name
label_name = session.get_outputs()[0].name
found = session.run([label_name], {input_name: x.astype(np.float32)})
""",
    "facts of inputs and outputs": """
session = ort.InferenceSession(model, providers=["CPUExecutionProvider"])
found = [np.array([f"{node.name} {node.type} {node.shape}" for node in session.get_inputs() + session.get_outputs()])]
""",
    "providers": """
session = ort.InferenceSession(model, providers=["CPUExecutionProvider"])
assert "CPUExecutionProvider" in ort.get_available_providers()
assert session.get_providers() == ["CPUExecutionProvider"]
found = session.run(None, {"x": x})
""",
    "session options": """
options = ort.SessionOptions()
options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_ENABLE_ALL
options.intra_op_num_threads = 1
options.inter_op_num_threads = 1
options.execution_mode = ort.ExecutionMode.ORT_SEQUENTIAL
options.enable_mem_pattern = False
options.log_severity_level = 3
session = ort.InferenceSession(model, sess_options=options, providers=["CPUExecutionProvider"])
found = session.run(None, {"x": x})
""",
    "a model in memory": """
with open(model, "rb") as file:
    session = ort.InferenceSession(file.read(), providers=["CPUExecutionProvider"])
found = session.run(["y"], {"x": x})
""",
    "an OrtValue as input": """
session = ort.InferenceSession(model, providers=["CPUExecutionProvider"])
ortvalue = ort.OrtValue.ortvalue_from_numpy(x)
assert ortvalue.device_name() == "cpu"
assert ortvalue.shape() == list(x.shape)
assert ortvalue.data_type() == "tensor(float)"
assert ortvalue.is_tensor()
assert np.array_equal(ortvalue.numpy(), x)
found = session.run(["y"], {"x": ortvalue})
""",
    "run with OrtValues": """
session = ort.InferenceSession(model, providers=["CPUExecutionProvider"])
results = session.run_with_ort_values(["y"], {"x": ort.OrtValue.ortvalue_from_numpy(x)})
found = [results[0].numpy()]
""",
    "IO binding, outputs where the runtime puts them": """
session = ort.InferenceSession(model, providers=["CPUExecutionProvider"])
io_binding = session.io_binding()
io_binding.bind_cpu_input("x", x)
io_binding.bind_output("y")
session.run_with_iobinding(io_binding)
found = [io_binding.copy_outputs_to_cpu()[0]]
""",
    "IO binding, memory of the caller": """
session = ort.InferenceSession(model, providers=["CPUExecutionProvider"])
X_ortvalue = ort.OrtValue.ortvalue_from_numpy(x, "cpu", 0)
Y_ortvalue = ort.OrtValue.ortvalue_from_shape_and_type([3, 4], np.float32, "cpu", 0)
io_binding = session.io_binding()
io_binding.bind_input(name="x", device_type=X_ortvalue.device_name(), device_id=0, element_type=np.float32, shape=X_ortvalue.shape(), buffer_ptr=X_ortvalue.data_ptr())
io_binding.bind_output(name="y", device_type=Y_ortvalue.device_name(), device_id=0, element_type=np.float32, shape=Y_ortvalue.shape(), buffer_ptr=Y_ortvalue.data_ptr())
session.run_with_iobinding(io_binding)
found = [Y_ortvalue.numpy(), io_binding.get_outputs()[0].numpy()]
""",
    "IO binding, bound OrtValues": """
session = ort.InferenceSession(model, providers=["CPUExecutionProvider"])
io_binding = session.io_binding()
io_binding.bind_ortvalue_input("x", ort.OrtValue.ortvalue_from_numpy(x))
io_binding.bind_output("y", "cpu")
io_binding.synchronize_inputs()
session.run_with_iobinding(io_binding)
io_binding.synchronize_outputs()
found = [value.numpy() for value in io_binding.get_outputs()]
""",
    "run options": """
session = ort.InferenceSession(model, providers=["CPUExecutionProvider"])
run_options = ort.RunOptions()
run_options.log_severity_level = 3
run_options.logid = "mine"
found = session.run(["y"], {"x": x}, run_options)
""",
    "asynchronous": """
import threading
session = ort.InferenceSession(model, providers=["CPUExecutionProvider"])
ended, found = threading.Event(), []
def callback(results, user_data, err):
    found.extend(results)
    ended.set()
session.run_async(["y"], {"x": x}, callback, None)
assert ended.wait(30)
""",
    "another batch": """
session = ort.InferenceSession(model, providers=["CPUExecutionProvider"])
found = [session.run(None, {"x": x[:n]})[0] for n in (1, 2, 3)]
""",
    "strings": """
session = ort.InferenceSession(words, providers=["CPUExecutionProvider"])
found = session.run(None, {"x": np.array(["ab", "c"], dtype=object)})
""",
    "errors are exceptions": """
session = ort.InferenceSession(model, providers=["CPUExecutionProvider"])
def raises(*arguments):
    try:
        session.run(*arguments)
    except Exception:
        return True
    return False
found = [np.array([raises(None, {"x": x.astype(np.float64)}), raises(None, {"z": x}), raises(["z"], {"x": x}), raises(None, {"x": x})])]
""",
}

DOCUMENTS = "https://onnxruntime.ai/docs/api/python/"
PAGES = {
    "tutorial.html": """
sess = ort.InferenceSession(model, providers=ort.get_available_providers())
input_name = sess.get_inputs()[0].name
label_name = sess.get_outputs()[0].name
found = [sess.run([label_name], {input_name: x.astype(np.float32)})[0]]
found += sess.run(None, {input_name: x.astype(np.float32)})
""",
    "auto_examples/plot_load_and_predict.html": """
sess = ort.InferenceSession(model, providers=ort.get_available_providers())
said = []
for value in (sess.get_inputs()[0], sess.get_outputs()[0]):
    said += [f"name {value.name}", f"shape {value.shape}", f"type {value.type}"]
found = [np.array(said)] + sess.run([sess.get_outputs()[0].name], {sess.get_inputs()[0].name: x})
""",
    "auto_examples/plot_metadata.html": """
import pathlib
sess = ort.InferenceSession(model, providers=ort.get_available_providers())
meta = sess.get_modelmeta()
in_memory = ort.InferenceSession(pathlib.Path(model).read_bytes(), providers=ort.get_available_providers()).get_modelmeta()
found = [np.array([f"{name}={getattr(meta, name)}" for meta in (meta, in_memory)
                   for name in ("description", "domain", "graph_name", "graph_description", "producer_name", "version")]),
         np.array(sorted(meta.custom_metadata_map.items()))]
assert "version=3" in found[0] and "graph_name=graph" in found[0] and len(found[1]) == 2, found
""",
    "auto_examples/plot_common_errors.html": """
sess = ort.InferenceSession(model, providers=ort.get_available_providers())
input_name, output_name = sess.get_inputs()[0].name, sess.get_outputs()[0].name
found = []
def attempt(outputs, inputs):
    try:
        found.extend(sess.run(outputs, inputs))
    except Exception as e:
        found.append(np.array(["error"]))
attempt([output_name], {input_name: x.astype(np.float64)})
attempt(["misspelled"], {input_name: x})
attempt(None, {input_name: x})
attempt([output_name], {"misspelled": x})
for wrong in (x[0], x[:, :4], x[None, :, :4], np.concatenate([x, x], axis=1)):
    attempt([output_name], {input_name: wrong})
assert sum(array.shape == (1,) for array in found) == 7, found
""",
    "auto_examples/plot_backend.html": """
import importlib
import onnx
backend = importlib.import_module(ort.__name__ + ".backend")
found = []
for prepared in (backend.prepare(onnx.load(model), ort.get_device()), backend.prepare(model, ort.get_device())):
    found.extend(prepared.run(x))
assert backend.supports_device("CPU")
""",
    "api_summary.html#load-and-run-a-model": """
options = ort.SessionOptions()
options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_ENABLE_ALL
session = ort.InferenceSession(model, sess_options=options, providers=["CPUExecutionProvider"])
found = session.run(["y"], {"x": x})
""",
    "api_summary.html#data-on-cpu": """
ortvalue = ort.OrtValue.ortvalue_from_numpy(x)
found = [np.array([ortvalue.device_name(), str(ortvalue.shape()), ortvalue.data_type(), str(ortvalue.is_tensor())]), ortvalue.numpy()]
session = ort.InferenceSession(model, providers=["CPUExecutionProvider"])
found += session.run(["y"], {"x": ortvalue})
""",
    "api_summary.html#data-on-device (on the CPU)": """
X_ortvalue = ort.OrtValue.ortvalue_from_numpy(x, "cpu", 0)
Y_ortvalue = ort.OrtValue.ortvalue_from_shape_and_type([3, 4], np.float32, "cpu", 0)
session = ort.InferenceSession(model, providers=["CPUExecutionProvider"])
def given(io_binding):
    io_binding.bind_input(name="x", device_type=X_ortvalue.device_name(), device_id=0, element_type=np.float32, shape=X_ortvalue.shape(), buffer_ptr=X_ortvalue.data_ptr())
def bound(*calls):
    io_binding = session.io_binding()
    for call in calls:
        call(io_binding)
    session.run_with_iobinding(io_binding)
    return io_binding
found = [bound(given, lambda b: b.bind_output("y")).copy_outputs_to_cpu()[0]]
found.append(bound(given, lambda b: b.bind_output("y", "cpu")).get_outputs()[0].numpy())
bound(given, lambda b: b.bind_output(name="y", device_type="cpu", device_id=0, element_type=np.float32, shape=Y_ortvalue.shape(), buffer_ptr=Y_ortvalue.data_ptr()))
found.append(Y_ortvalue.numpy().copy())
bound(lambda b: b.bind_ortvalue_input("x", X_ortvalue), lambda b: b.bind_ortvalue_output("y", Y_ortvalue))
found.append(Y_ortvalue.numpy())
""",
}
SCRIPTS |= {DOCUMENTS + page: script for page, script in PAGES.items()}


def results(package, script, arguments):
    scope = dict(arguments)
    exec(f"import {package} as ort\nimport numpy as np\n{script}", scope)
    return scope["found"]


def with_metadata(serialized):
    model = onnx.load_from_string(serialized)
    model.producer_name, model.producer_version, model.domain, model.model_version, model.doc_string = "maker", "1.2", "com.example", 3, "an MLP of größe 3"
    model.graph.doc_string = "three layers"
    onnx.helper.set_model_props(model, {"author": "somebody", "empty": ""})
    return model.SerializeToString()


class SnippetsTest(unittest.TestCase):
    def test_both_imports_give_the_same_results(self):
        rng = np.random.default_rng(0)
        with tempfile.TemporaryDirectory() as folder:
            model = pathlib.Path(folder, "model.onnx")
            model.write_bytes(with_metadata(models.mlp(rng)))
            words = models.model([helper.make_node("Identity", ["x"], ["y"])], [("x", TensorProto.STRING, ["N"])], [("y", TensorProto.STRING, ["N"])])
            arguments = {"model": str(model), "words": words, "x": rng.standard_normal((3, 8)).astype(np.float32)}
            for name, script in SCRIPTS.items():
                with self.subTest(name):
                    expected = results("onnxruntime", script, arguments)
                    found = results("onnx_cudnn", script, arguments)
                    self.assertEqual(len(found), len(expected))
                    for ours, theirs in zip(found, expected, strict=True):
                        self.assertEqual((ours.dtype, ours.shape), (theirs.dtype, theirs.shape))
                        if ours.dtype.kind == "f":
                            np.testing.assert_allclose(ours, theirs, rtol=1e-5, atol=1e-6)
                        else:
                            np.testing.assert_array_equal(ours, theirs)


class OneProcessTest(unittest.TestCase):
    def test_loads_beside_onnx_and_onnxruntime_in_any_order(self):
        script = """
import sys; sys.path[:0] = {path!r}
{imports}
import numpy as np, models
x = np.ones((2, 3), np.float32)
model = models.add()
onnx.checker.check_model(onnx.load_from_string(model))
found = [ort.InferenceSession(model, providers=["CPUExecutionProvider"]).run(None, {{"a": x, "b": x}})[0].sum() for ort in (onnxruntime, onnx_cudnn)]
assert found == [12, 12], found
"""
        for order in (("onnx_cudnn", "onnx", "onnxruntime"), ("onnxruntime", "onnx", "onnx_cudnn"), ("onnx", "onnx_cudnn", "onnxruntime")):
            with self.subTest(order=order):
                imports = "\n".join(f"import {name}" for name in order)
                done = subprocess.run(
                    [sys.executable, "-c", script.format(path=sys.path, imports=imports)], capture_output=True, text=True, timeout=120, check=False
                )
                self.assertEqual(done.returncode, 0, done.stderr)


if __name__ == "__main__":
    unittest.main()
