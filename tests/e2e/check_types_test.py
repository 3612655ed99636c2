"""tools/check_types.py."""

import pathlib
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "tools"))
import check_types


def types(text):
    return list(check_types.types_of(text))


class CheckTypesTest(unittest.TestCase):
    def test_names_a_type_of_two_files(self):
        with tempfile.TemporaryDirectory() as folder:
            for path, text in {
                "runtime/a.h": "namespace onnx_cudnn {\nstruct Tile { int rows; };\nstruct Here {};\n}\n",
                "runtime/kernels/b.cuh": "namespace onnx_cudnn {\nstruct Tile { float rows; };\n}\n",
                "tests/c.cc": "namespace onnx_cudnn {\nnamespace {\nstruct Here {};\n}\n}\n",
            }.items():
                file = pathlib.Path(folder, path)
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_text(text)
            self.assertEqual(
                check_types.check(pathlib.Path(folder)),
                ["onnx_cudnn::Tile: defined in runtime/a.h, runtime/kernels/b.cuh: rename all but one"],
            )

    def test_reads_every_kind_of_type(self):
        self.assertEqual(
            types(
                """namespace onnx_cudnn {
                class A final : public ns::Base<int> {};
                enum class B : uint8_t { kOne };
                union C { int i; };
                template <typename T, int n>
                struct alignas(2 * sizeof(T)) D { enum Inner { kTwo }; struct Nested {}; };
                template <>
                struct D<float, 2> {};
                struct A::Impl { int i = 0; };
                }"""
            ),
            [f"onnx_cudnn::{name}" for name in ("A", "B", "C", "D", "D<float,2>", "A::Impl")],
        )

    def test_a_namespace_is_part_of_the_name(self):
        self.assertEqual(types("namespace onnx_cudnn::conv {\nstruct Tile {};\n}"), ["onnx_cudnn::conv::Tile"])
        self.assertEqual(types("namespace onnx_cudnn {\nnamespace conv {\nstruct Tile {};\n}\n}"), ["onnx_cudnn::conv::Tile"])
        self.assertEqual(types("namespace other {\nstruct Tile {};\n}\nstruct Tile {};"), [])

    def test_declarations_functions_comments_and_literals_define_none(self):
        self.assertEqual(
            types(
                """namespace onnx_cudnn {
                // struct A {
                class A;
                struct B* Find(const struct B& b) { struct Local {}; return nullptr; }
                #define MAKES(name) struct name {
                constexpr char kText[] = "struct C {", kBrace = '{', kRaw[] = R"(struct D { ")";
                constexpr int kMany = 1'000'000;
                template <class T> void Run(T x) { x(); }
                std::vector<struct E> none = {};
                }
                struct AfterTheNamespace {};"""
            ),
            [],
        )


if __name__ == "__main__":
    unittest.main()
