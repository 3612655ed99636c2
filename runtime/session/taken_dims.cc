#include "runtime/session/taken_dims.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "runtime/base/printable.h"

namespace onnx_cudnn {
namespace {

constexpr int64_t kImageSide = 224;

// The axis of an image's height, which precedes the width; -1: not an image, or its size is known.
int HeightAxis(const ValueInfo& info) {
  if (!info.ranked || info.dims.size() != 4) return -1;
  const auto is_channels = [&](int i) {
    return info.dims[i].value == 1 || info.dims[i].value == 3;
  };
  const auto is_open = [&](int i) { return info.dims[i].value < 0 && info.dims[i + 1].value < 0; };
  if (is_channels(1) && is_open(2)) return 2;
  return is_channels(3) && is_open(1) ? 1 : -1;
}

}  // namespace

void DimFiller::Give(const ValueInfo& info, const std::vector<int64_t>& dims) {
  for (size_t i = 0; i < std::min(dims.size(), info.dims.size()); ++i) {
    const std::string& symbol = info.dims[i].symbol;
    if (dims[i] >= 0 && !symbol.empty()) numbers_.try_emplace(symbol, dims[i]);
  }
}

void DimFiller::TakeImages(const std::vector<ValueInfo>& infos) {
  for (const ValueInfo& info : infos) {
    const int height = HeightAxis(info);
    if (height < 0) continue;
    std::vector<int64_t> sides(info.dims.size(), -1);
    sides[height] = sides[height + 1] = kImageSide;
    Give(info, sides);
  }
}

FilledDims DimFiller::Fill(const ValueInfo& info, std::vector<int64_t> dims) const {
  const int height = HeightAxis(info);
  std::vector<std::string> taken;
  for (int i = 0; i < static_cast<int>(dims.size()); ++i) {
    if (dims[i] >= 0) continue;
    const std::string& symbol = info.dims[i].symbol;
    const auto number = numbers_.find(symbol);
    const bool is_side = height >= 0 && (i == height || i == height + 1);
    dims[i] = is_side ? kImageSide : 1;
    if (number != numbers_.end()) dims[i] = number->second;
    taken.push_back(absl::StrCat(symbol.empty() ? absl::StrCat("dim ", i) : Printable(symbol),
                                 taken.empty() ? " taken as " : " as ", dims[i]));
  }
  FilledDims filled{.dims = std::move(dims), .taken = absl::StrJoin(taken, ", ")};
  if (taken.empty()) return filled;
  absl::StrAppend(&filled.taken, " (others: --shape ", info.name, "=",
                  absl::StrJoin(filled.dims, "x"), ")");
  return filled;
}

}  // namespace onnx_cudnn
