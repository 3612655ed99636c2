"""tools/check_includes.py."""

import pathlib
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "tools"))
import check_includes


def breaches(path, header):
    return breaches_of([path], header)


def breaches_of(paths, header):
    with tempfile.TemporaryDirectory() as folder:
        for path in paths:
            file = pathlib.Path(folder, path)
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(f"// first line\n#include {header}\n")
        return check_includes.check(pathlib.Path(folder))


class CheckIncludesTest(unittest.TestCase):
    def test_names_a_breach(self):
        self.assertEqual(
            breaches("runtime/graph/a.h", '"runtime/ops/op_def.h"'),
            ["runtime/graph/a.h: includes runtime/ops/op_def.h: runtime/graph may include runtime/base"],
        )
        self.assertEqual(breaches("passes/rewrite/a.cc", '"runtime/plan/engine.h"'), [])
        self.assertEqual(len(breaches("passes/rewrite/a.cc", '"onnx_cudnn/session.h"')), 1)
        self.assertEqual(breaches("passes/rewrite/a.cc", '"onnx_cudnn/dtype.h"'), [])
        self.assertEqual(breaches("examples/a.cc", '"onnx_cudnn/session.h"'), [])
        self.assertEqual(len(breaches("examples/a.cc", '"runtime/session/arguments.h"')), 1)
        self.assertEqual(breaches("python/src/a.cc", '"onnx_cudnn/session.h"'), [])
        self.assertEqual(len(breaches("python/src/a.cc", '"runtime/session/arguments.h"')), 1)
        self.assertEqual(breaches("runtime/triton/a.cc", '"onnx_cudnn/session.h"'), [])
        self.assertEqual(len(breaches("runtime/triton/a.cc", '"runtime/session/arguments.h"')), 1)

    def test_third_party_headers_have_their_places(self):
        self.assertEqual(len(breaches("runtime/graph/graph.h", '"onnx/onnx_pb.h"')), 1)
        self.assertEqual(breaches("runtime/graph/infer.cc", '"onnx/defs/schema.h"'), [])
        self.assertEqual(len(breaches("runtime/exec/a.cc", "<cuda_runtime.h>")), 1)
        self.assertEqual(breaches("python/src/a.cc", "<nanobind/nanobind.h>"), [])
        self.assertEqual(len(breaches("tools/a.cc", "<nanobind/nanobind.h>")), 1)
        self.assertEqual(breaches("runtime/tune/plan_cache.cc", "<nlohmann/json.hpp>"), [])
        self.assertEqual(len(breaches("runtime/tune/plan_cache.h", "<nlohmann/json.hpp>")), 1)
        self.assertEqual(breaches("runtime/triton/triton_api.h", '"triton/core/tritonbackend.h"'), [])
        self.assertEqual(len(breaches("runtime/triton/errors.h", '"triton/core/tritonserver.h"')), 1)

    def test_tuning_includes_plans_and_devices(self):
        self.assertEqual(breaches("runtime/tune/a.cc", '"runtime/exec/device.h"'), [])
        self.assertEqual(len(breaches("runtime/tune/a.cc", '"runtime/cuda/launch.h"')), 1)
        self.assertEqual(len(breaches("passes/a.cc", '"runtime/tune/tuner.h"')), 1)

    def test_cuda_halves_include_their_rules_and_the_cuda_room(self):
        self.assertEqual(breaches("runtime/gemm/cuda/a.cc", '"runtime/gemm/epilogue.h"'), [])
        self.assertEqual(breaches("runtime/gemm/cuda/a.cc", '"runtime/cuda/launch.h"'), [])
        self.assertEqual(len(breaches("runtime/gemm/cuda/a.cc", '"runtime/cudnn/fusion.h"')), 1)
        self.assertEqual(len(breaches("runtime/gemm/a.cc", '"runtime/gemm/cuda/lower.h"')), 1)
        self.assertEqual(len(breaches("runtime/cuda/a.cc", '"runtime/kernels/cuda/common/kernel_call.h"')), 1)
        self.assertEqual(len(breaches("runtime/exec/a.cc", '"runtime/cuda/cuda_device.h"')), 1)

    def test_cuda_headers_stand_in_the_cuda_halves(self):
        for path in ("runtime/cuda/a.h", "runtime/kernels/cuda/a.cu", "tests/gpu/a.cc"):
            self.assertEqual(breaches(path, "<cuda_runtime.h>"), [])
        self.assertEqual(len(breaches("runtime/gemm/a.cc", "<cublasLt.h>")), 1)
        self.assertEqual(len(breaches("runtime/session/engines.cc", "<cuda_runtime_api.h>")), 1)

    def test_the_frontend_stands_in_three_files(self):
        three = [f"runtime/cudnn/cuda/{name}.cc" for name in "abc"]
        self.assertEqual(breaches_of(three, "<cudnn_frontend.h>"), [])
        self.assertEqual(len(breaches_of([*three, "runtime/cudnn/cuda/d.cc"], "<cudnn_frontend.h>")), 1)
        self.assertEqual(len(breaches("runtime/cudnn/cuda/a.h", "<cudnn_frontend.h>")), 1)

    def test_public_header_is_standard_library_only(self):
        self.assertEqual(breaches("runtime/include/onnx_cudnn/session.h", "<vector>"), [])
        self.assertEqual(len(breaches("runtime/include/onnx_cudnn/session.h", '"absl/status/status.h"')), 1)


if __name__ == "__main__":
    unittest.main()
