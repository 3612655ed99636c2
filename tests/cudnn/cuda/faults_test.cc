// Every cuDNN call of one compilation fails once.
#include "absl/strings/str_cat.h"
#include "runtime/cudnn/cuda/cudnn_calls.h"
#include "tests/cudnn/cuda/without_gpu.h"
#include "tests/support/proposed.h"

namespace onnx_cudnn {
namespace {

struct State {
  const CudnnCalls* below = nullptr;
  int fail_at = -1, calls = 0, open = 0;
};
State state;

// Replaces the cuDNN calls: counts calls and descriptors, and fails one call. One at a time.
class FailingCudnn {
 public:
  // fail_at  which call fails, from 0; none when negative
  explicit FailingCudnn(int fail_at) : scope_(Table()) {
    state = {.below = below_, .fail_at = fail_at};
  }
  static int calls() { return state.calls; }
  static int open() { return state.open; }  // descriptors that were made and not destroyed

 private:
  static bool Fails() { return state.calls++ == state.fail_at; }
  static cudnnStatus_t Create(cudnnBackendDescriptorType_t type, cudnnBackendDescriptor_t* made) {
    if (Fails()) return CUDNN_STATUS_EXECUTION_FAILED;
    const cudnnStatus_t status = state.below->cudnnBackendCreateDescriptor(type, made);
    state.open += status == CUDNN_STATUS_SUCCESS;
    return status;
  }
  static cudnnStatus_t Destroy(cudnnBackendDescriptor_t descriptor) {
    const cudnnStatus_t status = state.below->cudnnBackendDestroyDescriptor(descriptor);
    state.open -= status == CUDNN_STATUS_SUCCESS;
    return status;
  }
  static cudnnStatus_t Finalize(cudnnBackendDescriptor_t descriptor) {
    if (Fails()) return CUDNN_STATUS_EXECUTION_FAILED;
    return state.below->cudnnBackendFinalize(descriptor);
  }
  static cudnnStatus_t Get(cudnnBackendDescriptor_t descriptor, cudnnBackendAttributeName_t name,
                           cudnnBackendAttributeType_t type, int64_t asked, int64_t* found,
                           void* elements) {
    if (Fails()) return CUDNN_STATUS_EXECUTION_FAILED;
    return state.below->cudnnBackendGetAttribute(descriptor, name, type, asked, found, elements);
  }
  static cudnnStatus_t Set(cudnnBackendDescriptor_t descriptor, cudnnBackendAttributeName_t name,
                           cudnnBackendAttributeType_t type, int64_t count, const void* elements) {
    if (Fails()) return CUDNN_STATUS_EXECUTION_FAILED;
    return state.below->cudnnBackendSetAttribute(descriptor, name, type, count, elements);
  }

  const CudnnCalls& Table() {
    table_ = *below_;
    table_.cudnnBackendCreateDescriptor = Create;
    table_.cudnnBackendDestroyDescriptor = Destroy;
    table_.cudnnBackendFinalize = Finalize;
    table_.cudnnBackendGetAttribute = Get;
    table_.cudnnBackendSetAttribute = Set;
    return table_;
  }

  const CudnnCalls* const below_ = Cudnn();
  CudnnCalls table_;
  ScopedCudnnCalls scope_;
};

class CudnnFaultsTest : public WithoutGpuTest {
 protected:
  absl::StatusOr<Compiled> Compile() const {
    const Candidate candidate = LargestAt(*engine_, graph_, "Conv", target_);
    absl::StatusOr<std::vector<Variant>> variants = engine_->Variants(candidate, target_);
    if (!variants.ok()) return variants.status();
    return engine_->Compile(candidate, variants->front(), target_);
  }

  // f32, so that the first engine's code is part of the library and nothing is generated.
  const Graph graph_ = GraphWithWeights(
      "g (float[1,64,14,14] x, float[64,64,3,3] w0, float[64] w1) => (y)"
      "{ a = Conv<pads = [1,1,1,1]>(x, w0, w1)\n y = Relu(a) }");
};

TEST_F(CudnnFaultsTest, EveryCallThatFailsIsAStatusAndLeavesNothing) {
  int calls = 0;
  {
    const FailingCudnn counting(-1);
    const absl::StatusOr<Compiled> compiled = Compile();
    ASSERT_TRUE(compiled.ok()) << compiled.status();
    ASSERT_NE(compiled->step(), nullptr) << compiled->reason();
    calls = FailingCudnn::calls();
  }
  EXPECT_GT(calls, 100);
  for (int i = 0; i < calls; ++i) {
    SCOPED_TRACE(absl::StrCat("call ", i));
    const FailingCudnn failing(i);
    const absl::Status status = Compile().status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInternal) << status;
    EXPECT_EQ(FailingCudnn::open(), 0);
  }
  const FailingCudnn counting(-1);
  {
    const absl::StatusOr<Compiled> compiled = Compile();
    ASSERT_TRUE(compiled.ok()) << compiled.status();
    EXPECT_NE(compiled->step(), nullptr) << compiled->reason();
  }
  EXPECT_EQ(FailingCudnn::open(), 0);
}

}  // namespace
}  // namespace onnx_cudnn
