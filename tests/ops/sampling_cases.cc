#include "tests/ops/cases.h"

namespace onnx_cudnn {
namespace {

using Ints = std::vector<int64_t>;

HostTensor Image() { return F32({1, 1, 2, 2}, {1, 2, 3, 4}); }

std::vector<OpCase> GridCases() {
  const auto row = [](const char* mode, const char* padding, int64_t align, double x, double y,
                      double expected) {
    return OpCase{"GridSample",
                  {Image(), F32({1, 1, 1, 2}, {x, y})},
                  {{"mode", std::string(mode)},
                   {"padding_mode", std::string(padding)},
                   {"align_corners", align}},
                  {F32({1, 1, 1, 1}, {expected})}};
  };
  return {
      row("linear", "zeros", 1, 0, 0, 2.5),
      row("linear", "zeros", 0, -1, -1, 0.25),  // three of the four neighbours are outside
      row("nearest", "zeros", 0, 0.5, -0.5, 2),
      row("nearest", "zeros", 0, 3, 3, 0),
      row("nearest", "zeros", 0, kNaN, 0, 0),
      row("linear", "border", 0, 3, kInf, 4),
      row("linear", "reflection", 0, 3, 3, 1),
      row("nearest", "reflection", 1, 3, -1, 1),
      row("cubic", "zeros", 1, -1, 1, 3),
      row("cubic", "border", 1, 0, -1, 1.5),
      {"GridSample", {F32({1, 1, 2}, {1, 2}), F32({1, 1, 1}, {0})}, {}, {F32({1, 1, 1}, {1.5})}},
      {"GridSample",
       {TensorOf(DType::kF64, {1, 1, 2}, {1, 2}), F32({1, 1, 1}, {0.25})},
       {},
       {TensorOf(DType::kF64, {1, 1, 1}, {1.75})}},
  };
}

std::vector<OpCase> RegionCases() {
  const HostTensor box = F32({1, 4}, {0, 0, 2, 2});
  const Attrs one = {{"sampling_ratio", int64_t{1}}};
  const auto y = [](double value) { return F32({1, 1, 1, 1}, {value}); };
  return {
      {"RoiAlign", {Image(), box, RowI({0})}, one, {y(2.5)}},
      {"RoiAlign",
       {Image(), box, RowI({0})},
       {{"sampling_ratio", int64_t{1}},
        {"coordinate_transformation_mode", std::string("output_half_pixel")}},
       {y(4)}},
      {"RoiAlign",
       {Image(), box, RowI({0})},
       {{"sampling_ratio", int64_t{2}}, {"mode", std::string("max")}},
       {y(4)}},
      {"RoiAlign", {Image(), box, RowI({1})}, one, {}, "index 1 is outside extent 1"},
      {"RoiAlign", {Image(), F32({1, 4}, {0, 0, kInf, 2}), RowI({0})}, {}, {}, "samples"},
      {"MaxRoiPool",  // the second box lies outside
       {F32({1, 1, 2, 3}, {1, 2, 3, 4, 5, 6}), F32({2, 5}, {0, 1, 0, 2, 1, 0, 9, 9, 9, 9})},
       {{"pooled_shape", Ints{1, 2}}},
       {F32({2, 1, 1, 2}, {5, 6, 0, 0})}},
      {"MaxRoiPool",  // the bins are those of the whole box, only what they hold ends at the edge
       {F32({1, 1, 2, 5}, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10}), F32({1, 5}, {0, 1, 0, 4, 7})},
       {{"pooled_shape", Ints{3, 1}}},
       {F32({1, 1, 3, 1}, {10, 0, 0})}},
      {"MaxRoiPool",
       {Image(), F32({1, 5}, {1, 0, 0, 1, 1})},
       {{"pooled_shape", Ints{1, 1}}},
       {},
       "box 0 is of image 1 of 1"},
      {"MaxUnpool",
       {F32({1, 1, 2}, {5, 7}), I64({1, 1, 2}, {1, 2})},
       {{"kernel_shape", Ints{2}}, {"strides", Ints{2}}},
       {F32({1, 1, 4}, {0, 5, 7, 0})}},
      {"MaxUnpool",
       {F32({1, 1, 2}, {5, 7}), I64({1, 1, 2}, {1, 4})},
       {{"kernel_shape", Ints{2}}, {"strides", Ints{2}}},
       {},
       "index 4 is outside extent 4"},
  };
}

std::vector<OpCase> WindowCases() {
  const HostTensor weight = F32({1, 1, 1, 1}, {10});
  const HostTensor offset = F32({1, 2, 2, 2}, {0.5, 0, 0, 0, 0, 0, 0, -3});
  return {
      {"DeformConv",
       {Image(), weight, offset, Row({1}), F32({1, 1, 2, 2}, {1, 1, 2, 1})},
       {},
       {F32({1, 1, 2, 2}, {21, 21, 61, 1})}},
      {"DeformConv",
       {Image(), weight, F32({1, 1, 2, 2}, {0, 0, 0, 0})},
       {},
       {},
       "offset is [1,1,2,2], expected [1,2,2,2]"},
      {"Col2Im",
       {F32({1, 2, 3}, {1, 2, 3, 10, 20, 30}), RowI({1, 4}), RowI({1, 2})},
       {},
       {F32({1, 1, 1, 4}, {1, 12, 23, 30})}},
  };
}

}  // namespace

std::vector<OpCase> SamplingCases() { return Joined({GridCases, RegionCases, WindowCases}); }

}  // namespace onnx_cudnn
