#include "runtime/kernels/gemm/wide_matmul.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "runtime/kernels/common/kernel.h"
#include "runtime/kernels/conv/conv_shapes.h"

namespace onnx_cudnn {
namespace {

constexpr int64_t kTileColumns = 64;  // minimum
constexpr Rule kOtherActivation = {"it computes Relu, or Gelu by erf without a residual",
                                   "none: cuDNN's epilogues take more"};

bool IsGelu(const Node* node) {
  return node != nullptr && node->op() == "Gelu" &&
         node->attrs().String("approximate", "none") == "none";
}

Support TakesProduct(const Unit& core) {
  if (Support s = CheckRowProduct(core.node()); !s) return s;
  const RowProduct product = RowProductOf(core);
  constexpr int64_t kSlice = kConvGemmSliceBytes / 2;
  if (product.depth() % kSlice == 0 && product.columns() % kTileColumns == 0) {
    return Support::Yes();
  }
  return Support::No(absl::StrCat("its depth ", product.depth(), " or its ", product.columns(),
                                  " columns are no multiple of 64"));
}

const Rule* Joins(const GrowthStep& step) {
  if (const Rule* no = JoinsRowProduct(step)) return no;
  if (step.node.op() == "Add" || step.node.op() == "Relu") return nullptr;
  const RowProduct so_far = RowProductOf(UnitOf({step.nodes.begin(), step.nodes.end()}));
  return IsGelu(&step.node) && so_far.residual == nullptr ? nullptr : &kOtherActivation;
}

double Us(const Unit& unit, const Cost&, const Target& target) {
  const auto& calibration = target.info.calibration.kernels.conv_gemm;
  const ConvGemmProduct product = WideProductOf(RowProductOf(unit));
  return std::max(calibration.least_us, calibration.fixed_us + ConvGemmUs(product, target.info));
}

// Without Gelu, cuBLASLt's products are expected to be as fast.
bool HasNoGelu(const Unit& unit, const DeviceInfo&) {
  return !IsGelu(RowProductOf(unit).activation);
}

std::vector<std::string> Variants(const Unit& unit, const Target& target) {
  std::vector<std::string> variants;
  const ConvGemmProduct product = WideProductOf(RowProductOf(unit));
  for (const ConvGemmTile& tile : ConvGemmTilesOf(product, target.info)) {
    variants.push_back(tile.ToString());
  }
  return variants;
}

}  // namespace

ConvGemmProduct WideProductOf(const RowProduct& product) {
  return {.sources = {product.AsConv()},
          .element_bytes = 2,
          .has_residual = product.residual != nullptr,
          .has_gelu = IsGelu(product.activation)};
}

// Products of many rows with a constant matrix, in f16 or bf16, by the code of conv_gemm (wgmma):
// Gemm and MatMul with a bias per column, a residual of the result's type and Relu, or with a bias
// and Gelu, which one warpgroup computes while the other multiplies. Depths and columns are
// multiples of 64. Its variants are tiles; with Gelu those with columns on the M axis of wgmma.
Kernel WideMatMulKernel() {
  return {.ops = {"Gemm", "MatMul"},
          .types = kTensorCoreTypes,
          .needs = kSm90aCode,
          .takes = TakesProduct,
          .growth = [](const Unit&) { return GrowthOptions{.forward = Joins}; },
          .us = Us,
          .beyond_fit = HasNoGelu,
          .variants = Variants};
}

}  // namespace onnx_cudnn
