// The base of Engines for tests that take each Relu in row-major order.
#pragma once

#include "runtime/plan/engine.h"

namespace onnx_cudnn {

class ReluEngine : public Engine {
 public:
  void Propose(const Graph&, const Node& anchor, const Target& target,
               CandidateSink& sink) const override {
    if (anchor.op() != "Relu") return;
    sink.Add(RowMajorCandidate(*this, anchor, Space::kDevice, target));
  }
  Support Check(const Graph&, const Candidate&, const Target&) const override {
    return Support::Yes();
  }
};

}  // namespace onnx_cudnn
