// Graphs of one convolution, and the kernels' proposals for it.
#pragma once

#include <algorithm>
#include <string_view>
#include <vector>

#include "tests/kernels/kernels_fixture.h"

namespace onnx_cudnn {

using Lines = std::vector<std::string>;
using Ints = std::vector<int64_t>;

inline constexpr std::string_view kNoTf32 =
    "its products of f32 are tf32, which --precision strict leaves out";

struct ConvSpec {
  int64_t filters = 64;
  int64_t kernel = 1, stride = 1;
  int64_t groups = 1;
};

inline Value& Conv(Graph& graph, Value& x, const ConvSpec& spec) {
  const DType dtype = x.dtype();
  Value& w =
      Weights(graph, dtype, {spec.filters, x.dim(1) / spec.groups, spec.kernel, spec.kernel});
  Value& b = Weights(graph, dtype, {spec.filters});
  const int64_t pad = spec.kernel / 2;
  return Append(graph, "Conv", {&x, &w, &b},
                {{"group", spec.groups},
                 {"pads", Ints{pad, pad, pad, pad}},
                 {"strides", Ints{spec.stride, spec.stride}}});
}

class ConvKernelsTest : public KernelsTest {
 protected:
  Value& Input(const Dims& dims, DType dtype = DType::kF16) {
    return graph_.AddInput("x", Type::Tensor(dtype, dims));
  }
  Value& Relu(Value& v) { return Append(graph_, "Relu", {&v}); }
  Proposed Around(const Value& v) {
    graph_.AddOutput("y", *graph_.TopologicalOrder().back()->outputs()[0]);
    return At(graph_, *v.producer());
  }
  // The proposals for another Target than that of At.
  Proposed In(const Target& target, const Node& node) const {
    return ProposedBy(*engine_, graph_, node, target);
  }
  // The Candidates with these ops.
  static std::vector<Candidate> Of(const Proposed& proposed, std::string_view ops) {
    std::vector<Candidate> found;
    for (const Candidate& c : proposed.candidates) {
      if (Describe(c).starts_with(ops)) found.push_back(c);
    }
    return found;
  }
  // The kernels that take `candidate`, by name.
  Lines KernelsOf(const Candidate& candidate) const {
    const auto variants = engine_->Variants(candidate, target_);
    EXPECT_TRUE(variants.ok()) << variants.status();
    Lines names;
    for (const Variant& v : *variants) names.push_back(v.text);
    std::sort(names.begin(), names.end());
    return names;
  }
  static bool Says(const Proposed& proposed, std::string_view reason) {
    return std::find(proposed.reasons.begin(), proposed.reasons.end(), reason) !=
           proposed.reasons.end();
  }
  static bool Has(const Proposed& proposed, std::string_view line) {
    const Lines lines = Describe(proposed.candidates);
    return std::find(lines.begin(), lines.end(), line) != lines.end();
  }

  Graph graph_;
};

}  // namespace onnx_cudnn
