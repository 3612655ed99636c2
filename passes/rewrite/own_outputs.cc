#include <set>

#include "passes/rewrite/rewrites.h"

namespace onnx_cudnn {
namespace {

bool IsConstantStrings(const Value& value) {
  return value.is_constant() && value.dtype() == DType::kString;
}

// A caller's output memory is written by exactly one Step, so each output needs its own producer.
// No Step writes strings; the Executor copies them.
class OwnOutputsPass final : public Pass {
 public:
  std::string_view name() const override { return "own-outputs"; }
  absl::StatusOr<bool> Run(Graph& graph, PassContext&) override {
    std::set<int> owned;
    bool changed = false;
    for (size_t i = 0; i < graph.outputs().size(); ++i) {
      Value& value = *graph.outputs()[i].value;
      if (IsConstantStrings(value)) continue;
      if (value.producer() != nullptr && owned.insert(value.id()).second) continue;
      Node& copy = graph.AddNode({.op = "Identity", .inputs = {&value}});
      graph.SetType(copy.output(0), value.type());
      graph.SetOutput(static_cast<int>(i), copy.output(0));
      changed = true;
    }
    return changed;
  }
};

}  // namespace

std::unique_ptr<Pass> OwnOutputs() { return std::make_unique<OwnOutputsPass>(); }

}  // namespace onnx_cudnn
