#include <algorithm>
#include <cstdint>
#include <limits>

#include "absl/strings/str_cat.h"
#include "runtime/kernels/common/layouts.h"
#include "runtime/kernels/conv/conv_shapes.h"

namespace onnx_cudnn {
namespace {

using NodeList = std::vector<const Node*>;

constexpr int64_t kBlocks = 8;           // per cluster; they share the pixels of an image
constexpr int64_t kVector = 8;           // channels of 16 bytes
constexpr int64_t kMostChannels = 2048;  // each of a block's 512 threads averages four
// Each of the 128 warps of a cluster computes four: the weights of its rows are in its registers
// before the preceding launch ends.
constexpr int64_t kMostHidden = 512;
constexpr int kMostStepsToPool = 3;  // from the second convolution

// Largest image, in elements, if it has the device to itself; proportionally smaller if several
// clusters share it. For larger ones, the launches that a cluster replaces are assumed to be
// faster: estimates from the prices, which no record compares.
constexpr int64_t kFewPooled = 5 << 19;      // 96 channels of 160×160 pixels
constexpr int64_t kFewMultiplied = 1 << 18;  // read and written once more

constexpr Rule kOnlyScale = {"it multiplies the pooled image by its gates, nothing else joins",
                             "none: another kernel runs the node"};
constexpr Rule kOneResult = {"it writes one result, and its gates have other readers",
                             "none: the gates are written, a kernel of its own multiplies"};

bool Is(const Node* node, std::string_view op) {
  return node != nullptr && node->domain().empty() && node->op() == op;
}

bool IsHidden(const Node* node) {
  return Is(node, "Relu") || (Is(node, "Swish") && node->attrs().Float("alpha", 1) == 1);
}

// The only reader of the result of `node`, as its input 0; nullptr: none.
const Node* OnlyReader(const Node& node) {
  const Value& v = node.output(0);
  if (v.only_reader() == nullptr || !v.is_static()) return nullptr;
  return v.uses()[0].index == 0 ? v.only_reader() : nullptr;
}

// The pooling before `anchor`, or `anchor` itself; nullptr: none nearby.
const Node* PoolBefore(const Node& anchor) {
  const Node* node = &anchor;
  for (int step = 0; node != nullptr && !Is(node, "GlobalAveragePool"); ++step) {
    if (step == kMostStepsToPool || !node->has_input(0)) return nullptr;
    node = node->input(0).producer();
  }
  return node;
}

// GlobalAveragePool, Conv, optionally Relu or Swish, Conv, Sigmoid or HardSigmoid; each is the only
// reader of the previous one.
std::vector<NodeList> FromPool(const Node& anchor) {
  const Node* pool = PoolBefore(anchor);
  const Node* squeeze = pool == nullptr ? nullptr : OnlyReader(*pool);
  if (!Is(squeeze, "Conv")) return {};
  NodeList nodes = {pool, squeeze};
  if (const Node* hidden = OnlyReader(*squeeze); IsHidden(hidden)) nodes.push_back(hidden);
  const Node* excite = OnlyReader(*nodes.back());
  if (!Is(excite, "Conv")) return {};
  const Node* gate = OnlyReader(*excite);
  if (!Is(gate, "Sigmoid") && !Is(gate, "HardSigmoid")) return {};
  nodes.insert(nodes.end(), {excite, gate});
  if (!Contains(nodes, &anchor)) return {};
  return {nodes};
}

Support CheckProduct(const Node& conv) {
  const absl::StatusOr<ConvShape> shape = StaticConvShape(conv);
  if (!shape.ok()) return Support::No(std::string(shape.status().message()));
  if (Support s = CheckTensorCoreConv(conv, *shape); !s) return s;
  if (shape->window.trivial()) return Support::Yes();
  return Support::No("a convolution is not 1 x 1 with stride 1 and no pads");
}

Support CheckExtents(const Value& x, int64_t hidden, int64_t gates) {
  if (x.elements() == 0) return Support::No("it has no pixels");
  const int64_t channels = x.dim(1);
  if (channels % kVector != 0) {
    return Support::No(absl::StrCat(channels, " channels are no multiple of ", kVector));
  }
  if (channels > kMostChannels) {
    return Support::No(absl::StrCat(channels, " channels are more than ", kMostChannels));
  }
  if (hidden > kMostHidden) {
    return Support::No(absl::StrCat(hidden, " hidden channels are more than ", kMostHidden));
  }
  if (gates != channels) {
    return Support::No(absl::StrCat(gates, " gates are not one for each of ", channels));
  }
  if (x.elements() <= std::numeric_limits<int32_t>::max()) return Support::Yes();
  return Support::No(absl::StrCat(x.elements(), " elements are too many"));
}

Support TakesAttention(const Unit& core) {
  const NodeList convs = ConvsOf(core.nodes);
  for (const Node* conv : convs) {
    if (Support s = CheckProduct(*conv); !s) return s;
  }
  if (core.boundary.inputs.size() != 1) return Support::No("it has not one operand");
  return CheckExtents(*core.boundary.inputs[0], convs[0]->input(1).dim(0),
                      convs[1]->input(1).dim(0));
}

const Rule* JoinsAsScale(const GrowthStep& step) {
  const Value& x = step.nodes.front()->input(0);
  const bool has_scale = step.edge.producer()->op() == "Mul";
  if (has_scale || !Is(&step.node, "Mul")) return &kOnlyScale;
  if (!step.edge.has_one_use()) return &kOneResult;
  if (&step.node.input(&step.node.input(0) == &step.edge ? 1 : 0) != &x) return &kOnlyScale;
  return nullptr;
}

std::vector<Formats> ChannelsLast(const Unit& unit, const Target&) {
  return {{.inputs = {InLayout(*unit.boundary.inputs[0], Layout::kChannelsLast)},
           .outputs = {InLayout(*unit.boundary.outputs[0], Layout::kChannelsLast)}}};
}

int64_t ClustersAtOnce(const DeviceInfo& info) {
  return std::max<int64_t>(1, info.multiprocessors / kBlocks);
}

bool HasLargeImages(const Unit& unit, const DeviceInfo& info) {
  const Value& x = *unit.boundary.inputs[0];
  const int64_t few = Is(unit.nodes.back(), "Mul") ? kFewMultiplied : kFewPooled;
  return x.elements() / x.dim(0) > few * std::min(x.dim(0), ClustersAtOnce(info));
}

double Us(const Unit& unit, const Cost& roofline, const Target& target) {
  const auto& calibration = target.info.calibration.kernels.squeeze_excite;
  const Value& x = *unit.boundary.inputs[0];
  const double cluster_bytes_per_us = kBlocks * calibration.block_bytes_per_us;
  const double bytes_per_us = std::min(
      static_cast<double>(std::min(x.dim(0), ClustersAtOnce(target.info))) * cluster_bytes_per_us,
      target.info.bytes_per_us);
  const int passes = Is(unit.nodes.back(), "Mul") ? 3 : 1;
  int64_t weights = 0;  // each cluster reads all of them
  for (const Value* v : unit.boundary.constants) weights += v->bytes();
  const double us = calibration.fixed_us + passes * static_cast<double>(x.bytes()) / bytes_per_us +
                    static_cast<double>(weights) / cluster_bytes_per_us;
  return std::max(us, roofline.us);
}

}  // namespace

// Squeeze and excitation in one launch: GlobalAveragePool of channels-last images of f16 or bf16
// with up to 2,048 channels, a multiple of 8; a 1×1 convolution to up to 512 hidden channels;
// optionally Relu or Swish; a 1×1 convolution back; Sigmoid or HardSigmoid; and optionally Mul of
// the image by these gates. Every Node's result is rounded to its type. Sums in f32, in a fixed
// order. Intermediate results must have no other readers.
Kernel SqueezeExciteKernel() {
  return {.ops = {"Conv", "GlobalAveragePool"},
          .types = kTensorCoreTypes,
          .needs = kClusters,
          .cores = FromPool,
          .takes = TakesAttention,
          .growth = [](const Unit&) { return GrowthOptions{.forward = JoinsAsScale}; },
          .formats = ChannelsLast,
          .us = Us,
          .beyond_fit = HasLargeImages};
}

}  // namespace onnx_cudnn
