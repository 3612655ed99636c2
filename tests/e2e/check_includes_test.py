"""tools/check_includes.py."""

import pathlib
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "tools"))
import check_includes


def breaches(path, header):
    with tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder, path)
        file.parent.mkdir(parents=True)
        file.write_text(f"// first line\n#include {header}\n")
        return check_includes.check(pathlib.Path(folder))


class CheckIncludesTest(unittest.TestCase):
    def test_names_a_breach(self):
        self.assertEqual(
            breaches("runtime/graph/a.h", '"runtime/ops/op_def.h"'),
            ["runtime/graph/a.h: includes runtime/ops/op_def.h: runtime/graph may include runtime/base"],
        )
        self.assertEqual(breaches("passes/rewrite/a.cc", '"runtime/plan/engine.h"'), [])
        self.assertEqual(len(breaches("passes/rewrite/a.cc", '"runtime/session.h"')), 1)

    def test_third_party_headers_have_their_places(self):
        self.assertEqual(len(breaches("runtime/graph/graph.h", '"onnx/onnx_pb.h"')), 1)
        self.assertEqual(breaches("runtime/graph/infer.cc", '"onnx/defs/schema.h"'), [])
        self.assertEqual(len(breaches("runtime/exec/a.cc", "<cuda_runtime.h>")), 1)

    def test_public_header_is_standard_library_only(self):
        self.assertEqual(breaches("runtime/session.h", "<vector>"), [])
        self.assertEqual(len(breaches("runtime/session.h", '"absl/status/status.h"')), 1)


if __name__ == "__main__":
    unittest.main()
