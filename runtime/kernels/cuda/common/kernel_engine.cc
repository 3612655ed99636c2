#include "runtime/kernels/cuda/common/kernel_engine.h"

#include <algorithm>
#include <map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/base/status.h"
#include "runtime/kernels/common/kernel_rules.h"
#include "runtime/kernels/cuda/common/kernel_step.h"

namespace onnx_cudnn {
namespace {

// The code of the kernel `name`; nullptr if there is none.
CompileKernel FindCode(std::string_view name) {
  static const auto& by_name = *new std::map<std::string_view, CompileKernel>{
#define KERNEL(kernel, name) {#name, Compile##kernel},
#include "runtime/kernels/kernels.inc"
#undef KERNEL
  };
  const auto it = by_name.find(name);
  return it == by_name.end() ? nullptr : it->second;
}

class CudaKernels final : public KernelRules {
 public:
  std::string version() const override { return "cuda"; }

  absl::StatusOr<std::vector<Variant>> Variants(const Candidate& candidate,
                                                const Target& target) const override {
    if (IsConversion(*candidate.nodes[0])) return KernelRules::Variants(candidate, target);
    const Unit unit = UnitOf(candidate.nodes);
    std::vector<Variant> variants;
    for (const Kernel* kernel : KernelsThatTake(candidate, target)) {
      std::vector<std::string> own;
      if (kernel->variants != nullptr) own = kernel->variants(unit, target);
      if (own.empty()) variants.push_back({.text = std::string(kernel->name)});
      for (const std::string& text : own) {
        variants.push_back({.text = absl::StrCat(kernel->name, " ", text)});
      }
    }
    return variants;
  }

  absl::StatusOr<Compiled> Compile(const Candidate& candidate, const Variant& variant,
                                   const Target& target) const override {
    absl::StatusOr<KernelCode> code = CompileVariant(candidate, variant, target);
    if (absl::IsUnimplemented(code.status())) {
      return Compiled::No(std::string(code.status().message()));
    }
    RETURN_IF_ERROR(code.status());
    ASSIGN_OR_RETURN(std::shared_ptr<const Step> step,
                     MakeKernelStep(*std::move(code), target.info));
    return Compiled::As(std::move(step));
  }
};

}  // namespace

absl::StatusOr<KernelCode> CompileVariant(const Candidate& candidate, const Variant& variant,
                                          const Target& target) {
  const std::string_view text = variant.text;
  const size_t name_end = std::min(text.find(' '), text.size());
  const std::string_view own_text = text.substr(std::min(name_end + 1, text.size()));
  const bool converts = IsConversion(*candidate.nodes[0]);
  const CompileKernel compile = converts ? CompileConversion : FindCode(text.substr(0, name_end));
  if (compile == nullptr) {
    return absl::InvalidArgumentError(absl::StrCat("no kernel runs variant \"", text, "\""));
  }
  const Unit unit = UnitOf(candidate.nodes);
  return compile({unit, candidate, target, own_text});
}

std::unique_ptr<Engine> MakeCudaKernels() { return std::make_unique<CudaKernels>(); }

}  // namespace onnx_cudnn
