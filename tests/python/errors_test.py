"""The numbers of the package's errors."""

import pathlib
import re
import unittest

import onnx_cudnn as oc


class CodesTest(unittest.TestCase):
    def test_codes_are_those_of_the_c_api(self):
        header = pathlib.Path(oc.get_include(), "onnx_cudnn.h").read_text()
        numbers = re.findall(r"^  ONNX_CUDNN_(\w+) = (\d+)", header[header.index("onnx_cudnn_status;") : header.index("onnx_cudnn_last_error(void)")], re.MULTILINE)
        self.assertEqual({code.name: code.value for code in oc.ErrorCode} | {"OK": 0}, {name: int(number) for name, number in numbers})
        self.assertEqual([error.code for error in oc.errors.BY_CODE], list(oc.ErrorCode))


if __name__ == "__main__":
    unittest.main()
