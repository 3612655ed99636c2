#include "runtime/ops/string_ops.h"

#include <algorithm>
#include <limits>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "runtime/base/status.h"
#include "runtime/ops/strided_axes.h"

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

bool IsAscii(const Strings& strings) {
  return std::all_of(strings.begin(), strings.end(), [](const std::string& s) {
    return std::all_of(s.begin(), s.end(), [](unsigned char c) { return absl::ascii_isascii(c); });
  });
}

// What a StringNormalizer does to each string.
struct Normalizer {
  std::string action;
  bool is_case_sensitive;
  Strings stopwords;

  bool needs_case() const { return action != "NONE" || (!is_case_sensitive && !stopwords.empty()); }
  std::string Compared(const std::string& s) const {
    return is_case_sensitive ? s : absl::AsciiStrToLower(s);
  }
  std::string Changed(const std::string& s) const {
    if (action == "LOWER") return absl::AsciiStrToLower(s);
    return action == "UPPER" ? absl::AsciiStrToUpper(s) : s;
  }
};

absl::StatusOr<Normalizer> NormalizerOf(const Node& node) {
  Normalizer normalizer{.action = node.attrs().String("case_change_action", "NONE"),
                        .is_case_sensitive = node.attrs().Int("is_case_sensitive", 0) != 0,
                        .stopwords = {}};
  if (const auto* stopwords = node.attrs().Get<Strings>("stopwords"))
    normalizer.stopwords = *stopwords;
  const std::string& action = normalizer.action;
  if (action == "NONE" || action == "LOWER" || action == "UPPER") return normalizer;
  return absl::InvalidArgumentError(absl::StrCat("case_change_action is \"", action, "\""));
}

using Pieces = std::vector<std::string_view>;

// The last piece keeps its white space.
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

}  // namespace

absl::Status TooManyStrings() {
  return absl::ResourceExhaustedError("its strings are above the limit of one folded value");
}

absl::StatusOr<Tensors> ConcatStrings(const Node& node, int64_t most_bytes) {
  if (!node.output(0).is_static())
    return absl::UnimplementedError("the shape of its output is not known");
  const HostTensor &a = node.input(0).constant(), &b = node.input(1).constant();
  Dims dims = node.output(0).dims();
  ASSIGN_OR_RETURN(const StridedAxes left, BroadcastAxes(a.dims(), dims));
  ASSIGN_OR_RETURN(const StridedAxes right, BroadcastAxes(b.dims(), dims));
  Strings joined;
  for (int64_t i = 0; i < ElementsOf(dims); ++i) {
    const std::string &x = a.strings()[left.OffsetOf(i)], &y = b.strings()[right.OffsetOf(i)];
    most_bytes -= static_cast<int64_t>(sizeof(std::string) + x.size() + y.size());
    if (most_bytes < 0) return TooManyStrings();
    joined.push_back(x + y);
  }
  return Tensors{HostTensor::Strings(std::move(dims), std::move(joined))};
}

absl::StatusOr<Tensors> NormalizeStrings(const Node& node, int64_t) {
  const HostTensor& x = node.input(0).constant();
  Dims dims = x.dims();
  if (dims.size() != 1 && !(dims.size() == 2 && dims[0] == 1)) {
    return absl::InvalidArgumentError(
        absl::StrCat("expected dims [C] or [1,C], found ", ToString(absl::MakeConstSpan(dims))));
  }
  ASSIGN_OR_RETURN(const Normalizer normalizer, NormalizerOf(node));
  if (normalizer.needs_case() && !(IsAscii(x.strings()) && IsAscii(normalizer.stopwords)))
    return absl::UnimplementedError("the case of letters beyond ASCII is not known");
  std::set<std::string> stopwords;
  for (const std::string& s : normalizer.stopwords) stopwords.insert(normalizer.Compared(s));
  Strings kept;
  for (const std::string& s : x.strings()) {
    if (!stopwords.contains(normalizer.Compared(s))) kept.push_back(normalizer.Changed(s));
  }
  if (kept.empty()) kept.emplace_back();
  dims.back() = static_cast<int64_t>(kept.size());
  return Tensors{HostTensor::Strings(std::move(dims), std::move(kept))};
}

absl::StatusOr<Tensors> SplitStrings(const Node& node, int64_t most_bytes) {
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
  if (width > 0 && x.elements() > most_bytes / held / width) return TooManyStrings();
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

}  // namespace onnx_cudnn
