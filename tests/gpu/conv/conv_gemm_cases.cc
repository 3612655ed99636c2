#include "tests/gpu/conv/conv_gemm_cases.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/substitute.h"

namespace onnx_cudnn {
namespace {

// "T[8,64,56,56] x"
std::string Tensor(int64_t images, int64_t channels, int64_t side, std::string_view name) {
  return absl::Substitute("T[$0,$1,$2,$2] $3", images, channels, side, name);
}

}  // namespace

std::string ConvGemmCase::Text(int64_t batch) const {
  std::vector<std::string> inputs = {Tensor(batch, channels, side * stride, "x"),
                                     Tensor(filters, channels, kernel, "w"),
                                     absl::StrCat("T[", filters, "] wb")};
  std::string nodes = absl::Substitute(
      "c = Conv<pads = [$0, $0, $0, $0], strides = [$1, $1]>(x, w, wb) ", kernel / 2, stride);
  std::string sum = "c";
  if (has_residual) {
    inputs.push_back(Tensor(batch, filters, side, "r"));
    nodes += "s = Add(c, r) ";
    sum = "s";
  }
  if (other_channels > 0) {
    inputs.push_back(Tensor(batch, other_channels, side * other_stride, "z"));
    inputs.push_back(Tensor(filters, other_channels, 1, "wz"));
    inputs.push_back(absl::StrCat("T[", filters, "] wd"));
    nodes +=
        absl::Substitute("d = Conv<strides = [$0, $0]>(z, wz, wd) s = Add(c, d) ", other_stride);
    sum = "s";
  }
  const std::string text =
      absl::Substitute("g ($0) => (y) { $1y = Relu($2) }", absl::StrJoin(inputs, ", "), nodes, sum);
  return absl::StrReplaceAll(text, {{"T[", is_f32 ? "float[" : "float16["}});
}

std::string ConvGemmCase::Name() const {
  const std::string window = kernel > 1 ? absl::StrCat(kernel, "x", kernel) : "";
  const std::string strided = stride > 1 ? absl::StrCat("/", stride) : "";
  const std::string other = other_channels > 0 ? absl::StrCat("+", other_channels) : "";
  return absl::StrCat(window, strided, kernel > 1 ? " " : "", channels, other, "->", filters, "@",
                      side, has_residual ? " residual" : "", is_f32 ? " tf32" : "");
}

int64_t ConvGemmCase::flops(int64_t batch) const {
  return 2 * batch * side * side * (channels * kernel * kernel + other_channels) * filters;
}

int64_t ConvGemmCase::bytes(int64_t batch) const {
  const int64_t image_side = kernel > 1 ? side * stride : side;
  const int64_t results = (has_residual ? 2 : 1) * filters;
  const int64_t elements = batch * image_side * image_side * channels +
                           batch * side * side * (other_channels + results) +
                           (channels * kernel * kernel + other_channels) * filters;
  return (is_f32 ? 4 : 2) * elements;
}

double ConvGemmCase::FloorUs(int64_t batch, const DeviceInfo& info) const {
  return std::max(static_cast<double>(bytes(batch)) / info.bytes_per_us,
                  static_cast<double>(flops(batch)) /
                      (is_f32 ? info.tf32_flops_per_us : info.f16_flops_per_us));
}

std::vector<ConvGemmCase> ResNet50Conv1x1Cases(bool is_f32) {
  std::vector<ConvGemmCase> cases;
  for (const bool has_branch : {false, true}) {
    for (int64_t channels = 64, side = 56; channels <= 512; channels *= 2, side /= 2) {
      ConvGemmCase c = {.channels = channels,
                        .filters = 4 * channels,
                        .side = side,
                        .has_residual = !has_branch,
                        .is_f32 = is_f32};
      if (has_branch) c.other_channels = channels == 64 ? 64 : 2 * channels;
      if (has_branch && channels > 64) c.other_stride = 2;
      cases.push_back(c);
    }
  }
  return cases;
}

std::vector<ConvGemmCase> ResNetConv3x3Cases(bool is_f32) {
  std::vector<ConvGemmCase> cases;
  for (int64_t filters = 128, side = 28; filters <= 512; filters *= 2, side /= 2) {
    const ConvGemmCase plain = {
        .channels = filters, .filters = filters, .side = side, .kernel = 3, .is_f32 = is_f32};
    cases.push_back(plain);
    cases.push_back(plain);
    cases.back().has_residual = true;
    cases.push_back(plain);
    cases.back().channels = filters / 2;
    cases.back().stride = 2;
    cases.push_back(plain);
    cases.back().other_channels = filters / 2;
    cases.back().other_stride = 2;
  }
  return cases;
}

}  // namespace onnx_cudnn
