// Sessions whose shapes are padded to buckets, on the CPU device, with Programs for an H200 there,
// and on the device that behaves like a GPU.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <numeric>
#include <string>
#include <thread>
#include <vector>

#include "runtime/session/buckets/copy_prefix.h"
#include "tests/support/expect_error.h"
#include "tests/support/session_maker.h"

namespace onnx_cudnn {
namespace {

using Floats = std::vector<float>;

enum class On : uint8_t { kCpu, kTarget, kLikeAGpu };

absl::StatusOr<Session> MakeSession(On on, std::string_view text, SessionOptions options) {
  if (on == On::kLikeAGpu) return SessionMaker::Make(text, options);
  ASSIGN_OR_RETURN(const std::string bytes, ModelBytesFromText(text));
  ASSIGN_OR_RETURN(Graph graph, LoadModelBytes(bytes, {}));
  options.device = DeviceChoice::kCpu;
  options.target = on == On::kTarget ? "h200" : "cpu";
  return SessionMaker::Make(std::move(graph), options);
}

class BucketsTest : public testing::TestWithParam<On> {
 protected:
  void Load(std::string_view text, SessionOptions options = {.shape_buckets = {"all"}}) {
    absl::StatusOr<Session> session = MakeSession(GetParam(), text, std::move(options));
    ASSERT_TRUE(session.ok()) << session.status();
    session_ = std::make_unique<Session>(*std::move(session));
  }
  const Session& session() const { return *session_; }

