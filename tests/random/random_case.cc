#include "tests/random/random_case.h"

#include <array>
#include <optional>
#include <utility>

#include "tests/random/growth.h"
#include "tests/random/makers.h"

namespace onnx_cudnn {
namespace {

constexpr std::array kInputDTypes = {DType::kF32, DType::kF32, DType::kF32, DType::kF32,
                                     DType::kF16, DType::kI64, DType::kBool};

std::vector<Maker> AllMakers() {
  std::vector<Maker> all;
  for (absl::Span<const Maker> some :
       {PointwiseMakers(), MovementMakers(), NumericMakers(), MotifMakers()}) {
    all.insert(all.end(), some.begin(), some.end());
  }
  return all;
}

void AddInputs(Growth& growth) {
  static const std::vector<Dims> kDims = {{1, 3, 5, 5}, {2, 4, 4, 4}, {1, 4, 6, 3}, {2, 3, 7},
                                          {3, 8},       {2, 6},       {5},          {}};
  growth.AddInput(DType::kF32, growth.OneOf(kDims));
  for (int more = growth.Below(3); more > 0; --more) {
    growth.AddInput(growth.OneOf(kInputDTypes), growth.OneOf(kDims));
  }
}

// `whole` without the Node at `position` of its order.
RandomCase Without(const RandomCase& whole, int position) {
  const std::vector<Node*> order = whole.graph.TopologicalOrder();
  std::vector<const Node*> kept(order.begin(), order.end());
  kept.erase(kept.begin() + position);
  Part part = TakePart(kept);
  RandomCase rest{.graph = std::move(part.graph), .lowest = whole.lowest};
  for (const auto& [value, copy] : part.copies) {
    if (!value->is_constant()) rest.tensors[copy] = whole.tensors.at(value);
  }
  return rest;
}

std::optional<RandomCase> OneNodeLess(const RandomCase& failing,
                                      absl::FunctionRef<bool(const RandomCase&)> fails) {
  for (int i = failing.graph.node_count() - 1; i >= 0; --i) {
    RandomCase rest = Without(failing, i);
    if (fails(rest)) return rest;
  }
  return std::nullopt;
}

}  // namespace

std::vector<HostTensor> RandomCase::Inputs() const {
  const auto inputs = graph.inputs();
  return TensorsOf(std::vector<const Value*>(inputs.begin(), inputs.end()), tensors);
}

std::vector<HostTensor> RandomCase::Outputs() const {
  std::vector<HostTensor> outputs;
  for (const GraphOutput& output : graph.outputs()) {
    const Value& v = *output.value;
    outputs.push_back(v.is_constant() ? v.constant() : tensors.at(&v));
  }
  return outputs;
}

RandomCase MakeRandomCase(uint64_t seed, DType lowest, std::string_view choices) {
  static const std::vector<Maker> kMakers = AllMakers();
  Growth growth(seed, lowest, choices);
  AddInputs(growth);
  const int nodes = 4 + growth.Below(17);
  for (int tries = 6 * nodes; tries > 0 && growth.graph().node_count() < nodes; --tries) {
    const Maker& maker = growth.OneOf(kMakers);
    if (Value* x = growth.Pick(maker.fits); x != nullptr) maker.make(growth, *x);
  }
  growth.Finish();
  return {.graph = growth.TakeGraph(), .tensors = growth.TakeTensors(), .lowest = lowest};
}

RandomCase Shrink(RandomCase failing, absl::FunctionRef<bool(const RandomCase&)> fails) {
  while (std::optional<RandomCase> smaller = OneNodeLess(failing, fails)) {
    failing = *std::move(smaller);
  }
  return failing;
}

}  // namespace onnx_cudnn
