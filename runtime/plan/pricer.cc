#include "runtime/plan/pricer.h"

#include "runtime/base/status.h"

namespace onnx_cudnn {

absl::StatusOr<Choice> FirstThatCompiles(const Candidate& candidate, const Target& target) {
  return FirstThatCompiles(candidate, target, [&](const Variant& variant) {
    return candidate.engine->Compile(candidate, variant, target);
  });
}

// Tries all Variants, because it is not known in advance which of them a library supports.
absl::StatusOr<Choice> FirstThatCompiles(
    const Candidate& candidate, const Target& target,
    absl::FunctionRef<absl::StatusOr<Compiled>(const Variant&)> compile) {
  Choice choice;
  ASSIGN_OR_RETURN(const std::vector<Variant> variants,
                   candidate.engine->Variants(candidate, target));
  for (const Variant& variant : variants) {
    ASSIGN_OR_RETURN(choice.compiled, compile(variant));
    choice.variant = variant;
    if (choice.compiled.step() != nullptr) break;
  }
  return choice;
}

}  // namespace onnx_cudnn
