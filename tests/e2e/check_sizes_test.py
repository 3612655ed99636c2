"""tools/check_sizes.py."""

import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "tools"))
import check_sizes


def breaches(path, text):
    return list(check_sizes.check_text(path, text))


def function(head, lines, indent=""):
    """A function of so many lines in all."""
    return "\n".join([f"{indent}{head} {{", *[f"{indent}  Step();"] * (lines - 2), f"{indent}}}", ""])


class CheckSizesTest(unittest.TestCase):
    def test_names_a_long_file(self):
        self.assertEqual(breaches("runtime/a.cc", "\n" * 400), [])
        self.assertEqual(breaches("runtime/a.cc", "\n" * 401), ["runtime/a.cc: 401 lines, at most 400"])

    def test_names_a_long_function(self):
        self.assertEqual(breaches("passes/a.cc", function("void Run()", 60)), [])
        self.assertEqual(
            breaches("passes/a.cc", "int one;\n" + function("void Run()", 61)),
            ["passes/a.cc:2: Run has 61 lines, at most 60"],
        )

    def test_finds_functions_in_namespaces_and_classes(self):
        text = "namespace a {\nclass B final : public C {\n" + function("int Run() const override", 61, "  ") + "};\n}\n"
        self.assertEqual(breaches("runtime/a.h", text), ["runtime/a.h:3: Run has 61 lines, at most 60"])

    def test_counts_the_lines_of_templates_and_parameters(self):
        text = "template <typename T, class U>\n" + function("void A::Run(T t,\n            U u)", 59)
        self.assertEqual(breaches("runtime/a.h", text), ["runtime/a.h:1: A::Run has 61 lines, at most 60"])

    def test_lambdas_and_loops_belong_to_their_function(self):
        body = "  const auto f = [](int i) {\n    if (i) {\n    }\n  };\n" * 15
        self.assertEqual(len(breaches("runtime/a.cc", f"void Run() {{\n{body}}}\n")), 1)

    def test_namespaces_tables_comments_and_literals_are_no_functions(self):
        text = 'namespace a {\nconstexpr int kTable[] = {\n' + "1,\n" * 70 + '};\n// void Run() {\nchar b = \'{\', c[] = "f() {";\n}\n'
        self.assertEqual(breaches("runtime/a.cc", text), [])

    def test_text_in_a_raw_literal_counts_as_lines_alone(self):
        text = 'void Run() {\n  Use(R"(' + "{\n" * 40 + ')");\n}\n' + function("void Long()", 61)
        self.assertEqual(breaches("tests/a.cc", text), ["tests/a.cc:44: Long has 61 lines, at most 60"])

    def test_kernels_and_tables_may_be_long(self):
        self.assertEqual(breaches("runtime/kernels/cuda/a.cu", function("__global__ void Run()", 90)), [])
        self.assertEqual(breaches("runtime/kernels/cuda/a.cuh", function("template <int n>\n__device__ void Run()", 90)), [])
        self.assertEqual(breaches(check_sizes.TABLES[0], function("int Table()", 500)), [])

    def test_host_functions_beside_kernels_are_short(self):
        text = function("__global__ void Run()", 90) + function("KernelCall CallOf()", 61)
        self.assertEqual(breaches("runtime/kernels/cuda/a.cu", text), ["runtime/kernels/cuda/a.cu:91: CallOf has 61 lines, at most 60"])

    def test_names_a_long_function_in_python(self):
        text = "def run():\n" + "    step()\n" * 60
        self.assertEqual(breaches("tools/a.py", text), ["tools/a.py:1: run has 61 lines, at most 60"])


if __name__ == "__main__":
    unittest.main()
