#include "runtime/gemm/cuda/gemm_engine.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "runtime/base/status.h"
#include "runtime/cuda/capture_mutex.h"
#include "runtime/cuda/current_device.h"
#include "runtime/gemm/cuda/lower.h"
#include "runtime/gemm/cuda/lt_product.h"
#include "runtime/gemm/patterns.h"

namespace onnx_cudnn {
namespace {

class GemmStep final : public Step {
 public:
  GemmStep(std::shared_ptr<const LtHandle> handle, LtProblem problem,
           std::unique_ptr<const LtProduct> product, LtAlgorithm algorithm)
      : handle_(std::move(handle)),
        problem_(std::move(problem)),
        product_(std::move(product)),
        algorithm_(std::move(algorithm)) {}

  int64_t workspace_bytes() const override { return algorithm_.workspace_bytes; }
  absl::Span<const Derived> constants() const override { return problem_.constants; }
  std::string Save() const override { return ""; }

  absl::Status Launch(const LaunchArgs& args) const override {
    const auto address = [&](const LtOperand& operand) -> const void* {
      if (operand.kind == LtOperand::Kind::kNone) return nullptr;
      return operand.kind == LtOperand::Kind::kInput ? args.in[operand.index]
                                                     : args.constants[operand.index];
    };
    const void* c = address(problem_.c);
    const LtPointers pointers{.a = address(problem_.a),
                              .b = address(problem_.b),
                              .c = c == nullptr ? args.out[0] : c,  // beta is 0, so it is not read
                              .d = args.out[0],
                              .bias = address(problem_.bias),
                              .workspace = args.workspace};
    return product_->Launch(handle_->get(), algorithm_, pointers,
                            static_cast<cudaStream_t>(args.stream.native));
  }

 private:
  const std::shared_ptr<const LtHandle> handle_;
  const LtProblem problem_;
  const std::unique_ptr<const LtProduct> product_;
  const LtAlgorithm algorithm_;
};

std::string VersionText(size_t version) {
  return absl::StrFormat("cuBLASLt %d.%d.%d", version / 10000, version / 100 % 100, version % 100);
}

class GemmEngine final : public PatternEngine {
 public:
  explicit GemmEngine(LtHandle handle)
      : PatternEngine("gemm", GemmPatterns()),
        handle_(std::make_shared<LtHandle>(std::move(handle))) {}

  std::string version() const override { return VersionText(Lt().cublasLtGetVersion()); }

  // If there is none, Compile reports the reason.
  absl::StatusOr<std::vector<Variant>> Variants(const Candidate& candidate,
                                                const Target& target) const override {
    absl::StatusOr<Prepared> prepared = Prepare(candidate, target);
    if (absl::IsUnimplemented(prepared.status())) return std::vector<Variant>{Variant{}};
    RETURN_IF_ERROR(prepared.status());
    std::vector<Variant> variants;
    for (const LtAlgorithm& a : prepared->algorithms) variants.push_back({a.text});
    return variants;
  }

  // An empty Variant means the first one.
  absl::StatusOr<Compiled> Compile(const Candidate& candidate, const Variant& variant,
                                   const Target& target) const override {
    absl::StatusOr<Prepared> prepared = Prepare(candidate, target);
    if (absl::IsUnimplemented(prepared.status())) {
      return Compiled::No(std::string(prepared.status().message()));
    }
    RETURN_IF_ERROR(prepared.status());
    const auto& algorithms = prepared->algorithms;
    const auto it = std::find_if(algorithms.begin(), algorithms.end(), [&](const LtAlgorithm& a) {
      return variant.text.empty() || a.text == variant.text;
    });
    if (it == algorithms.end()) {
      return Compiled::No(absl::StrCat(version(), " does not offer ", variant.text));
    }
    return Compiled::As(std::make_shared<GemmStep>(handle_, std::move(prepared->problem),
                                                   std::move(prepared->product), *it));
  }

 private:
  struct Prepared {
    LtProblem problem;
    std::unique_ptr<const LtProduct> product;
    std::vector<LtAlgorithm> algorithms;
  };

  absl::StatusOr<Prepared> Prepare(const Candidate& candidate, const Target& target) const {
    Prepared prepared;
    ASSIGN_OR_RETURN(prepared.problem, LowerProduct(candidate));
    ASSIGN_OR_RETURN(prepared.product, LtProduct::Create(prepared.problem, target.numerics));
    ASSIGN_OR_RETURN(prepared.algorithms, prepared.product->Algorithms(handle_->get()));
    return prepared;
  }

  const std::shared_ptr<const LtHandle> handle_;  // usable by any number of threads at once
};

}  // namespace

absl::StatusOr<std::unique_ptr<Engine>> MakeGemmEngine(int ordinal) {
  RETURN_IF_ERROR(LoadLt());
  RETURN_IF_ERROR(MakeCudaDeviceCurrent(ordinal));
  absl::ReaderMutexLock lock(CaptureMutex());
  cublasLtHandle_t handle = nullptr;
  RETURN_IF_ERROR(LT_STATUS(cublasLtCreate, &handle));
  return std::make_unique<GemmEngine>(LtHandle(handle));
}

}  // namespace onnx_cudnn
