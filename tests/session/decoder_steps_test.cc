// A decoder's cache grows with each Run, and few Programs serve all lengths.
#include "tests/session/on_devices.h"
#include "tests/support/cached_decoder.h"

namespace onnx_cudnn {
namespace {

class DecoderStepsTest : public SessionOnDevices {};

TEST_P(DecoderStepsTest, FewProgramsServeAllLengths) {
  absl::StatusOr<Session> reference =
      SessionMaker::Make(GraphFromText(kCachedDecoder), {.target = "cpu"});
  ASSERT_TRUE(reference.ok()) << reference.status();
  Load(kCachedDecoder, {.shape_buckets = {"all"}});
  ExpectDecodesAs(*reference, session());
  const SessionStats stats = session().stats();
  EXPECT_EQ(stats.bucket_note, "");
  EXPECT_EQ(stats.padded_runs, 1 + kDecoderSteps);
  EXPECT_EQ(stats.programs_built, kDecoderPrograms);
  EXPECT_EQ(reference->stats().programs_built, 1 + kDecoderSteps);  // of exact lengths
}

INSTANTIATE_TEST_SUITE_P(Devices, DecoderStepsTest, AllDevices(), NameOfDevice);

}  // namespace
}  // namespace onnx_cudnn
