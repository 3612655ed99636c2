#include "runtime/plan/pricer.h"

#include "runtime/base/status.h"

namespace onnx_cudnn {

// All Variants are tried: which of them a library takes cannot be known before.
absl::StatusOr<Choice> FirstThatCompiles(const Candidate& candidate, const Target& target) {
  const Engine& engine = *candidate.engine;
  Choice choice;
  ASSIGN_OR_RETURN(const std::vector<Variant> variants, engine.Variants(candidate, target));
  for (const Variant& variant : variants) {
    ASSIGN_OR_RETURN(choice.compiled, engine.Compile(candidate, variant, target));
    choice.variant = variant;
    if (choice.compiled.step() != nullptr) break;
  }
  return choice;
}

}  // namespace onnx_cudnn
