#include "runtime/import/own_functions.h"

#include <string>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/substitute.h"
#include "onnx/defs/parser.h"
#include "runtime/base/status.h"
#include "runtime/graph/print.h"

namespace onnx_cudnn {
namespace {

absl::StatusOr<onnx::FunctionProto> Parsed(std::string_view head, std::string_view body) {
  const std::string text =
      absl::StrCat("<domain: \"\", opset_import: [\"\" : 20]> ", head, " {", body, "}");
  onnx::FunctionProto function;
  onnx::OnnxParser parser(text.c_str());
  const onnx::Common::Status status = parser.Parse(function);
  if (status.IsOK()) return function;
  return absl::InternalError(absl::StrCat(head, ": ", status.ErrorMessage()));
}

// A sum of cosines with these coefficients.
struct CosineWindow {
  std::string_view op;
  double constant, once, twice;  // cos(angle), cos(2 angle)
};
constexpr CosineWindow kWindows[] = {{"HannWindow", 0.5, 0.5, 0},
                                     {"HammingWindow", 25.0 / 46, 21.0 / 46, 0},
                                     {"BlackmanWindow", 0.42, 0.5, 0.08}};

absl::StatusOr<onnx::FunctionProto> WindowFunction(const Node& node, const CosineWindow& window) {
  const auto f64 = [](double number) { return absl::StrFormat("double {%.17g}", number); };
  const bool is_periodic = node.attrs().Int("periodic", 1) != 0;
  return Parsed(absl::StrCat(window.op, " <output_datatype> (size) => (output)"),
                absl::Substitute(R"(
      zero = Constant <value = double {0}> ()
      one = Constant <value = double {1}> ()
      two = Constant <value = double {2}> ()
      turn = Constant <value = $0> ()
      shorter = Constant <value = $1> ()
      constant = Constant <value = $2> ()
      once = Constant <value = $3> ()
      twice = Constant <value = $4> ()
      count = Cast <to = 11> (size)
      length = Sub (count, shorter)
      index = Range (zero, count, one)
      turned = Mul (index, turn)
      angle = Div (turned, length)
      double_angle = Mul (angle, two)
      cosine = Cos (angle)
      double_cosine = Cos (double_angle)
      first = Mul (once, cosine)
      second = Mul (twice, double_cosine)
      change = Sub (second, first)
      sum = Add (change, constant)
      output = Cast <to: int = @output_datatype> (sum)
  )",
                                 f64(6.28318530717958648), f64(is_periodic ? 0 : 1),
                                 f64(window.constant), f64(window.once), f64(window.twice)));
}

// The numbers 1 … n.
std::string OneTo(size_t n) {
  std::string numbers = "1";
  for (size_t i = 2; i <= n; ++i) absl::StrAppend(&numbers, ", ", i);
  return numbers;
}

// Adds the positions along the `k`-th axis from the end, times column k of theta. A position is
// rounded once; with align_corners, that of a single element is -1.
std::string AxisTerm(size_t k, size_t spatial, bool align_corners) {
  const std::string positions = align_corners ? R"(
      less_$0 = Sub (count_$0, one)
      span_$0 = Max (less_$0, one)
      place_$0 = Sub (double_$0, span_$0))"
                                              : R"(
      more_$0 = Add (double_$0, one)
      span_$0 = Identity (count_$0)
      place_$0 = Sub (more_$0, count_$0))";
  return absl::Substitute(absl::StrCat(R"(
      axis_$0 = Constant <value = int64 {$1}> ()
      column_$0 = Constant <value = int64 {$0}> ()
      behind_$0 = Constant <value_ints = [$2]> ()
      count_$0 = Gather (size, axis_$0)
      index_$0 = Range (zero, count_$0, one)
      double_$0 = Mul (index_$0, two))",
                                       positions, R"(
      wide_place_$0 = Cast <to = 11> (place_$0)
      wide_span_$0 = Cast <to = 11> (span_$0)
      quotient_$0 = Div (wide_place_$0, wide_span_$0)
      position_$0 = CastLike (quotient_$0, matrix)
      positions_$0 = Unsqueeze (position_$0, behind_$0)
      factor_$0 = Gather <axis = 2> (matrix, column_$0)
      factors_$0 = Unsqueeze (factor_$0, inner)
      term_$0 = Mul (positions_$0, factors_$0)
      sum_$3 = Add (sum_$0, term_$0))"),
                          k, spatial + 1 - k, OneTo(k + 1), k + 1);
}

absl::Status CheckAffineGrid(const Node& node) {
  const Value& theta = node.input(0);
  const Value& grid = node.output(0);
  const int spatial = grid.rank() - 2;
  if (theta.rank() == 3 && theta.dim(0) == grid.dim(0) && theta.dim(1) == spatial &&
      theta.dim(2) == spatial + 1) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(absl::StrFormat("theta is %s, the size says [%d,%d,%d]",
                                                    ToString(theta.type()), grid.dim(0), spatial,
                                                    spatial + 1));
}

// grid = x · column 0 + y · column 1 (+ z · column 2) + the last column, each broadcast over the
// other axes. Not a matrix product, which a GPU might compute in TF32.
absl::StatusOr<onnx::FunctionProto> AffineGridFunction(const Node& node) {
  RETURN_IF_ERROR(CheckAffineGrid(node));
  const size_t spatial = static_cast<size_t>(node.output(0).rank() - 2);
  const bool align_corners = node.attrs().Int("align_corners", 0) != 0;
  const bool is_f64 = node.input(0).dtype() == DType::kF64;
  std::string body = absl::Substitute(R"(
      zero = Constant <value = int64 {0}> ()
      one = Constant <value = int64 {1}> ()
      two = Constant <value = int64 {2}> ()
      inner = Constant <value_ints = [$0]> ()
      last = Constant <value = int64 {$1}> ()
      matrix = Cast <to = $2> (theta)
      shift = Gather <axis = 2> (matrix, last)
      sum_0 = Unsqueeze (shift, inner))",
                                      OneTo(spatial), spatial, is_f64 ? 11 : 1);
  for (size_t k = 0; k < spatial; ++k) body += AxisTerm(k, spatial, align_corners);
  absl::StrAppend(&body, "\n      grid = CastLike (sum_", spatial, ", theta)\n");
  return Parsed("AffineGrid (theta, size) => (grid)", body);
}

}  // namespace

absl::StatusOr<std::optional<onnx::FunctionProto>> OwnFunction(const Node& node) {
  if (!node.domain().empty()) return std::nullopt;
  if (node.op() == "AffineGrid") return AffineGridFunction(node);
  for (const CosineWindow& window : kWindows) {
    if (node.op() == window.op) return WindowFunction(node, window);
  }
  return std::nullopt;
}

}  // namespace onnx_cudnn
