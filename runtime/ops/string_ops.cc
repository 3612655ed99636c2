// Ops that inspect the characters of strings.
#include <algorithm>
#include <limits>
#include <string>
#include <string_view>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "runtime/base/status.h"
#include "runtime/ops/op_def.h"
#include "runtime/ops/strided_axes.h"
#include "runtime/ops/strings.h"

namespace onnx_cudnn {
namespace {

using Tensors = std::vector<HostTensor>;
using Strings = std::vector<std::string>;

// The elements of a tensor of `dims` in the order of a tensor of `out`, to which it is broadcast.
absl::StatusOr<StridedAxes> BroadcastAxes(const Dims& dims, const Dims& out) {
  StridedAxes axes;
  const int lead = static_cast<int>(out.size()) - static_cast<int>(dims.size());
  int64_t stride = ElementsOf(dims);
  for (int i = std::min(lead, 0); i < static_cast<int>(out.size()); ++i) {
    const int64_t extent = i < lead ? 1 : dims[i - lead];
    if (i < 0 || (extent != 1 && extent != out[i])) {
      return absl::InvalidArgumentError(absl::StrCat(ToString(absl::MakeConstSpan(dims)),
                                                     " does not broadcast to ",
                                                     ToString(absl::MakeConstSpan(out))));
    }
    stride /= std::max<int64_t>(extent, 1);
    axes.Add(out[i], extent == 1 ? 0 : stride);
  }
  return axes;
}

using Pieces = std::vector<std::string_view>;

// At runs of ASCII white space. The last piece keeps its own.
Pieces SplitAtSpace(std::string_view text, int64_t most) {
  Pieces pieces;
  for (text = absl::StripAsciiWhitespace(text); !text.empty();
       text = absl::StripLeadingAsciiWhitespace(text)) {
    const auto* end = std::find_if(text.begin(), text.end(), absl::ascii_isspace);
    const size_t size =
        static_cast<int64_t>(pieces.size()) == most ? text.size() : end - text.begin();
    pieces.push_back(text.substr(0, size));
    text.remove_prefix(size);
  }
  return pieces;
}

Pieces SplitAt(std::string_view delimiter, std::string_view text, int64_t most) {
  Pieces pieces;
  while (static_cast<int64_t>(pieces.size()) < most) {
    const size_t end = text.find(delimiter);
    if (end == std::string_view::npos) break;
    pieces.push_back(text.substr(0, end));
    text.remove_prefix(end + delimiter.size());
  }
  pieces.push_back(text);
  return pieces;
}

absl::StatusOr<Tensors> ConcatStrings(const Node& node) {
  if (!node.output(0).is_static())
    return absl::UnimplementedError("the shape of its output is not known");
  const HostTensor &a = node.input(0).constant(), &b = node.input(1).constant();
  Dims dims = node.output(0).dims();
  ASSIGN_OR_RETURN(const StridedAxes left, BroadcastAxes(a.dims(), dims));
  ASSIGN_OR_RETURN(const StridedAxes right, BroadcastAxes(b.dims(), dims));
  Strings joined;
  int64_t most_bytes = kMostStringBytes;
  for (int64_t i = 0; i < ElementsOf(dims); ++i) {
    const std::string &x = a.strings()[left.OffsetOf(i)], &y = b.strings()[right.OffsetOf(i)];
    most_bytes -= static_cast<int64_t>(sizeof(std::string) + x.size() + y.size());
    if (most_bytes < 0) return TooManyStrings();
    joined.push_back(x + y);
  }
  return Tensors{HostTensor::Strings(std::move(dims), std::move(joined))};
}

absl::StatusOr<Tensors> SplitStrings(const Node& node) {
  const HostTensor& x = node.input(0).constant();
  const std::string delimiter = node.attrs().String("delimiter", "");
  int64_t most = node.attrs().Int("maxsplit", -1);
  if (most < 0) most = std::numeric_limits<int64_t>::max();
  std::vector<Pieces> rows;
  std::vector<int64_t> counts;
  for (const std::string& s : x.strings()) {
    rows.push_back(delimiter.empty() ? SplitAtSpace(s, most) : SplitAt(delimiter, s, most));
    counts.push_back(static_cast<int64_t>(rows.back().size()));
  }
  const int64_t width = counts.empty() ? 0 : *std::max_element(counts.begin(), counts.end());
  const auto held = static_cast<int64_t>(sizeof(std::string));
  if (width > 0 && x.elements() > kMostStringBytes / held / width) return TooManyStrings();
  Strings pieces;
  for (Pieces& row : rows) {
    row.resize(width);
    pieces.insert(pieces.end(), row.begin(), row.end());
  }
  Dims dims = x.dims();
  dims.push_back(width);
  return Tensors{HostTensor::Strings(std::move(dims), std::move(pieces)),
                 HostTensor::Of<int64_t>(DType::kI64, x.dims(), counts)};
}

OpDef OfStrings(absl::StatusOr<Tensors> (*evaluate)(const Node& node)) {
  return {.types = {DType::kString}, .evaluate = evaluate};
}

}  // namespace

OpDef StringConcatOp() { return OfStrings(ConcatStrings); }
OpDef StringSplitOp() { return OfStrings(SplitStrings); }

}  // namespace onnx_cudnn
