#include "runtime/base/host_span.h"

#include <gtest/gtest.h>

#include <thread>

#include "absl/cleanup/cleanup.h"
#include "runtime/base/run_times.h"

namespace onnx_cudnn {
namespace {

TEST(HostSpanTest, AScopeIsASpanOfItsThreadAndEndsAfterThoseWithinIt) {
  std::vector<HostSpan> spans;
  {
    const HostScope before("begun before the collection");
    CollectHostSpans(&spans);
    const absl::Cleanup ends = [] { CollectHostSpans(nullptr); };
    const HostScope outer("outer");
    { const HostScope inner("inner"); }
    { const PhaseTimer phase(RunPhase::kCapture); }
    std::thread([] { const HostScope elsewhere("elsewhere"); }).join();
  }
  { const HostScope after("after"); }
  ASSERT_EQ(spans.size(), 3u);
  EXPECT_EQ(spans[0].name, "inner");
  EXPECT_EQ(spans[1].name, "capture");
  EXPECT_EQ(spans[2].name, "outer");
  EXPECT_LE(spans[2].begin_us, spans[0].begin_us);
  EXPECT_LE(spans[0].begin_us + spans[0].us, spans[1].begin_us);
  EXPECT_LE(spans[1].begin_us + spans[1].us, spans[2].begin_us + spans[2].us);
}

}  // namespace
}  // namespace onnx_cudnn