 private:
  std::unique_ptr<Session> session_;
};

// 1, 2, 3 …
Floats Counted(int64_t count) {
  Floats numbers(count);
  std::iota(numbers.begin(), numbers.end(), 1.0F);
  return numbers;
}

// One step of a cache: `past` and `new` joined, and the mean of all.
constexpr std::string_view kCache = R"(
    g (float[1,2,N,2] past, float[1,2,1,2] new) => (float[1,2,M,2] present, float[1,2,1,2] mean)
    <int64[1] axis = {2}> {
      present = Concat<axis = 2>(past, new)
      mean = ReduceMean(present, axis) })";

// Of heads with `past` elements each.
void ExpectStep(const std::vector<Tensor>& outputs, int64_t past) {
  ASSERT_EQ(outputs.size(), 2U);
  ASSERT_EQ(outputs[0].shape(), (std::vector<int64_t>{1, 2, past + 1, 2}));
  ASSERT_EQ(outputs[1].shape(), (std::vector<int64_t>{1, 2, 1, 2}));
  const float* present = outputs[0].data<float>();
  for (int64_t head = 0; head < 2; ++head) {
    double sum = 0;
    for (int64_t i = 0; i <= past; ++i) {
      const float expected = i < past ? static_cast<float>((head * past + i) * 2 + 1)
                                      : -static_cast<float>(head * 2 + 1);
      EXPECT_EQ(present[(head * (past + 1) + i) * 2], expected) << head << " " << i;
      sum += expected;
    }
    const double mean = sum / static_cast<double>(past + 1);
    EXPECT_NEAR(outputs[1].data<float>()[head * 2], mean, 1e-4 * (1 + std::fabs(mean)));
  }
}

TEST_P(BucketsTest, OneProgramServesABucket) {
  Load(kCache);
  const Floats added = {-1, -2, -3, -4};
  for (int64_t past = 2; past <= 40; ++past) {
    const Floats cache = Counted(4 * past);
    auto outputs =
        session().Run({View(cache.data(), {1, 2, past, 2}), View(added.data(), {1, 2, 1, 2})});
    ASSERT_TRUE(outputs.ok()) << outputs.error().message;
    ExpectStep(outputs.value(), past);
  }
  EXPECT_EQ(session().stats().programs_built, 4);  // 16, 24, 32, 48
  EXPECT_EQ(session().stats().padded_runs, 39);
  EXPECT_EQ(session().stats().bucket_note, "");
}

TEST_P(BucketsTest, TheTableIsBounded) {
  Load(kCache, {.max_programs = 2, .shape_buckets = {"N"}});
  const Floats added = {-1, -2, -3, -4};
  for (const int64_t past : {100, 50, 20, 2, 20, 100}) {
    const Floats cache = Counted(4 * past);
    auto outputs =
        session().Run({View(cache.data(), {1, 2, past, 2}), View(added.data(), {1, 2, 1, 2})});
    ASSERT_TRUE(outputs.ok()) << outputs.error().message;
    ExpectStep(outputs.value(), past);
  }
  EXPECT_EQ(session().stats().programs_held, 2);
  EXPECT_EQ(session().stats().programs_built, 5);
}

TEST_P(BucketsTest, OutputsOfTheCallerHaveExactShapes) {
  Load(kCache);
  const Floats cache = Counted(12), added = {-1, -2, -3, -4};
  const std::vector<NamedView> inputs = {View(cache.data(), {1, 2, 3, 2}),
                                         View(added.data(), {1, 2, 1, 2})};
  auto infos = session().OutputsFor(inputs);
  ASSERT_TRUE(infos.ok()) << infos.error().message;
  EXPECT_EQ(infos.value()[0].dims[2].value, 4);
  Floats present(16), mean(4);
  const std::vector<NamedView> outputs = {View(present.data(), {1, 2, 4, 2}),
                                          View(mean.data(), {1, 2, 1, 2})};
  const Floats want = {1, 2, 3, 4, 5, 6, -1, -2, 7, 8, 9, 10, 11, 12, -3, -4};
  auto ran = session().Run(inputs, outputs);
  ASSERT_TRUE(ran.ok()) << ran.error().message;
  EXPECT_EQ(present, want);
  EXPECT_EQ(mean, (Floats{2, 2.5, 6, 6.5}));
  const std::vector<NamedView> large = {View(present.data(), {1, 2, 16, 2}),
                                        View(mean.data(), {1, 2, 1, 2})};
  EXPECT_FALSE(session().Run(inputs, large).ok());

  present.assign(16, 0);
  auto binding = session().Bind(inputs, outputs);
  ASSERT_TRUE(binding.ok()) << binding.error().message;
  ran = binding.value().Run();
  ASSERT_TRUE(ran.ok()) << ran.error().message;
  EXPECT_EQ(present, want);
  EXPECT_EQ(binding.value().TimeRuns(3).value().size(), 3U);
  EXPECT_NE(binding.value().graph_note().find("padded"), std::string::npos);
  EXPECT_EQ(session().stats().programs_built, 1);
}

TEST_P(BucketsTest, InputsInDeviceMemoryArePadded) {
  Load(kCache);
  const Floats cache = Counted(12), added = {-1, -2, -3, -4};
  auto on_device = session().ToDevice(View(cache.data(), {1, 2, 3, 2}));
  ASSERT_TRUE(on_device.ok()) << on_device.error().message;
  auto outputs = session().Run({on_device.value().view(), View(added.data(), {1, 2, 1, 2})});
  ASSERT_TRUE(outputs.ok()) << outputs.error().message;
  ExpectStep(outputs.value(), 3);
}

TEST_P(BucketsTest, ValuesArePaddedToo) {
  Load(kCache);
  Tensor cache = Tensor::Allocate(DType::kF32, {1, 2, 3, 2}).value();
  Tensor added = Tensor::Allocate(DType::kF32, {1, 2, 1, 2}).value();
  for (int i = 0; i < 12; ++i) cache.data<float>()[i] = static_cast<float>(i + 1);
  for (int i = 0; i < 4; ++i) added.data<float>()[i] = static_cast<float>(-i - 1);
  auto outputs = session().RunValues({cache, added});
  ASSERT_TRUE(outputs.ok()) << outputs.error().message;
  ExpectStep({outputs.value()[0].tensor(), outputs.value()[1].tensor()}, 3);
  EXPECT_EQ(session().stats().padded_runs, 1);
}

TEST_P(BucketsTest, ThreadsShareAProgram) {
  Load(kCache);
  std::vector<std::thread> threads;
  for (int64_t past = 2; past < 10; ++past) {
    threads.emplace_back([&, past] {
      const Floats cache = Counted(4 * past), added = {-1, -2, -3, -4};
      for (int run = 0; run < 10; ++run) {
        auto outputs =
            session().Run({View(cache.data(), {1, 2, past, 2}), View(added.data(), {1, 2, 1, 2})});
        ASSERT_TRUE(outputs.ok()) << outputs.error().message;
        ExpectStep(outputs.value(), past);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(session().stats().programs_built, 1);
}

TEST_P(BucketsTest, WhatCannotBePaddedHasExactShapes) {
  Load("g (float[2,N] x) => (float[M] y) <int64[1] d = {-1}> { y = Reshape(x, d) }");
  const Floats x = Counted(6);
  for (const int64_t length : {2, 3}) {
    auto outputs = session().Run({View(x.data(), {2, length})});
    ASSERT_TRUE(outputs.ok()) << outputs.error().message;
    EXPECT_EQ(outputs.value()[0].shape(), std::vector<int64_t>{2 * length});
  }
  EXPECT_EQ(session().stats().padded_runs, 0);
  EXPECT_EQ(session().stats().programs_built, 2);
  EXPECT_NE(session().stats().bucket_note.find("(Reshape): it merges a padded axis"),
            std::string::npos)
      << session().stats().bucket_note;
}

TEST_P(BucketsTest, OtherSymbolsStayExact) {
  Load("g (float[B,N] x) => (float[B,N] y) { y = Relu(x) }", {.shape_buckets = {"N"}});
  const Floats x = Counted(12);
  for (const auto& [batch, length] : {std::pair{2, 3}, {2, 4}, {3, 4}}) {
    auto outputs = session().Run({View(x.data(), {batch, length})});
    ASSERT_TRUE(outputs.ok()) << outputs.error().message;
    EXPECT_EQ(outputs.value()[0].shape(), (std::vector<int64_t>{batch, length}));
  }
  EXPECT_EQ(session().stats().programs_built, 2);
}

// A mask as long as the cache and the new element gets no length of its own; one that does not fit
// is the same error as without buckets.
TEST_P(BucketsTest, ShapesThatContradictEachOtherAreErrors) {
  constexpr std::string_view kText =
      "g (float[2,N] past, float[2,1] new, float[2,T] mask) => (float[2,T] y) "
      "{ all = Concat<axis = 1>(past, new) y = Add(all, mask) }";
  Load(kText);
  const Floats x = Counted(40);
  const auto run = [&](int64_t past, int64_t mask) {
    return session().Run(
        {View(x.data(), {2, past}), View(x.data(), {2, 1}), View(x.data(), {2, mask})});
  };
  ASSERT_TRUE(run(15, 16).ok());
  ASSERT_TRUE(run(16, 17).ok());
  EXPECT_EQ(session().stats().programs_built, 1);
  EXPECT_FALSE(run(15, 17).ok());
  EXPECT_TRUE(run(15, 1).ok());  // broadcasts
  EXPECT_EQ(session().stats().programs_built, 2);
}

INSTANTIATE_TEST_SUITE_P(Devices, BucketsTest,
                         testing::Values(On::kCpu, On::kTarget, On::kLikeAGpu));

// How many boxes it took.
template <typename T>
size_t CopyCommon(const std::vector<T>& from, const Dims& from_dims, std::vector<T>& to,
                  const Dims& to_dims) {
  const auto boxes = CommonBoxes(from.data(), from_dims, to.data(), to_dims, sizeof(T));
  CopyBoxes(boxes);
  return boxes.size();
}

TEST(CommonBoxesTest, AreWhatBothHave) {
  const std::vector<int16_t> from = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12};
  std::vector<int16_t> to(24, 0);
  EXPECT_EQ(CopyCommon(from, {2, 3, 2}, to, {3, 4, 2}), 1U);
  EXPECT_EQ(to, (std::vector<int16_t>{1,  2,  3, 4, 5, 6, 0, 0, 7, 8, 9, 10,
                                      11, 12, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}));
  std::vector<int16_t> back(4, 0), one(1, 0), none;
  EXPECT_EQ(CopyCommon(from, {2, 3, 2}, back, {2, 2, 1}), 1U);
  EXPECT_EQ(back, (std::vector<int16_t>{1, 3, 7, 9}));
  EXPECT_EQ(CopyCommon(from, {}, one, {}), 1U);
  EXPECT_EQ(one[0], 1);
  EXPECT_EQ(CopyCommon(from, {3, 4}, none, {3, 0}), 0U);
}

TEST(CommonBoxesTest, FiveAxesOfWhichFourDiffer) {
  const Dims from_dims = {2, 3, 2, 2, 3}, to_dims = {3, 2, 2, 3, 4};
  std::vector<int32_t> from(ElementsOf(from_dims)), to(ElementsOf(to_dims), -1);
  std::iota(from.begin(), from.end(), 0);
  EXPECT_EQ(CopyCommon(from, from_dims, to, to_dims), 2U);  // one per index of the first axis
  for (size_t at = 0; at < to.size(); ++at) {
    int64_t rest = static_cast<int64_t>(at), place = 0, stride = 1;
    bool is_common = true;
    for (size_t axis = to_dims.size(); axis-- > 0; rest /= to_dims[axis]) {
      const int64_t index = rest % to_dims[axis];
      is_common &= index < from_dims[axis];
      place += index * stride;
      stride *= from_dims[axis];
    }
    EXPECT_EQ(to[at], is_common ? place : -1) << at;
  }
}

}  // namespace
}  // namespace onnx_cudnn
