#include <complex>

#include "tests/ops/cases.h"

namespace onnx_cudnn {
namespace {

const HostTensor kAbsent;

HostTensor Texts(Dims dims, std::vector<std::string> values) {
  return HostTensor::Strings(std::move(dims), std::move(values));
}
HostTensor Complex(Dims dims, const std::vector<std::complex<float>>& values) {
  return HostTensor::Of<std::complex<float>>(DType::kC64, std::move(dims), values);
}
HostTensor Six() { return F32({2, 3}, {1, 2, 3, 4, 5, 6}); }
Attrs Axis(int64_t axis) { return {{"axis", axis}}; }
Attrs Unsorted() { return {{"sorted", int64_t{0}}}; }

std::vector<OpCase> NonZeroCases() {
  return {
      {"NonZero", {F32({2, 3}, {0, 7, 0, -1, 0, 2})}, {}, {I64({2, 3}, {0, 1, 1, 1, 0, 2})}},
      {"NonZero", {RowB({1, 0, 1, 1})}, {}, {I64({1, 3}, {0, 2, 3})}},
      {"NonZero",
       {I32({2, 2, 2}, {0, 1, 0, 0, 0, 0, 1, 1})},
       {},
       {I64({3, 3}, {0, 1, 1, 0, 1, 1, 1, 0, 1})}},
      {"NonZero", {Row({-0.0, kNaN, kInf, 1e-45})}, {}, {I64({1, 3}, {1, 2, 3})}},
      {"NonZero", {TensorOf(DType::kF16, {3}, {-0.0, 6e-8, kNaN})}, {}, {I64({1, 2}, {1, 2})}},
      {"NonZero", {TensorOf(DType::kBF16, {3}, {-0.0, 2, -kInf})}, {}, {I64({1, 2}, {1, 2})}},
      {"NonZero", {TensorOf(DType::kU64, {2, 1}, {0, 9})}, {}, {I64({2, 1}, {1, 0})}},
      {"NonZero", {Complex({4}, {{0, 0}, {0, 2}, {3, 0}, {-0.0f, 0}})}, {}, {I64({1, 2}, {1, 2})}},
      {"NonZero", {Texts({3}, {"", "a", " "})}, {}, {I64({1, 2}, {1, 2})}},
      {"NonZero", {Row({0, 0})}, {}, {I64({1, 0}, {})}},
      {"NonZero", {F32({3, 0, 2}, {})}, {}, {I64({3, 0}, {})}},
      {"NonZero", {F32({}, {5})}, {}, {I64({0, 1}, {})}},
      {"NonZero", {F32({}, {0})}, {}, {I64({0, 0}, {})}},
  };
}

std::vector<OpCase> CompressCases() {
  return {
      {"Compress", {Six(), RowB({0, 1})}, Axis(0), {F32({1, 3}, {4, 5, 6})}},
      {"Compress", {Six(), RowB({1, 0, 1})}, Axis(1), {F32({2, 2}, {1, 3, 4, 6})}},
      {"Compress", {Six(), RowB({0, 1, 1})}, Axis(-1), {F32({2, 2}, {2, 3, 5, 6})}},
      {"Compress", {Six(), RowB({0, 1, 0, 0, 1})}, {}, {Row({2, 5})}},
      {"Compress", {Six(), RowB({1})}, Axis(1), {F32({2, 1}, {1, 4})}},  // shorter than the axis
      {"Compress", {Six(), RowB({0, 1, 0, 0})}, Axis(1), {F32({2, 1}, {2, 5})}},
      {"Compress", {Six(), RowB({0, 0})}, Axis(0), {F32({0, 3}, {})}},
      {"Compress", {Six(), RowB({})}, {}, {Row({})}},
      {"Compress", {F32({0, 3}, {}), RowB({1, 0, 1})}, Axis(1), {F32({0, 2}, {})}},
      {"Compress", {F32({2, 0}, {}), RowB({1})}, Axis(0), {F32({1, 0}, {})}},
      {"Compress", {U8({3}, {7, 8, 9}), RowB({1, 0, 1})}, {}, {U8({2}, {7, 9})}},
      {"Compress",
       {TensorOf(DType::kBF16, {3}, {1, 2, 3}), RowB({0, 1, 1})},
       {},
       {TensorOf(DType::kBF16, {2}, {2, 3})}},
      {"Compress",
       {Complex({3}, {{1, 2}, {3, 4}, {5, 6}}), RowB({0, 1, 1})},
       {},
       {Complex({2}, {{3, 4}, {5, 6}})}},
      {"Compress",
       {Texts({2, 2}, {"a", "b", "c", "d"}), RowB({0, 1})},
       Axis(1),
       {Texts({2, 1}, {"b", "d"})}},
      {"Compress",
       {Six(), RowB({0, 0, 0, 1})},
       Axis(1),
       {},
       "condition is true at 3, outside extent 3 of axis 1"},
      {"Compress",
       {Six(), RowB({0, 0, 0, 0, 0, 0, 1, 1})},
       {},
       {},
       "condition is true at 7, outside extent 6 of the flattened input"},
      {"Compress",
       {Six(), Bools({1, 2}, {1, 0})},
       Axis(0),
       {},
       "condition is [1,2], expected a tensor of rank 1"},
      {"Compress", {Six(), Bools({}, {1})}, {}, {}, "condition is [], expected a tensor of rank 1"},
      {"Compress", {Six(), RowB({1})}, Axis(2), {}, "'axis' must be in"},
      {"Compress", {Six(), RowB({1})}, Axis(-3), {}, "'axis' must be in"},
      {"Compress", {F32({}, {1}), RowB({1})}, {}, {}, "rank >= 1"},
  };
}

std::vector<OpCase> UniqueElementCases() {
  return {
      {"Unique",
       {Row({2, 1, 1, 3, 4, 3})},
       {},
       {Row({1, 2, 3, 4}), RowI({1, 0, 3, 4}), RowI({1, 0, 0, 2, 3, 2}), RowI({2, 1, 2, 1})}},
      {"Unique",
       {Row({2, 1, 1, 3, 4, 3})},
       Unsorted(),
       {Row({2, 1, 3, 4}), RowI({0, 1, 3, 4}), RowI({0, 1, 1, 2, 3, 2}), RowI({1, 2, 2, 1})}},
      {"Unique",
       {F32({2, 2}, {1, 3, 2, 3})},
       {},
       {Row({1, 2, 3}), RowI({0, 2, 1}), RowI({0, 2, 1, 2}), RowI({1, 1, 2})}},
      {"Unique",
       {Row({kNaN, 1, kNaN, -kInf, kInf})},
       {},
       {Row({-kInf, 1, kInf, kNaN}), RowI({3, 1, 4, 0}), RowI({3, 1, 3, 0, 2}),
        RowI({1, 1, 1, 2})}},
      {"Unique", {Row({0.0, -0.0})}, {}, {Row({0}), RowI({0}), RowI({0, 0}), RowI({2})}},
      {"Unique",
       {TensorOf(DType::kF16, {4}, {-1, 2, -2, 2})},
       {},
       {TensorOf(DType::kF16, {3}, {-2, -1, 2}), kAbsent, RowI({1, 2, 0, 2})}},
      {"Unique",
       {I8({3}, {1, -1, 1})},
       {},
       {I8({2}, {-1, 1}), RowI({1, 0}), kAbsent, RowI({1, 2})}},
      {"Unique", {RowB({1, 0, 1})}, {}, {RowB({0, 1}), RowI({1, 0}), RowI({1, 0, 1})}},
      {"Unique",
       {Texts({2, 2}, {"b", "a", "", "b"})},
       {},
       {Texts({3}, {"", "a", "b"}), RowI({2, 1, 0}), RowI({2, 1, 0, 2}), RowI({1, 1, 2})}},
      {"Unique", {F32({}, {5})}, {}, {Row({5}), RowI({0}), RowI({0}), RowI({1})}},
      {"Unique", {F32({0}, {})}, {}, {Row({}), RowI({}), RowI({}), RowI({})}},
  };
}

std::vector<OpCase> UniqueSliceCases() {
  const Attrs unsorted_rows = {{"axis", int64_t{0}}, {"sorted", int64_t{0}}};
  return {
      {"Unique",
       {F32({3, 3}, {1, 0, 0, 1, 0, 0, 2, 3, 4})},
       Axis(0),
       {F32({2, 3}, {1, 0, 0, 2, 3, 4}), RowI({0, 2}), RowI({0, 0, 1}), RowI({2, 1})}},
      // Slices along the middle axis: [1,1;1,1], [0,1;0,1], [2,1;2,1], [0,1;0,1].
      {"Unique",
       {F32({2, 4, 2}, {1, 1, 0, 1, 2, 1, 0, 1, 1, 1, 0, 1, 2, 1, 0, 1})},
       Axis(1),
       {F32({2, 3, 2}, {0, 1, 1, 1, 2, 1, 0, 1, 1, 1, 2, 1}), RowI({1, 0, 2}), RowI({1, 0, 2, 0}),
        RowI({2, 1, 1})}},
      // The first elements are equal, the last ones decide: columns (7,5), (7,4), (7,5).
      {"Unique",
       {I32({2, 3}, {7, 7, 7, 5, 4, 5})},
       Axis(-1),
       {I32({2, 2}, {7, 7, 4, 5}), RowI({1, 0}), RowI({1, 0, 1}), RowI({1, 2})}},
      {"Unique",
       {I64({3, 2}, {9, 1, 2, 3, 9, 1})},
       unsorted_rows,
       {I64({2, 2}, {9, 1, 2, 3}), RowI({0, 1}), RowI({0, 1, 0}), RowI({2, 1})}},
      {"Unique",
       {F32({3, 2}, {kNaN, 1, kNaN, 0, kNaN, 1})},
       Axis(0),
       {F32({2, 2}, {kNaN, 0, kNaN, 1}), RowI({1, 0}), RowI({1, 0, 1}), RowI({1, 2})}},
      {"Unique",
       {Texts({2, 2}, {"b", "a", "b", "a"})},
       unsorted_rows,
       {Texts({1, 2}, {"b", "a"}), RowI({0}), RowI({0, 0}), RowI({2})}},
      {"Unique", {F32({0, 3}, {})}, Axis(0), {F32({0, 3}, {}), RowI({}), RowI({}), RowI({})}},
      // Rows of no elements are equal.
      {"Unique",
       {F32({3, 0}, {})},
       Axis(0),
       {F32({1, 0}, {}), RowI({0}), RowI({0, 0, 0}), RowI({3})}},
      {"Unique", {Six()}, Axis(2), {}, "Invalid value for attribute axis"},
      {"Unique", {Six()}, Axis(-3), {}, "Invalid value for attribute axis"},
      {"Unique", {F32({}, {1})}, Axis(0), {}, "Invalid value for attribute axis"},
      {"Unique",
       {Complex({1}, {{1, 2}})},
       {},
       {},
       "Unique (opset 28) on c64: the type is not implemented"},
  };
}

// Boxes of one row each: two of intersection over union 1/3, and one apart from them.
HostTensor ThreeBoxes() { return F32({1, 3, 4}, {0, 0, 1, 2, 0, 1, 1, 3, 5, 5, 6, 6}); }
HostTensor Most(double count) { return I64({}, {count}); }
HostTensor Limit(double value) { return F32({}, {value}); }

OpCase Suppression(std::vector<HostTensor> inputs, std::vector<double> rows, Attrs attrs = {}) {
  const auto count = static_cast<int64_t>(rows.size()) / 3;
  return {"NonMaxSuppression", std::move(inputs), std::move(attrs), {I64({count, 3}, rows)}};
}
OpCase Refused(std::vector<HostTensor> inputs, std::string error, Attrs attrs = {}) {
  return {"NonMaxSuppression", std::move(inputs), std::move(attrs), {}, std::move(error)};
}

std::vector<OpCase> SuppressionCases() {
  const HostTensor scores = F32({1, 1, 3}, {0.5, 0.9, 0.2});
  const HostTensor quarters = F32({1, 3, 4}, {0, 0, 1, 1, 0, 0.5, 1, 1.5, 0, 0, 1, 0.5});
  return {
      Suppression({ThreeBoxes(), scores, Most(3), Limit(0.3)}, {0, 0, 1, 0, 0, 2}),
      Suppression({ThreeBoxes(), scores, Most(3), Limit(0.4)}, {0, 0, 1, 0, 0, 0, 0, 0, 2}),
      Suppression({ThreeBoxes(), scores, Most(2), Limit(0.4)}, {0, 0, 1, 0, 0, 0}),
      Suppression({ThreeBoxes(), scores, I64({1}, {3}), kAbsent, F32({1}, {0.1})},
                  {0, 0, 1, 0, 0, 2}),  // without a threshold every overlap suppresses
      Suppression({ThreeBoxes(), scores, Most(3), Limit(1), Limit(0.3)}, {0, 0, 1, 0, 0, 0}),
      // A score that equals the threshold is removed.
      Suppression({ThreeBoxes(), scores, Most(3), Limit(1), Limit(0.5)}, {0, 0, 1}),
      Suppression({ThreeBoxes(), scores, Most(0), Limit(0.5)}, {}),
      Suppression({ThreeBoxes(), scores, Most(-1), Limit(0.5)}, {}),
      Suppression({ThreeBoxes(), scores}, {}),
      // The second overlaps the first by 0.5 / 1.5, the third by 0.5 / 1, which is the threshold.
      Suppression({quarters, F32({1, 1, 3}, {0.9, 0.8, 0.7}), Most(3), Limit(0.5)},
                  {0, 0, 0, 0, 0, 1, 0, 0, 2}),
      Suppression({quarters, F32({1, 1, 3}, {0.9, 0.8, 0.7}), Most(3), Limit(0.49)},
                  {0, 0, 0, 0, 0, 1}),
      // Any two opposite corners.
      Suppression(
          {F32({1, 3, 4}, {1, 2, 0, 0, 0, 3, 1, 1, 6, 5, 5, 6}), scores, Most(3), Limit(0.3)},
          {0, 0, 1, 0, 0, 2}),
      // The same boxes by x, y, width and height.
      Suppression({F32({1, 3, 4}, {1, 0.5, 2, 1, 2, 0.5, 2, 1, 5.5, 5.5, 1, 1}), scores, Most(3),
                   Limit(0.3)},
                  {0, 0, 1, 0, 0, 2}, {{"center_point_box", int64_t{1}}}),
      // Equal scores: the lower index first. Equal boxes, and boxes without area.
      Suppression({F32({1, 3, 4}, {0, 0, 1, 1, 0, 0, 1, 1, 0, 0, 0, 1}),
                   F32({1, 1, 3}, {0.5, 0.5, 0.5}), Most(3), Limit(0)},
                  {0, 0, 0, 0, 0, 2}),
      // Batches, then classes, then scores.
      Suppression({F32({2, 2, 4}, {0, 0, 1, 1, 2, 2, 3, 3, 0, 0, 1, 1, 0, 0, 1, 1}),
                   F32({2, 2, 2}, {0.1, 0.2, 0.4, 0.3, 0.6, 0.5, 0.7, 0.8}), Most(2), Limit(0.5)},
                  {0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 1, 1, 1, 0, 0, 1, 1, 1}),
      Suppression({ThreeBoxes(), F32({1, 1, 3}, {kNaN, -kInf, -1}), Most(3), Limit(1)},
                  {0, 0, 2, 0, 0, 0, 0, 0, 1}),
      Suppression({ThreeBoxes(), F32({1, 1, 3}, {kNaN, -3, -1}), Most(3), Limit(1), Limit(-2)},
                  {0, 0, 2}),
      Suppression({F32({1, 0, 4}, {}), F32({1, 2, 0}, {}), Most(3)}, {}),
      Suppression({F32({1, 2, 4}, {0, 0, 1, 1, 2, 2, 3, 3}), F32({1, 0, 2}, {}), Most(3)}, {}),
      Suppression({F32({0, 2, 4}, {}), F32({0, 1, 2}, {}), Most(3)}, {}),
      Refused({ThreeBoxes(), F32({1, 3}, {1, 2, 3}), Most(3)},
              "boxes are [1,3,4] and scores [1,3], expected"),
      Refused({F32({3, 4}, std::vector<double>(12)), scores, Most(3)}, "boxes are [3,4]"),
      Refused({F32({1, 4, 3}, std::vector<double>(12)), scores, Most(3)}, "boxes are [1,4,3]"),
      Refused({ThreeBoxes(), F32({2, 1, 3}, std::vector<double>(6)), Most(3)}, "scores [2,1,3]"),
      Refused({ThreeBoxes(), F32({1, 1, 2}, {1, 2}), Most(3)}, "scores [1,1,2]"),
      Refused({ThreeBoxes(), scores, RowI({1, 2})},
              "max_output_boxes_per_class is [2], expected one element"),
      Refused({ThreeBoxes(), scores, Most(3), Row({})},
              "iou_threshold is [0], expected one element"),
      Refused({ThreeBoxes(), scores, Most(3), Limit(1.5)}, "iou_threshold is 1.5, expected 0 to 1"),
      Refused({ThreeBoxes(), scores, Most(3), Limit(0), Row({1, 2})},
              "score_threshold is [2], expected one element"),
      Refused({ThreeBoxes(), scores}, "center_point_box is 2, expected 0 or 1",
              {{"center_point_box", int64_t{2}}}),
  };
}

// A PNM of two pixels, (1, 2, 3) and (250, 251, 252).
HostTensor TwoPixels() {
  return U8({17},
            {'P', '6', '\n', '2', ' ', '1', '\n', '2', '5', '5', '\n', 1, 2, 3, 250, 251, 252});
}

std::vector<OpCase> ImageCases() {
  return {
      {"ImageDecoder", {TwoPixels()}, {}, {U8({1, 2, 3}, {1, 2, 3, 250, 251, 252})}},
      {"ImageDecoder",
       {TwoPixels()},
       {{"pixel_format", std::string("BGR")}},
       {U8({1, 2, 3}, {3, 2, 1, 252, 251, 250})}},
      // 0.299 · 1 + 0.587 · 2 + 0.114 · 3 = 1.8, and 250.8
      {"ImageDecoder",
       {TwoPixels()},
       {{"pixel_format", std::string("Grayscale")}},
       {U8({1, 2, 1}, {2, 251})}},
      {.op = "ImageDecoder",
       .inputs = {TwoPixels()},
       .attrs = {{"pixel_format", std::string("HSV")}},
       .error = "expected RGB, BGR or Grayscale, found HSV"},
      {.op = "ImageDecoder",
       .inputs = {U8({2}, {1, 2})},
       .error = "2 bytes are no BMP, JPEG, JPEG 2000, PNG, PNM, TIFF or WebP image"},
  };
}

}  // namespace

std::vector<OpCase> DataDependentCases() {
  return Joined({NonZeroCases, CompressCases, UniqueElementCases, UniqueSliceCases,
                 SuppressionCases, ImageCases});
}

}  // namespace onnx_cudnn
