#include "runtime/kernels/cuda/fused/squeeze_excite.h"

#include <algorithm>
#include <cstddef>

#include "runtime/base/integers.h"
#include "runtime/cuda/repacked.h"
#include "runtime/kernels/conv/conv_shapes.h"
#include "runtime/kernels/cuda/common/operands.h"

namespace onnx_cudnn {
namespace {

const Node& FirstReader(const Node& node) { return *node.output(0).uses()[0].node; }

SqueezeExciteParameters ParametersOf(const Value& x, const Node& squeeze, const Node& gate) {
  SqueezeExciteParameters p{};
  const int64_t vectors = x.dim(1) / kSqueezeExciteVector;
  p.pixels = static_cast<int>(x.dim(2) * x.dim(3));
  p.share = CeilDiv(p.pixels, kSqueezeExciteBlocks);
  p.rows = std::min(
      {kSqueezeExciteThreads / static_cast<int>(vectors), kSqueezeExciteMostRows, p.share});
  p.vectors = FastDivide<uint32_t>(vectors);
  p.hidden = static_cast<int>(squeeze.input(1).dim(0));
  p.hidden_vectors = CeilDiv(p.hidden, kSqueezeExciteVector);
  p.activation = ActivationOf(FirstReader(squeeze));
  p.gate = ActivationOf(gate);
  return p;
}

void BindBias(KernelCall& call, size_t at, const Node& conv, Operands& operands) {
  if (conv.has_input(2)) call.Bind(at, operands.Of(conv.input(2)).slot);
}

}  // namespace

// A squeeze-and-excitation block, see ../squeeze_excite.cc.
absl::StatusOr<KernelCode> CompileSqueezeExcite(const KernelRequest& request) {
  const std::vector<const Node*> convs = ConvsOf(request.unit.nodes);
  const Node &squeeze = *convs[0], &excite = *convs[1];
  const Value& x = *request.unit.boundary.inputs[0];
  const Value& y = *request.unit.boundary.outputs[0];
  const SqueezeExciteParameters p = ParametersOf(x, squeeze, FirstReader(excite));
  const auto blocks = static_cast<unsigned>(x.dim(0) * kSqueezeExciteBlocks);
  const int shared_bytes =
      SqueezeExciteSharedBytes(static_cast<int>(p.vectors.divisor), p.hidden_vectors);
  const LaunchShape shape{.grid = {blocks},
                          .block = {kSqueezeExciteThreads},
                          .shared_bytes = shared_bytes,
                          .cluster = kSqueezeExciteBlocks};
  Operands operands(request);
  const Value& w = excite.input(1);
  const Format padded = Format::ChannelsLast(w.dims(), kSqueezeExciteVector);
  const bool multiplies = request.unit.nodes.back()->op() == "Mul";
  KernelCall call = SqueezeExciteCall(x.dtype(), multiplies, shape, p);
  call.next_uses_pdl_at = offsetof(SqueezeExciteParameters, next_uses_pdl);
  call.Bind(offsetof(SqueezeExciteParameters, x), operands.Of(x).slot)
      .Bind(offsetof(SqueezeExciteParameters, y), operands.Of(y).slot)
      .Bind(offsetof(SqueezeExciteParameters, squeeze), operands.Of(squeeze.input(1)).slot)
      .Bind(offsetof(SqueezeExciteParameters, excite),
            operands.Constant(Repacked(operands.PositionOf(w), w.dims(), padded)));
  BindBias(call, offsetof(SqueezeExciteParameters, squeeze_bias), squeeze, operands);
  BindBias(call, offsetof(SqueezeExciteParameters, excite_bias), excite, operands);
  return OneCall(std::move(call), operands);
}

}  // namespace onnx_cudnn
