#include "runtime/gemm/cuda/gemm_engine.h"

#include <algorithm>
#include <atomic>
#include <string>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/synchronization/mutex.h"
#include "runtime/base/start_times.h"
#include "runtime/base/status.h"
#include "runtime/cuda/capture_mutex.h"
#include "runtime/cuda/current_device.h"
#include "runtime/gemm/cuda/lower.h"
#include "runtime/gemm/cuda/lt_product.h"
#include "runtime/gemm/patterns.h"

namespace onnx_cudnn {
namespace {

// The kernels that an Engine's Steps have launched. Thread-safe.
class LaunchedKernels {
 public:
  void Add(const std::string& kernel) {
    absl::MutexLock lock(mutex_);
    kernels_.insert(kernel);
  }
  bool Has(const std::string& kernel) const {
    absl::MutexLock lock(mutex_);
    return kernels_.contains(kernel);
  }

 private:
  mutable absl::Mutex mutex_;
  absl::flat_hash_set<std::string> kernels_ ABSL_GUARDED_BY(mutex_);
};

class GemmStep final : public Step {
 public:
  GemmStep(std::shared_ptr<const LtHandle> handle, std::shared_ptr<LaunchedKernels> launched,
           LtProblem problem, std::unique_ptr<const LtProduct> product, LtAlgorithm algorithm)
      : handle_(std::move(handle)),
        launched_(std::move(launched)),
        problem_(std::move(problem)),
        product_(std::move(product)),
        algorithm_(std::move(algorithm)) {}

  int64_t workspace_bytes() const override { return algorithm_.workspace_bytes; }
  absl::Span<const Derived> constants() const override { return problem_.constants; }
  std::string Save() const override { return SavedText(algorithm_); }

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
    RETURN_IF_ERROR(product_->Launch(handle_->get(), algorithm_, pointers,
                                     static_cast<cudaStream_t>(args.stream.native)));
    if (!is_noted_.exchange(true)) launched_->Add(algorithm_.kernel);
    return absl::OkStatus();
  }

 private:
  const std::shared_ptr<const LtHandle> handle_;
  const std::shared_ptr<LaunchedKernels> launched_;
  mutable std::atomic<bool> is_noted_ = false;
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
    return Compiled::As(std::make_shared<GemmStep>(handle_, launched_, std::move(prepared->problem),
                                                   std::move(prepared->product), *it));
  }

  absl::StatusOr<std::shared_ptr<const Step>> Load(std::string_view saved,
                                                   const Candidate& candidate,
                                                   const Target& target) const override {
    ASSIGN_OR_RETURN(LtProblem problem, LowerProduct(candidate));
    ASSIGN_OR_RETURN(std::unique_ptr<const LtProduct> product,
                     LtProduct::Create(problem, target.numerics));
    ASSIGN_OR_RETURN(LtAlgorithm algorithm, product->Restore(handle_->get(), saved));
    return std::make_shared<GemmStep>(handle_, launched_, std::move(problem), std::move(product),
                                      std::move(algorithm));
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
    if (target.prefers_launched) {
      std::stable_partition(prepared.algorithms.begin(), prepared.algorithms.end(),
                            [&](const LtAlgorithm& a) { return launched_->Has(a.kernel); });
    }
    return prepared;
  }

  const std::shared_ptr<const LtHandle> handle_;  // usable by any number of threads at once
  const std::shared_ptr<LaunchedKernels> launched_ = std::make_shared<LaunchedKernels>();
};

}  // namespace

absl::StatusOr<std::unique_ptr<Engine>> MakeGemmEngine(int ordinal) {
  RETURN_IF_ERROR(LoadLt());
  RETURN_IF_ERROR(MakeCudaDeviceCurrent(ordinal));
  absl::ReaderMutexLock lock(CaptureMutex());
  const StartScope scope("create a cuBLASLt handle");
  cublasLtHandle_t handle = nullptr;
  RETURN_IF_ERROR(LT_STATUS(cublasLtCreate, &handle));
  return std::make_unique<GemmEngine>(LtHandle(handle));
}

}  // namespace onnx_cudnn
