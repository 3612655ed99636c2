#include "runtime/cudnn/cuda/saved_step.h"

#include <bit>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "runtime/base/status.h"

namespace onnx_cudnn {
namespace {

constexpr std::string_view kFirstLine = "cudnn step 3";
constexpr size_t kMostItems = 256;  // operands, constants, and numbers per line

absl::Status Malformed(std::string_view what) {
  return absl::InvalidArgumentError(
      absl::StrCat("a saved cuDNN step: its ", what, " is malformed"));
}

std::string ToText(const PlanOperand& operand) {
  return absl::StrCat(operand.tensor, ",", static_cast<int>(operand.kind), ",", operand.index, ",",
                      std::bit_cast<uint32_t>(operand.number), ",", operand.is_prefetched ? 1 : 0,
                      ",", operand.offset);
}

// "constant,rank,dims…,dim,block,extent,pitch,…"
std::string ToText(const PackedConstant& constant) {
  std::vector<int64_t> numbers = {constant.constant, static_cast<int64_t>(constant.dims.size())};
  numbers.insert(numbers.end(), constant.dims.begin(), constant.dims.end());
  for (const Format::Axis& axis : constant.format.axes()) {
    numbers.insert(numbers.end(), {axis.dim, axis.block, axis.extent, axis.pitch});
  }
  return absl::StrJoin(numbers, ",");
}

template <typename Items>
std::string JoinAll(const Items& items) {
  return absl::StrJoin(
      items, ";", [](std::string* out, const auto& item) { absl::StrAppend(out, ToText(item)); });
}

absl::StatusOr<std::vector<int64_t>> Numbers(std::string_view text, std::string_view what) {
  std::vector<int64_t> numbers;
  for (const std::string_view part : absl::StrSplit(text, ',')) {
    int64_t number = 0;
    if (!absl::SimpleAtoi(part, &number) || number < 0 || numbers.size() == kMostItems) {
      return Malformed(what);
    }
    numbers.push_back(number);
  }
  return numbers;
}

absl::StatusOr<PlanOperand> ParseOperand(std::string_view text) {
  ASSIGN_OR_RETURN(const std::vector<int64_t> n, Numbers(text, "list of operands"));
  const auto last_kind = static_cast<int64_t>(CudnnTensor::Kind::kNumber);
  if (n.size() != 6 || n[1] > last_kind || n[0] > INT32_MAX || n[2] > INT32_MAX ||
      n[3] > UINT32_MAX || n[4] > 1) {
    return Malformed("list of operands");
  }
  return PlanOperand{.tensor = static_cast<int>(n[0]),
                     .kind = static_cast<CudnnTensor::Kind>(n[1]),
                     .index = static_cast<int>(n[2]),
                     .number = std::bit_cast<float>(static_cast<uint32_t>(n[3])),
                     .is_prefetched = n[4] == 1,
                     .offset = n[5]};
}

absl::StatusOr<PackedConstant> ParseConstant(std::string_view text) {
  ASSIGN_OR_RETURN(const std::vector<int64_t> n, Numbers(text, "list of constants"));
  if (n.size() < 2 || n[0] > INT32_MAX || n[1] > static_cast<int64_t>(n.size()) - 2) {
    return Malformed("list of constants");
  }
  PackedConstant constant{.constant = static_cast<int>(n[0]),
                          .dims = Dims(n.begin() + 2, n.begin() + 2 + n[1])};
  std::vector<Format::Axis> axes;
  size_t at = 2 + static_cast<size_t>(n[1]);
  for (; at + 4 <= n.size(); at += 4) {
    if (n[at] >= n[1] || n[at + 1] < 1 || n[at + 3] < n[at + 2]) {
      return Malformed("list of constants");
    }
    axes.push_back({static_cast<int>(n[at]), n[at + 1], n[at + 2], n[at + 3]});
  }
  if (at != n.size()) return Malformed("list of constants");
  constant.format = Format::Of(std::move(axes));
  return constant;
}

template <typename T>
absl::StatusOr<std::vector<T>> ParseAll(std::string_view text,
                                        absl::StatusOr<T> (*parse)(std::string_view)) {
  std::vector<T> items;
  if (text.empty()) return items;
  for (const std::string_view part : absl::StrSplit(text, ';')) {
    if (items.size() == kMostItems)
      return absl::InvalidArgumentError("a saved cuDNN step: too long");
    ASSIGN_OR_RETURN(T item, parse(part));
    items.push_back(std::move(item));
  }
  return items;
}

}  // namespace

std::string ToText(const SavedStep& step) {
  return absl::StrCat(kFirstLine, "\n", step.version, "\n", step.device, "\n", step.engine, "\n",
                      JoinAll(step.operands), "\n", JoinAll(step.constants), "\n", step.plan);
}

absl::StatusOr<SavedStep> ParseSavedStep(std::string_view text) {
  constexpr int kLines = 6;  // lines before the plan
  const std::vector<std::string_view> lines = absl::StrSplit(text, absl::MaxSplits('\n', kLines));
  if (lines.size() != kLines + 1 || lines[0] != kFirstLine) return Malformed("first line");
  SavedStep step{.device = std::string(lines[2]),
                 .engine = std::string(lines[3]),
                 .plan = std::string(lines[6])};
  if (!absl::SimpleAtoi(lines[1], &step.version)) return Malformed("version");
  ASSIGN_OR_RETURN(step.operands, ParseAll<PlanOperand>(lines[4], ParseOperand));
  ASSIGN_OR_RETURN(step.constants, ParseAll<PackedConstant>(lines[5], ParseConstant));
  for (const PlanOperand& operand : step.operands) {
    const bool is_constant = operand.kind == CudnnTensor::Kind::kConstant;
    if (is_constant && operand.index >= static_cast<int>(step.constants.size())) {
      return Malformed("list of operands");
    }
  }
  return step;
}

}  // namespace onnx_cudnn
