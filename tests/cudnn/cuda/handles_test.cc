// When cuDNN's handles are created, over a fake CUDA runtime.
#include "runtime/cudnn/cuda/handles.h"

#include "absl/strings/match.h"
#include "runtime/cudnn/cuda/cudnn_engine.h"
#include "tests/cuda/fake_cuda.h"
#include "tests/cudnn/cuda/without_gpu.h"
#include "tests/support/proposed.h"

namespace onnx_cudnn {
namespace {

int created = 0, destroyed = 0;
bool fails = false;

// Replaces the calls for handles, which are numbers. One at a time.
class CountedHandles {
 public:
  CountedHandles() : scope_(Table()) {
    created = destroyed = 0;
    fails = false;
  }

 private:
  const CudnnCalls& Table() {
    table_ = *Cudnn();
    table_.cudnnCreate = [](cudnnHandle_t* handle) {
      if (fails) return CUDNN_STATUS_NOT_INITIALIZED;
      *handle = reinterpret_cast<cudnnHandle_t>(static_cast<intptr_t>(++created));
      return CUDNN_STATUS_SUCCESS;
    };
    table_.cudnnDestroy = [](cudnnHandle_t) {
      ++destroyed;
      return CUDNN_STATUS_SUCCESS;
    };
    return table_;
  }

  CudnnCalls table_;
  ScopedCudnnCalls scope_;
};

class CudnnHandlesTest : public WithoutGpuTest {
 protected:
  const FakeCuda cuda_;
};

TEST_F(CudnnHandlesTest, AHandleIsCreatedOnceForOneUserAtATime) {
  const CountedHandles counted;
  {
    CudnnHandles handles(0);
    EXPECT_EQ(created, 0);
    ASSERT_TRUE(handles.Create().ok());
    EXPECT_EQ(created, 1);
    const auto first = handles.TakeOrMake();
    EXPECT_EQ(created, 1);
    const auto second = handles.TakeOrMake();
    EXPECT_EQ(created, 2);
    EXPECT_NE(first->get(), second->get());
  }
  EXPECT_EQ(destroyed, 2);
}

TEST_F(CudnnHandlesTest, AnEngineThatIsNotExpectedToRunCreatesNone) {
  const CountedHandles counted;
  EXPECT_TRUE(MakeCudnnEngine(0, /*creates_handle=*/false).ok());
  EXPECT_EQ(created, 0);
}

TEST_F(CudnnHandlesTest, WhereNoneCanBeCreatedTheEngineIsMissingOrRefuses) {
  const CountedHandles counted;
  fails = true;
  EXPECT_TRUE(absl::IsFailedPrecondition(MakeCudnnEngine(0, /*creates_handle=*/true).status()));
  const auto engine = MakeCudnnEngine(0, /*creates_handle=*/false);
  ASSERT_TRUE(engine.ok()) << engine.status();
  const Graph graph =
      GraphWithWeights("g (float[1,64,14,14] x, float[64,64,3,3] w0) => (y) { y = Conv(x, w0) }");
  const Candidate conv = LargestAt(**engine, graph, "Conv", target_);
  const absl::StatusOr<Compiled> compiled = (*engine)->Compile(conv, {}, target_);
  ASSERT_TRUE(compiled.ok()) << compiled.status();
  EXPECT_EQ(compiled->step(), nullptr);
  EXPECT_TRUE(absl::StrContains(compiled->reason(), "cudnnCreate: ")) << compiled->reason();
}

}  // namespace
}  // namespace onnx_cudnn
