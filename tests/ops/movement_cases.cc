#include "tests/ops/cases.h"

namespace onnx_cudnn {
namespace {

using Ints = std::vector<int64_t>;

const HostTensor kAbsent;

HostTensor Six() { return F32({2, 3}, {1, 2, 3, 4, 5, 6}); }
HostTensor Eight() { return F32({2, 2, 2}, {0, 1, 2, 3, 4, 5, 6, 7}); }
Attrs Axis(int64_t axis) { return {{"axis", axis}}; }
Attrs Text(const char* name, const char* text) { return {{name, std::string(text)}}; }

std::vector<OpCase> ShapeCases() {
  return {
      {"Identity", {Six()}, {}, {Six()}},
      {"Identity", {F32({}, {3})}, {}, {F32({}, {3})}},
      {"Dropout", {Six(), F32({}, {0.5}), Bools({}, {0})}, {}, {Six()}},
      {"Reshape", {Six(), RowI({3, -1})}, {}, {F32({3, 2}, {1, 2, 3, 4, 5, 6})}},
      {"Reshape", {F32({0, 3}, {}), RowI({3, 0})}, {{"allowzero", int64_t{1}}}, {F32({3, 0}, {})}},
      {"Flatten", {Eight()}, Axis(-1), {F32({4, 2}, {0, 1, 2, 3, 4, 5, 6, 7})}},
      {"Squeeze", {F32({1, 2, 1}, {5, 6}), RowI({-1})}, {}, {F32({1, 2}, {5, 6})}},
      {"Unsqueeze", {Row({5, 6}), RowI({0, -1})}, {}, {F32({1, 2, 1}, {5, 6})}},
      {"Shape", {F32({2, 0, 3}, {})}, {}, {RowI({2, 0, 3})}},
      {"Shape",
       {F32({2, 0, 3}, {})},
       {{"start", int64_t{-2}}, {"end", int64_t{9}}},
       {RowI({0, 3})}},
      {"Shape", {F32({}, {1})}, {}, {RowI({})}},
      {"Size", {Six()}, {}, {I64({}, {6})}},
      {"ConstantOfShape", {RowI({2, 2})}, {}, {F32({2, 2}, {0, 0, 0, 0})}},
      {"ConstantOfShape", {RowI({3})}, {{"value", RowI({7})}}, {RowI({7, 7, 7})}},
      {"EyeLike",
       {F32({2, 3}, {0, 0, 0, 0, 0, 0})},
       {{"k", int64_t{1}}},
       {F32({2, 3}, {0, 1, 0, 0, 0, 1})}},
      {"EyeLike",
       {F32({2, 2}, {0, 0, 0, 0})},
       {{"k", int64_t{-1}}, {"dtype", int64_t{7}}},
       {I64({2, 2}, {0, 0, 1, 0})}},
      {"Range", {I64({}, {3}), I64({}, {9}), I64({}, {3})}, {}, {RowI({3, 6})}},
      {"Range", {F32({}, {1}), F32({}, {0}), F32({}, {-0.25})}, {}, {Row({1, 0.75, 0.5, 0.25})}},
      {"Range", {I32({}, {3}), I32({}, {3}), I32({}, {1})}, {}, {I32({0}, {})}},
      {"Range",  // counted in double: in float their quotient is above 5
       {F32({}, {-2.96}), F32({}, {-0.37}), F32({}, {0.518})},
       {},
       {Row({-2.96, -2.442, -1.924, -1.406, -0.888})},
       {},
       1e-6},
      {"Range",  // and here not above 2
       {F32({}, {4.4}), F32({}, {0.4}), F32({}, {-2})},
       {},
       {Row({4.4, 2.4, 0.4})},
       {},
       1e-6},
      {"Range",
       {TensorOf(DType::kI16, {}, {7}), TensorOf(DType::kI16, {}, {0}),
        TensorOf(DType::kI16, {}, {-3})},
       {},
       {TensorOf(DType::kI16, {3}, {7, 4, 1})}},
      {"Range",
       {TensorOf(DType::kF16, {}, {0}), TensorOf(DType::kF16, {}, {1}),
        TensorOf(DType::kF16, {}, {0.5})},
       {},
       {TensorOf(DType::kF16, {2}, {0, 0.5})}},
      {"OneHot",
       {RowI({1, -1, 5}), I64({}, {3}), Row({0, 9})},
       {},
       {F32({3, 3}, {0, 9, 0, 0, 0, 9, 0, 0, 0})}},
      {"OneHot", {RowI({1, 0}), I64({1}, {2}), RowI({2, 5})}, Axis(0), {I64({2, 2}, {2, 5, 5, 2})}},
  };
}

// Random numbers of which nothing is left to chance.
std::vector<OpCase> RandomCases() {
  const Attrs uniform = {{"low", 2.5F}, {"high", 2.5F}}, normal = {{"mean", 1.5F}, {"scale", 0.0F}};
  Attrs shaped_uniform = uniform, shaped_normal = normal;
  for (Attrs* attrs : {&shaped_uniform, &shaped_normal}) attrs->Set("shape", Ints{3});
  return {
      {"Dropout",
       {Six(), F32({}, {0}), Bools({}, {1})},
       {},
       {Six(), Bools({2, 3}, {1, 1, 1, 1, 1, 1})}},
      {"RandomUniform", {}, shaped_uniform, {Row({2.5, 2.5, 2.5})}},
      {"RandomNormal", {}, shaped_normal, {Row({1.5, 1.5, 1.5})}},
      {"RandomUniformLike", {Row({7, 8})}, uniform, {Row({2.5, 2.5})}},
      {"RandomNormalLike", {F32({0, 2}, {})}, normal, {F32({0, 2}, {})}},
      {"Bernoulli", {Row({0, 1, 1})}, {}, {Row({0, 1, 1})}},
      {"Bernoulli", {Row({0, 1})}, {{"dtype", int64_t{9}}}, {RowB({0, 1})}},
      {"Multinomial",
       {F32({2, 3}, {-kInf, -80, -kInf, 5, -kInf, -kInf})},
       {{"sample_size", int64_t{2}}},
       {I32({2, 2}, {1, 1, 0, 0})}},
      {"Multinomial", {F32({1, 1}, {0})}, {{"dtype", int64_t{7}}}, {I64({1, 1}, {0})}},
  };
}

std::vector<OpCase> CopyCases() {
  return {
      {"Transpose", {Six()}, {}, {F32({3, 2}, {1, 4, 2, 5, 3, 6})}},
      {"Transpose",
       {Eight()},
       {{"perm", Ints{1, 0, 2}}},
       {F32({2, 2, 2}, {0, 1, 4, 5, 2, 3, 6, 7})}},
      {"Transpose",
       {Eight()},
       {{"perm", Ints{2, 0, 1}}},
       {F32({2, 2, 2}, {0, 2, 4, 6, 1, 3, 5, 7})}},
      {"Transpose", {F32({}, {4})}, {}, {F32({}, {4})}},
      {"Transpose", {F32({0, 2}, {})}, {}, {F32({2, 0}, {})}},
      {"Concat", {Six(), F32({2, 1}, {8, 9})}, Axis(-1), {F32({2, 4}, {1, 2, 3, 8, 4, 5, 6, 9})}},
      {"Concat", {RowI({1}), RowI({}), RowI({2, 3})}, Axis(0), {RowI({1, 2, 3})}},
      {"Split", {Six(), RowI({1, 2})}, Axis(1), {F32({2, 1}, {1, 4}), F32({2, 2}, {2, 3, 5, 6})}},
      {"Split", {RowI({1, 2, 3})}, {{"num_outputs", int64_t{2}}}, {RowI({1, 2}), RowI({3})}},
      {"Slice", {Six(), RowI({1}), RowI({1000}), RowI({-1})}, {}, {F32({2, 2}, {2, 3, 5, 6})}},
      {"Slice",
       {Six(), RowI({-1, 0}), RowI({-1000, 3}), RowI({0, 1}), RowI({-1, 2})},
       {},
       {F32({2, 2}, {4, 6, 1, 3})}},
      {"Slice",
       {Row({0, 1, 2, 3, 4}), RowI({3}), RowI({0}), kAbsent, RowI({-2})},
       {},
       {Row({3, 1})}},
      {"Slice", {Row({0, 1}), RowI({1}), RowI({1})}, {}, {Row({})}},
      {"Slice",  // a start below the axis is its first element, downwards too
       {Row({5, 6, 7}), RowI({-100}), RowI({-0x1p63}), RowI({0}), RowI({-1})},
       {},
       {Row({5})}},
      {"Slice", {Row({}), RowI({-100}), RowI({-0x1p63}), RowI({0}), RowI({-1})}, {}, {Row({})}},
      {"Expand",
       {F32({2, 1}, {1, 2}), RowI({2, 1, 3})},
       {},
       {F32({2, 2, 3}, {1, 1, 1, 2, 2, 2, 1, 1, 1, 2, 2, 2})}},
      {"Expand", {Six(), RowI({1})}, {}, {Six()}},
      {"Expand", {F32({}, {7}), RowI({2})}, {}, {Row({7, 7})}},
      {"Tile",
       {F32({2, 2}, {1, 2, 3, 4}), RowI({1, 2})},
       {},
       {F32({2, 4}, {1, 2, 1, 2, 3, 4, 3, 4})}},
      {"Tile", {Row({1, 2}), RowI({0})}, {}, {Row({})}},
  };
}

std::vector<OpCase> BlockAndTriangleCases() {
  const HostTensor deep = F32({1, 8, 1, 1}, {0, 1, 2, 3, 4, 5, 6, 7});
  const HostTensor wide = F32({1, 2, 2, 2}, {0, 2, 4, 6, 1, 3, 5, 7});
  const HostTensor wide_crd = F32({1, 2, 2, 2}, {0, 1, 2, 3, 4, 5, 6, 7});
  const Attrs of_2 = {{"blocksize", int64_t{2}}};
  const Attrs of_2_crd = {{"blocksize", int64_t{2}}, {"mode", std::string("CRD")}};
  return {
      {"DepthToSpace", {deep}, of_2, {wide}},
      {"DepthToSpace", {deep}, of_2_crd, {wide_crd}},
      {"SpaceToDepth", {wide}, of_2, {deep}},
      {"SpaceToDepth", {wide_crd}, of_2_crd, {deep}},
      {"Trilu", {Six()}, {}, {F32({2, 3}, {1, 2, 3, 0, 5, 6})}},
      {"Trilu", {Six(), I64({}, {1})}, {{"upper", int64_t{0}}}, {F32({2, 3}, {1, 2, 0, 4, 5, 6})}},
      {"Trilu", {Six(), I64({}, {9e18})}, {}, {F32({2, 3}, {0, 0, 0, 0, 0, 0})}},
      {"CumSum", {Six(), I64({}, {-1})}, {}, {F32({2, 3}, {1, 3, 6, 4, 9, 15})}},
      {"CumSum",
       {Six(), I64({}, {0})},
       {{"reverse", int64_t{1}}},
       {F32({2, 3}, {5, 7, 9, 4, 5, 6})}},
      {"CumSum", {RowI({1, 2, 3}), I32({}, {0})}, {{"exclusive", int64_t{1}}}, {RowI({0, 1, 3})}},
  };
}

// A pad of rows that are longer than a vector: numbers from 1 on, {top, left, bottom, right}.
// `source_of`(x, extent) is the position that position x shows, or -1.
OpCase WidePad(const char* mode, int rows, int columns, const std::vector<double>& pads,
               int (*source_of)(int x, int extent)) {
  const int top = static_cast<int>(pads[0]), left = static_cast<int>(pads[1]);
  const int height = rows + top + static_cast<int>(pads[2]);
  const int width = columns + left + static_cast<int>(pads[3]);
  std::vector<double> numbers, padded;
  for (int i = 0; i < rows * columns; ++i) numbers.push_back(i + 1);
  for (int i = 0; i < height * width; ++i) {
    const int y = source_of(i / width - top, rows), x = source_of(i % width - left, columns);
    padded.push_back(y < 0 || x < 0 ? 0 : y * columns + x + 1);
  }
  return {"Pad",
          {F32({rows, columns}, numbers), RowI(pads)},
          Text("mode", mode),
          {F32({height, width}, padded)}};
}
int Inside(int x, int extent) { return x < extent ? x : -1; }
int Nearest(int x, int extent) { return x < 0 ? 0 : x < extent ? x : extent - 1; }
int Reflected(int x, int extent) { return x < 0 ? -x : x < extent ? x : 2 * (extent - 1) - x; }
int Round(int x, int extent) { return (x + extent) % extent; }

std::vector<OpCase> PadCases() {
  const HostTensor row = Row({1, 2, 3});
  return {
      {"Pad", {row, RowI({1, 2})}, {}, {Row({0, 1, 2, 3, 0, 0})}},
      {"Pad", {row, RowI({-1, 1}), F32({}, {9})}, {}, {Row({2, 3, 9})}},
      {"Pad",
       {Six(), RowI({1, 0}), kAbsent, RowI({-2})},
       {},
       {F32({3, 3}, {0, 0, 0, 1, 2, 3, 4, 5, 6})}},
      {"Pad", {row, RowI({1, 0}), kAbsent, I32({1}, {0})}, {}, {Row({0, 1, 2, 3})}},
      {"Pad", {row, RowI({2, 2})}, Text("mode", "reflect"), {Row({3, 2, 1, 2, 3, 2, 1})}},
      {"Pad", {row, RowI({2, 1})}, Text("mode", "edge"), {Row({1, 1, 1, 2, 3, 3})}},
      {"Pad", {row, RowI({1, 2})}, Text("mode", "wrap"), {Row({3, 1, 2, 3, 1, 2})}},
      {"Pad",
       {F32({2, 2}, {1, 2, 3, 4}), RowI({1, 0, 0, 1})},
       Text("mode", "edge"),
       {F32({3, 3}, {1, 2, 2, 1, 2, 2, 3, 4, 4})}},
      {"Pad", {F32({0}, {}), RowI({1, 1})}, {}, {Row({0, 0})}},
      WidePad("constant", 3, 30, {1, 1, 1, 1}, Inside),
      WidePad("constant", 4, 29, {1, 1, 1, 3}, Inside),
      WidePad("constant", 3, 40, {-1, 1, 1, -4}, Inside),
      WidePad("edge", 3, 45, {1, 2, 0, 2}, Nearest),
      WidePad("reflect", 4, 44, {1, 2, 2, 2}, Reflected),
      WidePad("wrap", 3, 43, {1, 3, 1, 2}, Round),
  };
}

std::vector<OpCase> IndexCases() {
  const HostTensor square = F32({2, 2}, {1, 2, 3, 4});
  return {
      {"Gather", {Six(), I64({2, 1}, {-1, 0})}, {}, {F32({2, 1, 3}, {4, 5, 6, 1, 2, 3})}},
      {"Gather", {Six(), I32({}, {1})}, Axis(1), {Row({2, 5})}},
      {"Gather", {Six(), I64({0}, {})}, Axis(1), {F32({2, 0}, {})}},
      {"GatherElements",
       {square, I64({2, 2}, {0, 0, -1, 0})},
       Axis(1),
       {F32({2, 2}, {1, 1, 4, 3})}},
      {"GatherElements", {Six(), I64({1, 2}, {1, 0})}, Axis(0), {F32({1, 2}, {4, 2})}},
      {"GatherND", {square, I64({2, 2}, {0, 0, 1, -1})}, {}, {Row({1, 4})}},
      {"GatherND", {square, I64({1, 1}, {1})}, {}, {F32({1, 2}, {3, 4})}},
      {"GatherND", {square, RowI({1, 0})}, {}, {F32({}, {3})}},
      {"GatherND",
       {Eight(), I64({2, 1}, {1, 0})},
       {{"batch_dims", int64_t{1}}},
       {F32({2, 2}, {2, 3, 4, 5})}},
      {"ScatterElements", {Row({1, 2, 3}), RowI({2, -3}), Row({9, 8})}, {}, {Row({8, 2, 9})}},
      {"ScatterElements",
       {square, I64({1, 2}, {1, 1}), F32({1, 2}, {10, 20})},
       {{"axis", int64_t{1}}, {"reduction", std::string("add")}},
       {F32({2, 2}, {1, 32, 3, 4})}},
      {"ScatterElements",
       {RowI({5, 5}), RowI({0, 0}), RowI({3, 2})},
       Text("reduction", "mul"),
       {RowI({30, 5})}},
      {"ScatterElements",
       {Row({5, 5}), RowI({0, 1}), Row({3, 7})},
       Text("reduction", "max"),
       {Row({5, 7})}},
      {"ScatterND",
       {RowI({1, 2, 3, 4}), I64({2, 1}, {3, 0}), RowI({9, 8})},
       {},
       {RowI({8, 2, 3, 9})}},
      {"ScatterND",
       {square, I64({1, 1}, {-1}), F32({1, 2}, {7, 8})},
       {},
       {F32({2, 2}, {1, 2, 7, 8})}},
      {"ScatterND",
       {square, I64({2, 2}, {0, 1, 0, 1}), Row({1, 0})},
       Text("reduction", "min"),
       {F32({2, 2}, {1, 0, 3, 4})}},
  };
}

}  // namespace

std::vector<OpCase> MovementCases() {
  return Joined({ShapeCases, RandomCases, CopyCases, BlockAndTriangleCases, PadCases, IndexCases});
}

std::vector<OpCase> MovementErrorCases() {
  const auto fails = [](std::string op, std::vector<HostTensor> inputs, Attrs attrs,
                        std::string error) {
    return OpCase{.op = std::move(op),
                  .inputs = std::move(inputs),
                  .attrs = std::move(attrs),
                  .error = std::move(error)};
  };
  return {
      fails("Gather", {Six(), RowI({0, 3})}, Axis(1), "index 3 is outside extent 3 of axis 1"),
      fails("Gather", {Six(), RowI({-3})}, {}, "index -3 is outside extent 2 of axis 0"),
      fails("GatherElements", {Six(), I64({1, 1}, {5})}, Axis(1),
            "index 5 is outside extent 3 of axis 1"),
      fails("GatherND", {Six(), I64({1, 2}, {1, 7})}, {}, "index 7 is outside extent 3 of axis 1"),
      fails("ScatterElements", {Row({1}), RowI({1}), Row({1})}, {},
            "index 1 is outside extent 1 of axis 0"),
      fails("ScatterND", {Row({1}), I64({1, 1}, {-2}), Row({1})}, {},
            "index -2 is outside extent 1 of axis 0"),
      fails("CumSum", {Six(), I64({}, {2})}, {}, "axis 2 is outside rank 2"),
      fails("Pad", {F32({0}, {}), RowI({1, 1})}, Text("mode", "wrap"), "no element to repeat"),
      fails("Dropout", {Six(), F32({}, {1}), Bools({}, {1})}, {}, "ratio 1 is outside [0, 1)"),
      fails("Multinomial", {F32({2, 2}, {0, 1, -kInf, -kInf})}, {},
            "the largest log-probability of row 1 is -inf"),
      fails("Multinomial", {F32({1, 3}, {0, kNaN, 1})}, {},
            "the largest log-probability of row 0 is nan"),
      fails("Range", {I64({}, {0}), I64({}, {1}), I64({}, {0})}, {}, "delta is 0"),
      fails("Range", {Row({0}), Row({kInf}), Row({1})}, {}, "a range of inf elements"),
      fails("ScatterND", {Row({1}), I64({1, 1}, {0}), Row({1})}, Text("reduction", "xor"),
            "\"xor\" is unknown"),
      fails("Pad", {F32({0}, {}), RowI({1, 1})}, Text("mode", "edge"), "no element to repeat"),
  };
}

}  // namespace onnx_cudnn
