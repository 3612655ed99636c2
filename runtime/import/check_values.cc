#include "runtime/import/check_values.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "runtime/base/status.h"
#include "runtime/ops/op_table.h"

namespace onnx_cudnn {
namespace {

// Attributes with a minimum value, for their number or each of their numbers. Applies to every op
// that has them, except Pad.
struct Least {
  std::string_view attribute;
  int64_t value;
};
constexpr Least kLeast[] = {
    {"strides", 1},      {"dilations", 1},    {"kernel_shape", 1},  {"group", 1},
    {"offset_group", 1}, {"blocksize", 1},    {"num_groups", 1},    {"hidden_size", 1},
    {"num_outputs", 1},  {"num_heads", 1},    {"q_num_heads", 1},   {"kv_num_heads", 1},
    {"pooled_shape", 1}, {"output_width", 1}, {"output_height", 1}, {"sampling_ratio", 0},
    {"pads", 0},
};

// Ops without an OpDef, which would have the trait, whose axis is one of input 0's dims.
constexpr std::string_view kUndefinedAxisOps[] = {"Scatter", "SplitToSequence"};

OpTraits TraitsOfSpec(const NodeSpec& spec) {
  const OpDef* op = FindOp(spec.op, spec.domain);
  if (op != nullptr) return op->traits;
  const bool has_axis = absl::c_linear_search(kUndefinedAxisOps, spec.op);
  return {.axis = has_axis ? AxisRange::kDims : AxisRange::kNone};
}

const Type* TypeOfInput(const NodeSpec& spec, size_t i) {
  if (i >= spec.inputs.size() || spec.inputs[i] == nullptr) return nullptr;
  const Type& type = spec.inputs[i]->type();
  return type.is_tensor() && type.ranked ? &type : nullptr;
}

absl::Status CheckWindow(const NodeSpec& spec) {
  const Type* type = TypeOfInput(spec, 0);
  if (type == nullptr || !TraitsOfSpec(spec).has_window) return absl::OkStatus();
  const size_t spatial = std::max<size_t>(type->dims.size(), 2) - 2;
  const std::array<std::pair<std::string_view, size_t>, 4> lists = {{{"strides", spatial},
                                                                     {"dilations", spatial},
                                                                     {"kernel_shape", spatial},
                                                                     {"pads", 2 * spatial}}};
  for (const auto& [attribute, expected] : lists) {
    const auto* list = spec.attrs.Get<std::vector<int64_t>>(attribute);
    if (list == nullptr || list->size() == expected) continue;
    return absl::InvalidArgumentError(absl::StrCat("attribute ", attribute, " has ", list->size(),
                                                   " elements, ", expected, " are expected for ",
                                                   ToString(*type)));
  }
  return absl::OkStatus();
}

// kernel_shape must equal the last dims of the weight.
absl::Status CheckKernel(const NodeSpec& spec) {
  const auto* kernel = spec.attrs.Get<std::vector<int64_t>>("kernel_shape");
  const int input = TraitsOfSpec(spec).window_weight;
  if (kernel == nullptr || input < 0) return absl::OkStatus();
  const Type* weight = TypeOfInput(spec, input);
  if (weight == nullptr || weight->dims.size() != kernel->size() + 2) return absl::OkStatus();
  for (size_t i = 0; i < kernel->size(); ++i) {
    const int64_t extent = weight->dims[i + 2].value;
    if (extent < 0 || extent == (*kernel)[i]) continue;
    return absl::InvalidArgumentError(absl::StrCat("attribute kernel_shape is ",
                                                   ToString(absl::MakeConstSpan(*kernel)),
                                                   ", the weight is ", ToString(*weight)));
  }
  return absl::OkStatus();
}

absl::Status CheckAxis(const NodeSpec& spec) {
  const Type* type = TypeOfInput(spec, 0);
  const int64_t* axis = spec.attrs.Get<int64_t>("axis");
  const AxisRange range = TraitsOfSpec(spec).axis;
  if (type == nullptr || axis == nullptr || range == AxisRange::kNone) return absl::OkStatus();
  const int64_t rank = std::max<int64_t>(static_cast<int64_t>(type->dims.size()), 1);
  const int64_t least = range == AxisRange::kNewDim ? -rank - 1 : -rank;
  const int64_t most = range == AxisRange::kDims ? rank - 1 : rank;
  if (*axis >= least && *axis <= most) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("axis is ", *axis, ", ", least, " to ", most,
                                                 " are expected for ", ToString(*type)));
}

absl::Status CheckPerm(const NodeSpec& spec) {
  const Type* type = TypeOfInput(spec, 0);
  const auto* perm = spec.attrs.Get<std::vector<int64_t>>("perm");
  if (spec.op != "Transpose" || type == nullptr || perm == nullptr) return absl::OkStatus();
  std::vector<int64_t> sorted = *perm;
  absl::c_sort(sorted);
  bool is_permutation = sorted.size() == type->dims.size();
  for (size_t i = 0; i < sorted.size(); ++i) {
    is_permutation = is_permutation && sorted[i] == static_cast<int64_t>(i);
  }
  if (is_permutation) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("perm is not a permutation of the axes of ", ToString(*type)));
}

