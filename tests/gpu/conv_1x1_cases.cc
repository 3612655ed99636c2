#include "tests/gpu/conv_1x1_cases.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/substitute.h"

namespace onnx_cudnn {

std::string Conv1x1Case::Text(int64_t batch) const {
  const std::string head =
      absl::Substitute("g (float16[$0,$1,$3,$3] x, float16[$2,$1,1,1] w, float16[$2] wb, ", batch,
                       channels, filters, side);
  if (other_channels == 0) {
    return absl::Substitute(
        "$0 float16[$1,$2,$3,$3] r) => (y) { c = Conv(x, w, wb) s = Add(c, r) y = Relu(s) }", head,
        batch, filters, side);
  }
  return absl::Substitute(
      "$0 float16[$1,$2,$4,$4] z, float16[$3,$2,1,1] wz, float16[$3] wd) => (y) "
      "{ c = Conv(x, w, wb) d = Conv<strides = [$5, $5]>(z, wz, wd) s = Add(c, d) y = Relu(s) }",
      head, batch, other_channels, filters, side * stride, stride);
}

std::string Conv1x1Case::Name() const {
  const std::string other = other_channels > 0 ? absl::StrCat("+", other_channels) : "";
  return absl::StrCat(channels, other, "->", filters, "@", side);
}

int64_t Conv1x1Case::flops(int64_t batch) const {
  return 2 * batch * side * side * (channels + other_channels) * filters;
}

int64_t Conv1x1Case::bytes(int64_t batch) const {
  const int64_t depth = channels + other_channels;
  const int64_t results = (other_channels > 0 ? 1 : 2) * filters;  // and the residual
  return 2 * (batch * side * side * (depth + results) + depth * filters);
}

double Conv1x1Case::FloorUs(int64_t batch, const DeviceInfo& info) const {
  return std::max(static_cast<double>(bytes(batch)) / info.bytes_per_us,
                  static_cast<double>(flops(batch)) / info.f16_flops_per_us);
}

std::vector<Conv1x1Case> ResNet50Conv1x1Cases() {
  std::vector<Conv1x1Case> cases;
  for (const bool has_branch : {false, true}) {
    for (int64_t channels = 64, side = 56; channels <= 512; channels *= 2, side /= 2) {
      Conv1x1Case c = {.channels = channels, .filters = 4 * channels, .side = side};
      if (has_branch) c.other_channels = channels == 64 ? 64 : 2 * channels;
      if (has_branch && channels > 64) c.stride = 2;
      cases.push_back(c);
    }
  }
  return cases;
}

}  // namespace onnx_cudnn
