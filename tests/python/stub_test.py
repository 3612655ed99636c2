"""The type stubs: checked by mypy, and complete."""

import ast
import pathlib
import subprocess
import sys
import unittest

import onnx_cudnn
from onnx_cudnn import _core

PACKAGE = pathlib.Path(onnx_cudnn.__file__).resolve().parent

SCRIPT = """
import numpy as np
import onnx_cudnn as oc

options = oc.SessionOptions()
options.intra_op_num_threads = 1
session = oc.InferenceSession("model.onnx", options, providers=["CPUExecutionProvider"])
x = np.zeros((2, 3), np.float32)
reveal_type(session.run(None, {"x": x}))
reveal_type(session.get_inputs()[0].shape)
reveal_type(oc.OrtValue.ortvalue_from_numpy(x).data_ptr())
oc.SessionOptions().threads = "one"
session.run(3, {})
"""


def mypy(*arguments):
    command = [sys.executable, "-m", "mypy", "--strict", "--config-file=", "--cache-dir=/dev/null", *arguments]
    return subprocess.run(command, cwd=PACKAGE.parent, env={"MYPYPATH": str(PACKAGE.parent), "PATH": ""}, capture_output=True, text=True, timeout=250, check=False)


class StubTest(unittest.TestCase):
    def test_the_package_is_typed(self):
        done = mypy("-p", "onnx_cudnn")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_the_header_for_ops_of_ones_own(self):
        self.assertTrue((pathlib.Path(onnx_cudnn.get_include()) / "onnx_cudnn_op.h").is_file())

    def test_users_see_the_types(self):
        lines = [line.partition("error: ")[2] or line.partition("note: ")[2] for line in mypy("-c", SCRIPT).stdout.splitlines()]
        self.assertRegex(lines[0], r'"list\[.*ndarray\[.*\]\]"')
        self.assertRegex(lines[1], r'list\[int \| str \| None\]')
        self.assertRegex(lines[2], 'int')
        self.assertRegex(lines[3], r'"str", variable has type "int"')
        self.assertRegex(lines[4], r'"run" of "InferenceSession" has incompatible type "int"')

    def test_the_stub_has_what_the_module_has(self):
        stub = ast.parse((PACKAGE / "_core.pyi").read_text())
        classes = {node.name: node for node in stub.body if isinstance(node, ast.ClassDef) and node.name != "_Choice"}

        def names(body):
            for node in body:
                if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
                    yield node.name
                elif isinstance(node, ast.AnnAssign):
                    yield node.target.id

        def public(thing):
            return {name for name in vars(thing) if not name.startswith("_")}

        self.assertEqual(set(names(stub.body)) - {"_Choice"}, public(_core))
        for name, node in classes.items():
            with self.subTest(name):
                self.assertEqual({n for n in names(node.body) if not n.startswith("__")}, public(getattr(_core, name)))

    def test_everything_public_is_documented(self):
        for name in onnx_cudnn.__all__:
            self.assertTrue(getattr(onnx_cudnn, name).__doc__, name)
        for owner in (onnx_cudnn.SessionOptions, onnx_cudnn.RunOptions, onnx_cudnn.InferenceSession, onnx_cudnn.OrtValue, onnx_cudnn.Binding, onnx_cudnn.IOBinding):
            for name, member in vars(owner).items():
                self.assertTrue(name.startswith("_") or member.__doc__, f"{owner.__name__}.{name}")


if __name__ == "__main__":
    unittest.main()