// Negative pads crop at most the whole extent.
absl::Status CheckCrop(const NodeSpec& spec) {
  const Type* type = TypeOfInput(spec, 0);
  if (spec.op != "Pad" || type == nullptr || spec.inputs.size() > 3) return absl::OkStatus();
  std::vector<int64_t> pads = spec.attrs.Ints("pads", spec.attrs.Ints("paddings"));
  if (spec.inputs.size() > 1 && spec.inputs[1] != nullptr && spec.inputs[1]->is_constant()) {
    ASSIGN_OR_RETURN(pads, ToInts(spec.inputs[1]->constant()));
  }
  const size_t rank = type->dims.size();
  if (pads.empty()) return absl::OkStatus();
  if (pads.size() != 2 * rank) {
    return absl::InvalidArgumentError(absl::StrCat("has ", pads.size(), " pads, ", 2 * rank,
                                                   " are expected for ", ToString(*type)));
  }
  for (size_t i = 0; i < rank; ++i) {
    int64_t extent = type->dims[i].value;
    if (extent < 0) continue;
    const bool overflows = __builtin_add_overflow(extent, pads[i], &extent) ||
                           __builtin_add_overflow(extent, pads[rank + i], &extent);
    if (!overflows && extent >= 0) continue;
    return absl::InvalidArgumentError(absl::StrCat("pads ", pads[i], " and ", pads[rank + i],
                                                   " on axis ", i, " of ", ToString(*type)));
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status CheckLeast(const NodeSpec& spec) {
  for (const auto& [attribute, least] : kLeast) {
    if (attribute == "pads" && spec.op == "Pad") continue;
    const int64_t* one = spec.attrs.Get<int64_t>(attribute);
    const auto* list = spec.attrs.Get<std::vector<int64_t>>(attribute);
    int64_t found = one == nullptr ? least : *one;
    if (list != nullptr && !list->empty()) found = *absl::c_min_element(*list);
    if (found < least) {
      return absl::InvalidArgumentError(absl::StrCat("attribute ", attribute, " holds ", found,
                                                     ", at least ", least, " is expected"));
    }
  }
  return absl::OkStatus();
}

absl::Status CheckFits(const NodeSpec& spec) {
  RETURN_IF_ERROR(CheckWindow(spec));
  RETURN_IF_ERROR(CheckKernel(spec));
  RETURN_IF_ERROR(CheckAxis(spec));
  RETURN_IF_ERROR(CheckPerm(spec));
  return CheckCrop(spec);
}

absl::Status CheckExtents(const Type& type, int rank) {
  if (!type.is_tensor() || !type.ranked) return absl::OkStatus();
  if (std::cmp_greater(type.dims.size(), rank)) {
    return absl::UnimplementedError(
        absl::StrCat("rank ", type.dims.size(), " is above the limit of ", rank));
  }
  Dims known;
  for (const Dim& dim : type.dims) {
    if (dim.value >= 0) known.push_back(dim.value);
  }
  return CheckedBytes(type.dtype, known).status();
}

}  // namespace onnx_cudnn
