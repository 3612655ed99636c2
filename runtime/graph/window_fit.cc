#include "runtime/graph/window_fit.h"

#include <string_view>
#include <vector>

#include "absl/strings/str_format.h"
#include "runtime/base/status.h"

namespace onnx_cudnn {
namespace {

struct WindowOp {
  std::string_view op;
  int weight;  // the input with the window's extents; -1: attribute kernel_shape only
};
constexpr WindowOp kWindowOps[] = {{"AveragePool", -1}, {"Conv", 1},    {"ConvInteger", 1},
                                   {"DeformConv", 1},   {"LpPool", -1}, {"MaxPool", -1},
                                   {"QLinearConv", 3}};

const WindowOp* FindWindowOp(const Node& node) {
  if (!node.domain().empty()) return nullptr;
  for (const WindowOp& op : kWindowOps) {
    if (op.op == node.op()) return &op;
  }
  return nullptr;
}

bool IsRanked(const Node& node, int input) {
  return node.has_input(input) && node.input(input).type().is_tensor() &&
         node.input(input).type().ranked;
}

// Extents of the window; -1 where unknown.
std::vector<int64_t> KernelOf(const Node& node, const WindowOp& op) {
  std::vector<int64_t> kernel = node.attrs().Ints("kernel_shape");
  if (!kernel.empty() || op.weight < 0 || !IsRanked(node, op.weight)) return kernel;
  const std::vector<Dim>& dims = node.input(op.weight).type().dims;
  for (size_t i = 2; i < dims.size(); ++i) kernel.push_back(dims[i].value);
  return kernel;
}

}  // namespace

absl::Status CheckWindowFits(const Node& node) {
  const WindowOp* op = FindWindowOp(node);
  if (op == nullptr || !IsRanked(node, 0)) return absl::OkStatus();
  if (node.attrs().String("auto_pad", "NOTSET").starts_with("SAME_")) return absl::OkStatus();
  const Type& input = node.input(0).type();
  const std::vector<int64_t> kernel = KernelOf(node, *op);
  const size_t spatial = kernel.size();
  if (input.dims.size() != spatial + 2) return absl::OkStatus();
  const std::vector<int64_t> ones(spatial, 1);
  const std::vector<int64_t> strides = node.attrs().Ints("strides", ones),
                             dilations = node.attrs().Ints("dilations", ones),
                             pads = node.attrs().Ints("pads", std::vector<int64_t>(2 * spatial, 0));
  const bool ceil_mode = node.attrs().Int("ceil_mode", 0) != 0;
  for (size_t i = 0; i < spatial; ++i) {
    const int64_t extent = input.dims[i + 2].value;
    if (extent <= 0 || kernel[i] < 0) continue;
    const int64_t padded = extent + pads[i] + pads[spatial + i];
    const int64_t span = (kernel[i] - 1) * dilations[i] + 1;
    const int64_t beyond = ceil_mode ? strides[i] - 1 : 0;  // how far the last window may extend
    if (span <= padded + beyond) continue;
    return absl::InvalidArgumentError(absl::StrFormat(
        "its window of %d (kernel %d, dilation %d) is larger than the padded input of %d (extent "
        "%d, pads %d and %d) along spatial axis %d of %s",
        span, kernel[i], dilations[i], padded, extent, pads[i], pads[spatial + i], i,
        ToString(input)));
  }
  return absl::OkStatus();
}

}  // namespace onnx_cudnn
