#include "tests/gemm/cuda/fake_lt.h"

#include <cmath>
#include <cstring>
#include <map>
#include <set>
#include <utility>

#include "runtime/graph/float16.h"

namespace onnx_cudnn {
namespace {

// A handle, a descriptor, a layout or a preference: its attributes by their numbers.
struct Thing {
  std::map<int, std::vector<std::byte>> attributes;

  template <typename T>
  T Get(int attribute, T otherwise) const {
    const auto it = attributes.find(attribute);
    if (it == attributes.end()) return otherwise;
    T value;
    std::memcpy(&value, it->second.data(), sizeof(T));
    return value;
  }
};

struct State {
  FakeLtOptions options;
  int calls = 0, questions = 0;
  std::string failed_call;
  std::set<Thing*> things;
  cublasComputeType_t compute = CUBLAS_COMPUTE_16F;
  uint64_t last_algorithm = 0;
  Thing preference;
};
State* state = nullptr;

constexpr uint64_t kFirstAlgorithm = 60;

cublasStatus_t Count(const char* name) {
  if (state->calls++ != state->options.fail_at) return CUBLAS_STATUS_SUCCESS;
  state->failed_call = name;
  return state->options.error;
}

#define COUNT(name) \
  if (const cublasStatus_t error = Count(#name); error != CUBLAS_STATUS_SUCCESS) return error

template <typename Handle>
Thing& At(Handle handle) {
  return *reinterpret_cast<Thing*>(handle);
}

template <typename Handle>
void Make(Handle* handle) {
  *handle = reinterpret_cast<Handle>(*state->things.insert(new Thing).first);
}

template <typename Handle>
bool Release(Handle handle) {
  if (state->things.erase(&At(handle)) == 0) return false;
  delete &At(handle);
  return true;
}

template <typename Handle>
void Set(Handle handle, int attribute, const void* value, size_t bytes) {
  const auto* from = static_cast<const std::byte*>(value);
  At(handle).attributes[attribute].assign(from, from + bytes);
}

struct Matrix {
  cudaDataType_t type;
  int64_t rows, columns, leading;
  int32_t batch;
  int64_t stride;
};

Matrix MatrixOf(cublasLtMatrixLayout_t layout) {
  const Thing& thing = At(layout);
  return {.type = thing.Get(CUBLASLT_MATRIX_LAYOUT_TYPE, CUDA_R_32F),
          .rows = thing.Get(CUBLASLT_MATRIX_LAYOUT_ROWS, int64_t{0}),
          .columns = thing.Get(CUBLASLT_MATRIX_LAYOUT_COLS, int64_t{0}),
          .leading = thing.Get(CUBLASLT_MATRIX_LAYOUT_LD, int64_t{0}),
          .batch = thing.Get(CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, 1),
          .stride = thing.Get(CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, int64_t{0})};
}

float Read(const void* data, cudaDataType_t type, int64_t i) {
  if (type == CUDA_R_16F) return ToFloat(static_cast<const Float16*>(data)[i]);
  if (type == CUDA_R_16BF) return ToFloat(static_cast<const BFloat16*>(data)[i]);
  return static_cast<const float*>(data)[i];
}

void Write(void* data, cudaDataType_t type, int64_t i, float value) {
  if (type == CUDA_R_16F) {
    static_cast<Float16*>(data)[i] = ToFloat16(value);
  } else if (type == CUDA_R_16BF) {
    static_cast<BFloat16*>(data)[i] = ToBFloat16(value);
  } else {
    static_cast<float*>(data)[i] = value;
  }
}

float Activate(cublasLtEpilogue_t epilogue, float x) {
  const bool relu = epilogue == CUBLASLT_EPILOGUE_RELU || epilogue == CUBLASLT_EPILOGUE_RELU_BIAS;
  const bool gelu = epilogue == CUBLASLT_EPILOGUE_GELU || epilogue == CUBLASLT_EPILOGUE_GELU_BIAS;
  if (relu) return x > 0 ? x : 0;
  if (gelu) return 0.5f * x * (1 + std::tanh(0.7978845608f * (x + 0.044715f * x * x * x)));
  return x;
}

bool AddsBias(cublasLtEpilogue_t epilogue) {
  return epilogue == CUBLASLT_EPILOGUE_BIAS || epilogue == CUBLASLT_EPILOGUE_RELU_BIAS ||
         epilogue == CUBLASLT_EPILOGUE_GELU_BIAS;
}

// One element of op(matrix).
float Factor(const void* data, const Matrix& m, cublasOperation_t op, int64_t batch, int64_t row,
             int64_t column) {
  if (op == CUBLAS_OP_T) std::swap(row, column);
  return Read(data, m.type, batch * m.stride + column * m.leading + row);
}

cublasStatus_t Matmul(cublasLtHandle_t, cublasLtMatmulDesc_t descriptor, const void* alpha,
                      const void* a, cublasLtMatrixLayout_t a_layout, const void* b,
                      cublasLtMatrixLayout_t b_layout, const void* beta, const void* c,
                      cublasLtMatrixLayout_t c_layout, void* d, cublasLtMatrixLayout_t d_layout,
                      const cublasLtMatmulAlgo_t* algorithm, void*, size_t, cudaStream_t) {
  COUNT(cublasLtMatmul);
  state->last_algorithm = kFirstAlgorithm + algorithm->data[0];
  const Thing& desc = At(descriptor);
  const auto op_a = desc.Get(CUBLASLT_MATMUL_DESC_TRANSA, CUBLAS_OP_N);
  const auto op_b = desc.Get(CUBLASLT_MATMUL_DESC_TRANSB, CUBLAS_OP_N);
  const auto epilogue = desc.Get(CUBLASLT_MATMUL_DESC_EPILOGUE, CUBLASLT_EPILOGUE_DEFAULT);
  const auto* bias = desc.Get<const void*>(CUBLASLT_MATMUL_DESC_BIAS_POINTER, nullptr);
  const Matrix ma = MatrixOf(a_layout), mb = MatrixOf(b_layout), mc = MatrixOf(c_layout),
               md = MatrixOf(d_layout);
  const int64_t depth = op_a == CUBLAS_OP_T ? ma.rows : ma.columns;
  const int64_t depth_b = op_b == CUBLAS_OP_T ? mb.columns : mb.rows;
  const int64_t rows = op_a == CUBLAS_OP_T ? ma.columns : ma.rows;
  const int64_t columns = op_b == CUBLAS_OP_T ? mb.rows : mb.columns;
  const bool fits = depth == depth_b && rows == md.rows && columns == md.columns &&
                    ma.leading >= ma.rows && mb.leading >= mb.rows && md.leading >= md.rows &&
                    ma.batch == md.batch && mb.batch == md.batch && c != nullptr;
  if (!fits) return CUBLAS_STATUS_INVALID_VALUE;
  for (int64_t n = 0; n < md.batch; ++n) {
    for (int64_t i = 0; i < rows * columns; ++i) {
      const int64_t row = i % rows, column = i / rows;
      const int64_t at = n * md.stride + column * md.leading + row;
      float sum = 0;
      for (int64_t k = 0; k < depth; ++k) {
        sum += Factor(a, ma, op_a, n, row, k) * Factor(b, mb, op_b, n, k, column);
      }
      sum *= *static_cast<const float*>(alpha);
      const float scale = *static_cast<const float*>(beta);
      if (scale != 0) sum += scale * Read(c, mc.type, at);
      if (AddsBias(epilogue)) sum += Read(bias, md.type, row);
      Write(d, md.type, at, Activate(epilogue, sum));
    }
  }
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t Heuristic(cublasLtHandle_t, cublasLtMatmulDesc_t, cublasLtMatrixLayout_t,
                         cublasLtMatrixLayout_t, cublasLtMatrixLayout_t, cublasLtMatrixLayout_t,
                         cublasLtMatmulPreference_t preference, int,
                         cublasLtMatmulHeuristicResult_t* results, int* count) {
  COUNT(cublasLtMatmulAlgoGetHeuristic);
  ++state->questions;
  state->preference = At(preference);
  *count = state->options.algorithms;
  if (*count == 0) return CUBLAS_STATUS_NOT_SUPPORTED;
  for (int i = 0; i < *count; ++i) {
    const bool is_second = i == 1;
    results[i] = {};
    results[i].algo.data[0] = static_cast<uint64_t>(is_second ? 0 : i);
    results[i].workspaceSize = 1024;
    const bool has_failed = *count > 1 && i == *count - 1;
    results[i].state = has_failed ? CUBLAS_STATUS_NOT_SUPPORTED : CUBLAS_STATUS_SUCCESS;
  }
  return CUBLAS_STATUS_SUCCESS;
}

// The workspace of the heuristics; an algorithm that they do not list is none.
cublasStatus_t AlgoCheck(cublasLtHandle_t, cublasLtMatmulDesc_t, cublasLtMatrixLayout_t,
                         cublasLtMatrixLayout_t, cublasLtMatrixLayout_t, cublasLtMatrixLayout_t,
                         const cublasLtMatmulAlgo_t* algorithm,
                         cublasLtMatmulHeuristicResult_t* result) {
  COUNT(cublasLtMatmulAlgoCheck);
  if (algorithm->data[0] >= static_cast<uint64_t>(state->options.algorithms)) {
    return CUBLAS_STATUS_INVALID_VALUE;
  }
  result->workspaceSize = 1024;
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t ConfigGetAttribute(const cublasLtMatmulAlgo_t* algorithm,
                                  cublasLtMatmulAlgoConfigAttributes_t attribute, void* value,
                                  size_t bytes, size_t* written) {
  COUNT(cublasLtMatmulAlgoConfigGetAttribute);
  const uint64_t id =
      attribute == CUBLASLT_ALGO_CONFIG_ID ? kFirstAlgorithm + algorithm->data[0] : 1;
  std::memcpy(value, &id, bytes);
  *written = bytes;
  return CUBLAS_STATUS_SUCCESS;
}

// Functions that differ only in the type of their handle.
#define CREATES(name)             \
  .name = [](auto* handle) {      \
    COUNT(name);                  \
    Make(handle);                 \
    return CUBLAS_STATUS_SUCCESS; \
  }
#define DESTROYS(name) \
  .name = [](auto handle) { return Release(handle) ? Count(#name) : CUBLAS_STATUS_INVALID_VALUE; }
#define SETS_ATTRIBUTE(name)                                                 \
  .name = [](auto handle, auto attribute, const void* value, size_t bytes) { \
    COUNT(name);                                                             \
    Set(handle, attribute, value, bytes);                                    \
    return CUBLAS_STATUS_SUCCESS;                                            \
  }

constexpr LtCalls kFake = {
    CREATES(cublasLtCreate),
    DESTROYS(cublasLtDestroy),
    .cublasLtGetVersion = []() -> size_t { return 130100; },
    .cublasLtMatmul = Matmul,
    .cublasLtMatmulAlgoCheck = AlgoCheck,
    .cublasLtMatmulAlgoConfigGetAttribute = ConfigGetAttribute,
    .cublasLtMatmulAlgoGetHeuristic = Heuristic,
    .cublasLtMatmulDescCreate =
        [](cublasLtMatmulDesc_t* desc, cublasComputeType_t compute, cudaDataType_t scale) {
          COUNT(cublasLtMatmulDescCreate);
          if (scale != CUDA_R_32F) return CUBLAS_STATUS_INVALID_VALUE;
          state->compute = compute;
          Make(desc);
          return CUBLAS_STATUS_SUCCESS;
        },
    DESTROYS(cublasLtMatmulDescDestroy),
    SETS_ATTRIBUTE(cublasLtMatmulDescSetAttribute),
    CREATES(cublasLtMatmulPreferenceCreate),
    DESTROYS(cublasLtMatmulPreferenceDestroy),
    SETS_ATTRIBUTE(cublasLtMatmulPreferenceSetAttribute),
    .cublasLtMatrixLayoutCreate =
        [](cublasLtMatrixLayout_t* layout, cudaDataType_t type, uint64_t rows, uint64_t columns,
           int64_t leading) {
          COUNT(cublasLtMatrixLayoutCreate);
          Make(layout);
          Set(*layout, CUBLASLT_MATRIX_LAYOUT_TYPE, &type, sizeof(type));
          Set(*layout, CUBLASLT_MATRIX_LAYOUT_ROWS, &rows, sizeof(rows));
          Set(*layout, CUBLASLT_MATRIX_LAYOUT_COLS, &columns, sizeof(columns));
          Set(*layout, CUBLASLT_MATRIX_LAYOUT_LD, &leading, sizeof(leading));
          return CUBLAS_STATUS_SUCCESS;
        },
    DESTROYS(cublasLtMatrixLayoutDestroy),
    SETS_ATTRIBUTE(cublasLtMatrixLayoutSetAttribute),
};
#undef DESTROYS
#undef SETS_ATTRIBUTE

const LtCalls& Start(const FakeLtOptions& options) {
  state = new State{.options = options};
  return kFake;
}

}  // namespace

FakeLt::FakeLt(const FakeLtOptions& options) : scope_(Start(options)) {}
FakeLt::~FakeLt() {
  for (Thing* thing : state->things) delete thing;
  delete std::exchange(state, nullptr);
}

int FakeLt::calls() const { return state->calls; }
int FakeLt::questions() const { return state->questions; }
std::string FakeLt::failed_call() const { return state->failed_call; }
int FakeLt::held() const { return static_cast<int>(state->things.size()); }
cublasComputeType_t FakeLt::compute_type() const { return state->compute; }
uint64_t FakeLt::last_algorithm() const { return state->last_algorithm; }
uint32_t FakeLt::reduction_schemes() const {
  return state->preference.Get(CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK, 7u);
}
uint64_t FakeLt::workspace_bytes() const {
  return state->preference.Get(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, uint64_t{0});
}
uint32_t FakeLt::alignment_of_a() const {
  return state->preference.Get(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, 256u);
}

}  // namespace onnx_cudnn
