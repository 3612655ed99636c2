#include "runtime/gemm/cuda/lt_product.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "runtime/base/run_times.h"
#include "runtime/base/start_times.h"
#include "runtime/base/status.h"

namespace onnx_cudnn {
namespace {

constexpr int kMostAlgorithms = 8;
constexpr uint64_t kMostWorkspaceBytes = 32 << 20;  // NVIDIA's recommendation for sm_90
constexpr uint32_t kAlignment = 16;                 // of the start of every operand

cudaDataType_t DataType(DType dtype) {
  if (dtype == DType::kF16) return CUDA_R_16F;
  return dtype == DType::kBF16 ? CUDA_R_16BF : CUDA_R_32F;
}

cublasLtEpilogue_t EpilogueOf(LtProblem::Activation activation, bool has_bias) {
  switch (activation) {
    case LtProblem::Activation::kRelu:
      return has_bias ? CUBLASLT_EPILOGUE_RELU_BIAS : CUBLASLT_EPILOGUE_RELU;
    case LtProblem::Activation::kGelu:
      return has_bias ? CUBLASLT_EPILOGUE_GELU_BIAS : CUBLASLT_EPILOGUE_GELU;
    case LtProblem::Activation::kNone:
      break;
  }
  return has_bias ? CUBLASLT_EPILOGUE_BIAS : CUBLASLT_EPILOGUE_DEFAULT;
}

template <typename T>
absl::Status Set(cublasLtMatmulDesc_t descriptor, cublasLtMatmulDescAttributes_t attribute,
                 const T& value) {
  return LT_STATUS(cublasLtMatmulDescSetAttribute, descriptor, attribute, &value, sizeof(value));
}

template <typename T>
absl::Status Set(cublasLtMatrixLayout_t layout, cublasLtMatrixLayoutAttribute_t attribute,
                 const T& value) {
  return LT_STATUS(cublasLtMatrixLayoutSetAttribute, layout, attribute, &value, sizeof(value));
}

template <typename T>
absl::Status Set(cublasLtMatmulPreference_t preference,
                 cublasLtMatmulPreferenceAttributes_t attribute, const T& value) {
  return LT_STATUS(cublasLtMatmulPreferenceSetAttribute, preference, attribute, &value,
                   sizeof(value));
}

absl::StatusOr<LtLayout> MakeLayout(const LtMatrix& matrix, DType dtype, int64_t batch) {
  cublasLtMatrixLayout_t raw = nullptr;
  RETURN_IF_ERROR(LT_STATUS(cublasLtMatrixLayoutCreate, &raw, DataType(dtype),
                            static_cast<uint64_t>(matrix.rows),
                            static_cast<uint64_t>(matrix.columns), matrix.leading));
  LtLayout layout(raw);
  if (batch == 1) return layout;
  RETURN_IF_ERROR(Set(raw, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, static_cast<int32_t>(batch)));
  RETURN_IF_ERROR(Set(raw, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, matrix.batch_stride));
  return layout;
}

absl::StatusOr<LtPreference> MakePreference(bool nondeterminism) {
  cublasLtMatmulPreference_t raw = nullptr;
  RETURN_IF_ERROR(LT_STATUS(cublasLtMatmulPreferenceCreate, &raw));
  LtPreference preference(raw);
  RETURN_IF_ERROR(Set(raw, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, kMostWorkspaceBytes));
  // Partial sums are added in the accumulator type. The in-place scheme would add them in the order
  // in which blocks end.
  uint32_t schemes = CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE;
  if (nondeterminism) schemes |= CUBLASLT_REDUCTION_SCHEME_INPLACE;
  RETURN_IF_ERROR(Set(raw, CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK, schemes));
  for (const auto attribute :
       {CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES,
        CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES}) {
    RETURN_IF_ERROR(Set(raw, attribute, kAlignment));
  }
  return preference;
}

struct Setting {
  const char* name;
  cublasLtMatmulAlgoConfigAttributes_t attribute;
  size_t bytes;
  bool is_argument = false;  // of a kernel, not which one it is
};
constexpr Setting kSettings[] = {
    {"algo", CUBLASLT_ALGO_CONFIG_ID, sizeof(int32_t)},
    {"tile", CUBLASLT_ALGO_CONFIG_TILE_ID, sizeof(uint32_t)},
    {"stages", CUBLASLT_ALGO_CONFIG_STAGES_ID, sizeof(uint32_t)},
    {"splitk", CUBLASLT_ALGO_CONFIG_SPLITK_NUM, sizeof(int32_t), true},
    {"reduction", CUBLASLT_ALGO_CONFIG_REDUCTION_SCHEME, sizeof(uint32_t), true},
    {"swizzle", CUBLASLT_ALGO_CONFIG_CTA_SWIZZLING, sizeof(uint32_t), true},
    {"option", CUBLASLT_ALGO_CONFIG_CUSTOM_OPTION, sizeof(uint32_t)},
    {"inner", CUBLASLT_ALGO_CONFIG_INNER_SHAPE_ID, sizeof(uint16_t)},
    {"cluster", CUBLASLT_ALGO_CONFIG_CLUSTER_SHAPE_ID, sizeof(uint16_t)},
};

// Sets the text, and appends to that of the kernel.
absl::Status SetTexts(LtAlgorithm& described) {
  described.text = "lt";
  for (const Setting& setting : kSettings) {
    uint32_t value = 0;  // shorter attributes are its low bytes
    size_t written = 0;
    RETURN_IF_ERROR(LT_STATUS(cublasLtMatmulAlgoConfigGetAttribute, &described.algorithm,
                              setting.attribute, &value, setting.bytes, &written));
    const std::string text = absl::StrCat(" ", setting.name, "=", value);
    described.text += text;
    if (!setting.is_argument) described.kernel += text;
  }
  return absl::OkStatus();
}

std::string KindOf(const LtProblem& problem, const Numerics& numerics) {
  return absl::StrCat(NameOf(problem.dtype), " tf32=", numerics.tf32,
                      " transposes=", problem.transposes_a, problem.transposes_b,
                      " activation=", static_cast<int>(problem.activation),
                      " bias=", problem.bias.kind != LtOperand::Kind::kNone);
}

constexpr std::string_view kFirstWord = "lt1";  // of a saved algorithm, then version and bytes

}  // namespace

std::string SavedText(const LtAlgorithm& algorithm) {
  const std::string_view bytes(reinterpret_cast<const char*>(&algorithm.algorithm),
                               sizeof(algorithm.algorithm));
  return absl::StrCat(kFirstWord, " ", Lt().cublasLtGetVersion(), " ",
                      absl::BytesToHexString(bytes));
}

LtProduct::LtProduct(const LtProblem& problem, const Numerics& numerics)
    : kind_(KindOf(problem, numerics)),
      tf32_(numerics.tf32 && problem.dtype == DType::kF32),
      nondeterminism_(numerics.nondeterminism),
      has_bias_(problem.bias.kind != LtOperand::Kind::kNone),
      alpha_(problem.alpha),
      beta_(problem.beta) {}

absl::StatusOr<std::unique_ptr<LtProduct>> LtProduct::Create(const LtProblem& problem,
                                                             const Numerics& numerics) {
  std::unique_ptr<LtProduct> product(new LtProduct(problem, numerics));
  RETURN_IF_ERROR(product->Describe(problem));
  ASSIGN_OR_RETURN(product->a_, MakeLayout(problem.a_matrix, problem.dtype, problem.batch));
  ASSIGN_OR_RETURN(product->b_, MakeLayout(problem.b_matrix, problem.dtype, problem.batch));
  ASSIGN_OR_RETURN(product->d_, MakeLayout(problem.d_matrix, problem.dtype, problem.batch));
  return product;
}

absl::Status LtProduct::Describe(const LtProblem& problem) {
  absl::MutexLock lock(mutex_);
  cublasLtMatmulDesc_t raw = nullptr;
  const cublasComputeType_t compute = tf32_ ? CUBLAS_COMPUTE_32F_FAST_TF32 : CUBLAS_COMPUTE_32F;
  RETURN_IF_ERROR(LT_STATUS(cublasLtMatmulDescCreate, &raw, compute, CUDA_R_32F));
  descriptor_ = LtDescriptor(raw);
  const auto op = [](bool transposes) { return transposes ? CUBLAS_OP_T : CUBLAS_OP_N; };
  RETURN_IF_ERROR(Set(raw, CUBLASLT_MATMUL_DESC_TRANSA, op(problem.transposes_a)));
  RETURN_IF_ERROR(Set(raw, CUBLASLT_MATMUL_DESC_TRANSB, op(problem.transposes_b)));
  RETURN_IF_ERROR(
      Set(raw, CUBLASLT_MATMUL_DESC_EPILOGUE, EpilogueOf(problem.activation, has_bias_)));
  if (!has_bias_) return absl::OkStatus();
  RETURN_IF_ERROR(Set(raw, CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE, DataType(problem.dtype)));
  // The heuristics read only the alignment from the address.
  return Set(raw, CUBLASLT_MATMUL_DESC_BIAS_POINTER, uintptr_t{kAlignment});
}

absl::StatusOr<std::vector<LtAlgorithm>> LtProduct::Algorithms(cublasLtHandle_t handle) const {
  const StartScope scope("ask cuBLASLt for algorithms");
  ASSIGN_OR_RETURN(const LtPreference preference, MakePreference(nondeterminism_));
  std::array<cublasLtMatmulHeuristicResult_t, kMostAlgorithms> results = {};
  int count = 0;
  cublasStatus_t answer;
  {
    absl::MutexLock lock(mutex_);
    answer = Lt().cublasLtMatmulAlgoGetHeuristic(handle, descriptor_.get(), a_.get(), b_.get(),
                                                 d_.get(), d_.get(), preference.get(),
                                                 kMostAlgorithms, results.data(), &count);
  }
  if (!IsRefusal(answer)) RETURN_IF_ERROR(LtStatus(answer, "cublasLtMatmulAlgoGetHeuristic"));
  std::vector<LtAlgorithm> algorithms;
  for (int i = 0; i < count; ++i) {
    if (results[i].state != CUBLAS_STATUS_SUCCESS) continue;
    LtAlgorithm found{.algorithm = results[i].algo,
                      .workspace_bytes = static_cast<int64_t>(results[i].workspaceSize),
                      .kernel = kind_};
    RETURN_IF_ERROR(SetTexts(found));
    const bool is_known = std::any_of(algorithms.begin(), algorithms.end(),
                                      [&](const LtAlgorithm& a) { return a.text == found.text; });
    if (!is_known) algorithms.push_back(std::move(found));
  }
  if (!algorithms.empty()) return algorithms;
  return absl::UnimplementedError(
      absl::StrCat("cuBLASLt has no algorithm for it: ", NameOf(answer)));
}

// NVIDIA's documentation: the structure of an algorithm "can be trivially serialized and later
// restored for use with the same version of cuBLAS library".
absl::StatusOr<LtAlgorithm> LtProduct::Restore(cublasLtHandle_t handle,
                                               std::string_view saved) const {
  const StartScope scope("restore algorithms of cuBLASLt");
  const std::vector<std::string_view> words = absl::StrSplit(saved, ' ');
  LtAlgorithm restored{.kernel = kind_};
  std::string bytes;
  const bool is_one = words.size() == 3 && words[0] == kFirstWord &&
                      absl::HexStringToBytes(words[2], &bytes) &&
                      bytes.size() == sizeof(restored.algorithm);
  if (!is_one) return absl::InvalidArgumentError("no saved algorithm of cuBLASLt");
  if (words[1] != absl::StrCat(Lt().cublasLtGetVersion())) {
    return absl::UnimplementedError("the algorithm was saved by another version of cuBLASLt");
  }
  std::memcpy(&restored.algorithm, bytes.data(), bytes.size());
  cublasLtMatmulHeuristicResult_t result = {};
  cublasStatus_t answer;
  {
    absl::MutexLock lock(mutex_);
    answer = Lt().cublasLtMatmulAlgoCheck(handle, descriptor_.get(), a_.get(), b_.get(), d_.get(),
                                          d_.get(), &restored.algorithm, &result);
  }
  const uint64_t workspace_bytes = result.workspaceSize;
  if (IsRefusal(answer) || workspace_bytes > kMostWorkspaceBytes) {
    return absl::UnimplementedError("cuBLASLt refuses the saved algorithm");
  }
  RETURN_IF_ERROR(LtStatus(answer, "cublasLtMatmulAlgoCheck"));
  restored.workspace_bytes = static_cast<int64_t>(workspace_bytes);
  RETURN_IF_ERROR(SetTexts(restored));
  return restored;
}

absl::Status LtProduct::Launch(cublasLtHandle_t handle, const LtAlgorithm& algorithm,
                               const LtPointers& pointers, cudaStream_t stream) const {
  const PhaseTimer timer(RunPhase::kLibrary);
  absl::MutexLock lock(mutex_);
  if (has_bias_) {
    RETURN_IF_ERROR(Set(descriptor_.get(), CUBLASLT_MATMUL_DESC_BIAS_POINTER, pointers.bias));
  }
  return LT_STATUS(cublasLtMatmul, handle, descriptor_.get(), &alpha_, pointers.a, a_.get(),
                   pointers.b, b_.get(), &beta_, pointers.c, d_.get(), pointers.d, d_.get(),
                   &algorithm.algorithm, pointers.workspace,
                   static_cast<size_t>(algorithm.workspace_bytes), stream);
}

}  // namespace onnx_cudnn
