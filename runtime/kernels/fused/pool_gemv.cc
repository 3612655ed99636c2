#include <algorithm>
#include <cstdint>
#include <limits>

#include "absl/strings/str_cat.h"
#include "runtime/kernels/common/layouts.h"
#include "runtime/kernels/conv/conv_shapes.h"
#include "runtime/kernels/gemm/gemv.h"
#include "runtime/ops/op_table.h"

namespace onnx_cudnn {
namespace {

using NodeList = std::vector<const Node*>;

constexpr int kChannels = 1;    // the channel dim
constexpr int64_t kBlocks = 8;  // per cluster; they share the channels
// A block's shared memory holds the averages of 256, which at most four warps multiply, 64 each.
constexpr int64_t kMostChannels = 2048;
// Pixels over all images. More are summed correctly; nothing was measured.
constexpr int64_t kFewPixels = 512;
// Elements over all images, between one and two images of 7×7 and 2,048 channels: for two and more,
// two launches are faster (docs/measurements.md, 'Findings while kernels were built').
constexpr int64_t kFewElements = 131'072;

bool IsPool(const Node& node) { return node.domain().empty() && node.op() == "GlobalAveragePool"; }

bool IsView(const Node& node) { return TraitsOf(node).keeps_bytes; }

// The product that reads the result of `node`, a pooling or a view of one; nullptr: there are other
// readers.
const Node* ProductBehind(const Node& node) {
  const Node* at = &node;
  while (at != nullptr && !IsGemv(*at)) {
    const Value& v = at->output(0);
    const bool goes_on = (IsPool(*at) || IsView(*at)) && v.only_reader() != nullptr;
    at = goes_on && v.uses()[0].index == 0 ? v.only_reader() : nullptr;
  }
  return at;
}

// GlobalAveragePool, views of its result, Gemm or MatMul; each is the only reader of the previous
// one.
std::vector<NodeList> FromPool(const Node& anchor) {
  const Node* node = ProductBehind(anchor);
  if (node == nullptr) return {};
  NodeList nodes = {node};
  while (!IsPool(*node)) {
    const Value& v = node->input(0);
    node = v.producer();
    if (node == nullptr || !(IsPool(*node) || IsView(*node))) return {};
    if (!v.has_one_use() || !v.is_static()) return {};
    nodes.insert(nodes.begin(), node);
  }
  return {nodes};
}

Support TakesPoolAndProduct(const Unit& core) {
  const Node& product = *core.nodes.back();
  if (Support s = CheckGemv(product); !s) return s;
  if (core.boundary.inputs.size() != 1) return Support::No("it has not one operand");
  const Value &x = *core.boundary.inputs[0], &rows = product.input(0);
  if (x.rank() <= kChannels + 1 || x.elements() == 0) return Support::No("it has no pixels");
  const int64_t channels = x.dim(kChannels);
  if (rows.dim(rows.rank() - 1) != channels) {
    return Support::No(absl::StrCat(rows.name(), " is ", ToString(rows.type()), ", not rows of ",
                                    channels, " channels"));
  }
  if (channels > kMostChannels) {
    return Support::No(absl::StrCat(channels, " channels are more than ", kMostChannels));
  }
  if (x.elements() <= std::numeric_limits<int32_t>::max()) return Support::Yes();
  return Support::No(absl::StrCat(x.elements(), " elements are too many"));
}

bool HasLargeImages(const Unit& unit, const DeviceInfo&) {
  const Value& x = *unit.boundary.inputs[0];
  return x.elements() > kFewElements || x.elements() / x.dim(kChannels) > kFewPixels;
}

double Us(const Unit& unit, const Cost& roofline, const Target& target) {
  const KernelCalibration& calibration = target.info.calibration.kernels;
  const auto image = static_cast<double>(unit.boundary.inputs[0]->bytes());
  const double others = static_cast<double>(roofline.bytes) - image;
  const double us = calibration.gemv.fixed_us + others / calibration.gemv.bytes_per_us +
                    image / kBlocks / calibration.pool_gemv.block_bytes_per_us;
  return std::max(us, roofline.us);
}

}  // namespace

// The tail of a classifier in one launch: GlobalAveragePool of channels-last images of f16 or bf16,
// no more than the rows that gemv takes (CheckGemv), with up to 2,048 channels, a multiple of 8
// (best up to 512 pixels in total); views of the averages; a product with a constant matrix on
// tensor cores, and the epilogue of gemv. Averages are rounded to their type. Sums in f32, in a
// fixed order. Intermediate results must have no other readers.
Kernel PoolGemvKernel() {
  return {.ops = {"Gemm", "GlobalAveragePool", "MatMul"},
          .types = kTensorCoreTypes,
          .needs = kClusters,
          .cores = FromPool,
          .takes = TakesPoolAndProduct,
          .growth = [](const Unit&) { return GrowthOptions{.forward = JoinsGemvEpilogue}; },
          .formats = ChannelsLastToRowMajor,
          .us = Us,
          .beyond_fit = HasLargeImages};
}

}  // namespace onnx_cudnn
