// A decoder's cache grows with each Run, and few Programs serve all lengths.
#include <numeric>
#include <string_view>
#include <vector>

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

// A step of a decoder whose caches have room for all tokens: their number is data.
TEST(DecoderGraphTest, OneGraphServesAllLengthsOfACache) {
  constexpr std::string_view kStep = R"(
      g (float[1,2,1,4] q, float[1,2,8,4] key, int64[1] lengths)
        => (float[1,2,1,4] y, float[1,2,8,4] present) <int64 one = {1}> {
        at = Sub(lengths, one)
        present = TensorScatter<axis = 2>(key, q, at)
        y = Attention(q, present, present, , , , lengths)
      })";
  const absl::StatusOr<Session> session = SessionMaker::Make(kStep, {});
  const absl::StatusOr<Session> reference = SessionMaker::Make(kStep, {.target = "cpu"});
  ASSERT_TRUE(session.ok() && reference.ok()) << session.status() << reference.status();
  const std::vector<float> q = {1, 0, 2, 0, 0, 1, 0, 2};
  std::vector<float> keys(64);
  std::iota(keys.begin(), keys.end(), 0);
  for (const int64_t length : {1, 3, 4, 8}) {
    SCOPED_TRACE(length);
    const std::vector<NamedView> inputs = {View(q.data(), {1, 2, 1, 4}),
                                           View(keys.data(), {1, 2, 8, 4}), View(&length, {1})};
    auto found = session->Run(inputs), expected = reference->Run(inputs);
    ASSERT_TRUE(found.ok() && expected.ok());
    for (int i = 0; i < 2; ++i) {
      const Tensor &a = found.value()[i], &b = expected.value()[i];
      ASSERT_EQ(a.shape(), b.shape());
      for (int64_t e = 0; e < a.elements(); ++e) {
        EXPECT_NEAR(a.data<float>()[e], b.data<float>()[e], 1e-4) << i << " " << e;
      }
    }
  }
  EXPECT_EQ(session->stats().programs_built, 1);
  EXPECT_EQ(session->stats().graph_captures, 1);
}

INSTANTIATE_TEST_SUITE_P(Devices, DecoderStepsTest, AllDevices(), NameOfDevice);

}  // namespace
}  // namespace onnx_cudnn
