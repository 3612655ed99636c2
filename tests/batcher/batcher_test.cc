// Requests of many callers that become few Runs.
#include "onnx_cudnn/batcher.h"

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <future>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "runtime/base/status.h"
#include "tests/support/expect_error.h"
#include "tests/support/graph_text.h"

namespace onnx_cudnn {
namespace {

using Outputs = Result<std::vector<Tensor>>;
using std::chrono::milliseconds;

constexpr std::chrono::microseconds kForever = std::chrono::hours(1);
constexpr std::string_view kSums =
    "g (float[N,2] x, float[N,2] b) => (float[N,2] y, float[N,4] z) "
    "{ y = Add(x, b) z = Concat<axis = 1>(x, b) }";

Session Load(std::string_view text) {
  SessionOptions options;
  options.device = DeviceChoice::kCpu;
  return Session::LoadBytes(*ModelBytesFromText(text), options).value();
}

// Operands whose elements tell the request and the row, and whether outputs are theirs.
class Sum {
 public:
  Sum(int request, int64_t rows) : rows_(rows) {
    for (int64_t i = 0; i < 2 * rows; ++i) {
      x_.push_back(static_cast<float>(request * 100 + i));
      b_.push_back(static_cast<float>(request % 7) + 0.5F);
    }
  }
  std::vector<NamedView> inputs() const {
    return {{"b", View(b_.data(), {rows_, 2})}, {"x", View(x_.data(), {rows_, 2})}};
  }
  void Expect(const Outputs& outputs) const {
    ASSERT_TRUE(outputs.ok()) << outputs.error().message;
    const std::vector<Tensor> found = Outputs(outputs).value();
    ASSERT_EQ(found[0].shape(), (std::vector<int64_t>{rows_, 2}));
    ASSERT_EQ(found[1].shape(), (std::vector<int64_t>{rows_, 4}));
    for (int64_t i = 0; i < 2 * rows_; ++i) {
      EXPECT_EQ(found[0].data<float>()[i], x_[i] + b_[i]);
      EXPECT_EQ(found[1].data<float>()[i / 2 * 4 + i % 2], x_[i]);
      EXPECT_EQ(found[1].data<float>()[i / 2 * 4 + 2 + i % 2], b_[i]);
    }
  }

 private:
  int64_t rows_;
  std::vector<float> x_, b_;
};

std::future<Outputs> Submit(Batcher& batcher, const std::vector<NamedView>& inputs,
                            const RequestOptions& options = {}) {
  auto promise = std::make_shared<std::promise<Outputs>>();
  std::future<Outputs> ended = promise->get_future();
  batcher.Submit(
      inputs, [promise](Outputs outputs) { promise->set_value(std::move(outputs)); }, options);
  return ended;
}

bool HasEnded(const std::future<Outputs>& ended) {
  return ended.wait_for(milliseconds(0)) == std::future_status::ready;
}

TEST(BatcherTest, RequestsThatWaitBecomeOneRun) {
  const Session session = Load(kSums);
  Batcher batcher = Batcher::Create(session, {.max_batch = 6, .max_delay = kForever}).value();
  const std::vector<Sum> sums = {{1, 1}, {2, 3}, {3, 2}};
  std::vector<std::future<Outputs>> ended;
  for (size_t i = 0; i < 2; ++i) ended.push_back(Submit(batcher, sums[i].inputs()));
  EXPECT_EQ(batcher.stats().queued_rows, 4);
  ended.push_back(Submit(batcher, sums[2].inputs()));
  for (size_t i = 0; i < 3; ++i) sums[i].Expect(ended[i].get());
  const BatcherStats stats = batcher.stats();
  EXPECT_EQ(stats.requests, 3);
  EXPECT_EQ(stats.batches, 1);
  EXPECT_EQ(stats.rows, 6);
  EXPECT_EQ(stats.padding_rows, 0);
  EXPECT_EQ(stats.queued_rows, 0);
}

TEST(BatcherTest, BatchesAreFilledUpSoThatFewProgramsAreBuilt) {
  const Session session = Load(kSums);
  for (const std::vector<int64_t>& sizes : std::vector<std::vector<int64_t>>{{}, {2, 4}}) {
    Batcher batcher =
        Batcher::Create(session, {.max_batch = 4, .max_delay = kForever, .batch_sizes = sizes})
            .value();
    const Sum one(1, 1), two(2, 2);
    std::future<Outputs> first = Submit(batcher, one.inputs());
    std::future<Outputs> second = Submit(batcher, two.inputs());
    batcher.Stop();
    one.Expect(first.get());
    two.Expect(second.get());
    EXPECT_EQ(batcher.stats().batches, 1);
    EXPECT_EQ(batcher.stats().padding_rows, 1);
  }
  EXPECT_EQ(session.stats().programs_built, 1);
}

TEST(BatcherTest, EachCallerGetsItsOwnRows) {
  constexpr int kCallers = 8, kRequests = 60;
  const Session session = Load(kSums);
  Batcher batcher =
      Batcher::Create(session, {.max_batch = 8, .max_delay = milliseconds(2)}).value();
  std::vector<std::thread> callers;
  for (int caller = 0; caller < kCallers; ++caller) {
    callers.emplace_back([&batcher, caller] {
      for (int i = 0; i < kRequests; ++i) {
        const Sum sum(caller * kRequests + i, 1 + (caller + i) % 3);
        sum.Expect(batcher.Run(sum.inputs()));
      }
    });
  }
  for (std::thread& caller : callers) caller.join();
  const BatcherStats stats = batcher.stats();
  EXPECT_EQ(stats.requests, kCallers * kRequests);
  EXPECT_EQ(stats.rows, 2 * kCallers * kRequests);
  EXPECT_LT(stats.batches, kCallers * kRequests);
  EXPECT_EQ(stats.refused + stats.cancelled + stats.failed, 0);
  EXPECT_LE(session.stats().programs_built, 4);
}

TEST(BatcherTest, ShapesAreNotMixed) {
  const Session session = Load("g (float[N,M] x) => (float[N,M] y) { y = Neg(x) }");
  Batcher batcher = Batcher::Create(session, {.max_batch = 2, .max_delay = kForever}).value();
  const std::vector<float> x = {1, 2, 3};
  std::future<Outputs> wide = Submit(batcher, {View(x.data(), {1, 3})});
  std::future<Outputs> narrow = Submit(batcher, {View(x.data(), {1, 1})});
  std::future<Outputs> other = Submit(batcher, {View(x.data() + 1, {1, 1})});
  EXPECT_EQ(narrow.get().value()[0].data<float>()[0], -1);
  EXPECT_EQ(other.get().value()[0].data<float>()[0], -2);
  EXPECT_FALSE(HasEnded(wide));
  batcher.Stop();
  EXPECT_EQ(wide.get().value()[0].shape(), (std::vector<int64_t>{1, 3}));
}

TEST(BatcherTest, StringsAreJoined) {
  const Session session = Load("g (string[N,2] x) => (string[N,2] y) { y = Identity(x) }");
  Batcher batcher = Batcher::Create(session, {.max_batch = 4, .max_delay = kForever}).value();
  const std::vector<std::string> first = {"a", "b"}, second = {"c", "", "d", std::string(99, 'e')};
  std::future<Outputs> a = Submit(batcher, {View(first.data(), {1, 2})});
  std::future<Outputs> b = Submit(batcher, {View(second.data(), {2, 2})});
  batcher.Stop();
  const Outputs found = b.get();
  ASSERT_TRUE(found.ok()) << found.error().message;
  const auto* strings = Outputs(found).value()[0].data<std::string>();
  EXPECT_EQ(std::vector<std::string>(strings, strings + 4), second);
  EXPECT_TRUE(a.get().ok());
}

TEST(BatcherTest, OnlyTheWrongRequestFails) {
  const Session session = Load(
      "g (int64[N] i) => (float[N,2] y) <float[3,2] table = {0, 1, 2, 3, 4, 5}> "
      "{ y = Gather(table, i) }");
  Batcher batcher = Batcher::Create(session, {.max_batch = 3, .max_delay = kForever}).value();
  const std::vector<int64_t> rows = {2, 7, 1};
  std::vector<std::future<Outputs>> ended;
  for (const int64_t& row : rows) ended.push_back(Submit(batcher, {View(&row, {1})}));
  EXPECT_EQ(ended[0].get().value()[0].data<float>()[0], 4);
  ExpectError(ended[1].get(), ErrorCode::kInvalidArgument, "7");
  EXPECT_EQ(ended[2].get().value()[0].data<float>()[1], 3);
  EXPECT_EQ(batcher.stats().failed, 1);
  EXPECT_EQ(batcher.stats().batches, 4);
}

TEST(BatcherTest, AFullQueueRefuses) {
  const Session session = Load(kSums);
  Batcher batcher =
      Batcher::Create(session, {.max_batch = 4, .max_delay = kForever, .max_queued = 4}).value();
  const Sum three(1, 3), two(2, 2);
  std::future<Outputs> waits = Submit(batcher, three.inputs());
  ExpectError(batcher.Run(two.inputs()), ErrorCode::kResourceExhausted,
              "3 rows wait in the batcher, a request of 2 more is beyond max_queued = 4");
  batcher.Stop();
  three.Expect(waits.get());
  EXPECT_EQ(batcher.stats().refused, 1);
  EXPECT_EQ(batcher.stats().requests, 1);
}

TEST(BatcherTest, ADeadlineEndsARequestThatWaits) {
  const Session session = Load(kSums);
  Batcher batcher = Batcher::Create(session, {.max_batch = 4, .max_delay = kForever}).value();
  const Sum sum(1, 1), other(2, 3);
  const auto soon = std::chrono::steady_clock::now() + milliseconds(20);
  ExpectError(batcher.Run(sum.inputs(), {.deadline = soon}), ErrorCode::kCancelled, "deadline");
  EXPECT_GE(std::chrono::steady_clock::now(), soon);
  EXPECT_EQ(batcher.stats().cancelled, 1);
  // A row of it is not in the next batch.
  std::future<Outputs> waits = Submit(batcher, other.inputs());
  EXPECT_EQ(batcher.stats().queued_rows, 3);
  batcher.Stop();
  other.Expect(waits.get());
}

TEST(BatcherTest, AFlagEndsARequestThatWaits) {
  const Session session = Load(kSums);
  Batcher batcher = Batcher::Create(session, {.max_batch = 4, .max_delay = kForever}).value();
  const Sum sum(1, 1), other(2, 3);
  std::atomic<bool> cancel = false;
  std::future<Outputs> cancelled = Submit(batcher, sum.inputs(), {.cancel = &cancel});
  EXPECT_FALSE(HasEnded(cancelled));
  cancel = true;
  std::future<Outputs> waits = Submit(batcher, other.inputs());
  ExpectError(cancelled.get(), ErrorCode::kCancelled, "cancelled in the batcher");
  EXPECT_FALSE(HasEnded(waits));
  batcher.Stop();
  other.Expect(waits.get());
}

TEST(BatcherTest, AStoppedBatcherRefuses) {
  const Session session = Load(kSums);
  Batcher batcher = Batcher::Create(session).value();
  const Sum sum(1, 1);
  sum.Expect(batcher.Run(sum.inputs()));
  batcher.Stop();
  batcher.Stop();
  ExpectError(batcher.Run(sum.inputs()), ErrorCode::kFailedPrecondition, "stopped");
  Batcher other = std::move(batcher);
  ExpectError(batcher.Run(sum.inputs()), ErrorCode::kFailedPrecondition, "moved from");  // NOLINT
  EXPECT_EQ(other.stats().requests, 1);
}

TEST(BatcherTest, ADestroyedBatcherEndsItsRequests) {
  const Session session = Load(kSums);
  const Sum sum(1, 1);
  std::future<Outputs> ended;
  {
    Batcher batcher = Batcher::Create(session, {.max_delay = kForever}).value();
    ended = Submit(batcher, sum.inputs());
  }
  sum.Expect(ended.get());
}

// As a future's callback may do that holds the last reference.
TEST(BatcherTest, MayBeStoppedAndDestroyedByItsOwnThread) {
  const Session session = Load(kSums);
  for (const int threads : {1, 3}) {
    const Sum sum(1, 1), other(2, 1);
    auto batcher = std::make_unique<Batcher>(
        Batcher::Create(session, {.max_batch = 1, .max_delay = kForever, .threads = threads})
            .value());
    std::promise<Outputs> first;
    std::promise<void> all_submitted;
    std::future<void> go = all_submitted.get_future();
    batcher->Submit(sum.inputs(), [&](Outputs outputs) {
      go.wait();
      batcher->Stop();
      batcher.reset();
      first.set_value(std::move(outputs));
    });
    std::future<Outputs> second = Submit(*batcher, other.inputs());
    all_submitted.set_value();
    sum.Expect(first.get_future().get());
    other.Expect(second.get());
    EXPECT_EQ(batcher, nullptr);
  }
}

TEST(BatcherTest, ASingleRowMayHaveAnyStride) {
  const Session session = Load("g (float[N,2] x) => (float[N,2] y) { y = Neg(x) }");
  Batcher batcher = Batcher::Create(session, {.max_batch = 2, .max_delay = kForever}).value();
  const std::vector<float> x = {1, 2};
  TensorView view = View(x.data(), {1, 2});
  view.strides = {7, 1};
  std::future<Outputs> first = Submit(batcher, {view}), second = Submit(batcher, {view});
  EXPECT_EQ(first.get().value()[0].data<float>()[1], -2);
  EXPECT_EQ(second.get().value()[0].data<float>()[0], -1);
}

TEST(BatcherTest, WrongRequestsAreRefused) {
  const Session session = Load(kSums);
  Batcher batcher = Batcher::Create(session, {.max_batch = 2}).value();
  const std::vector<float> x(8);
  const auto expect = [&](int64_t x_rows, int64_t b_rows, std::string_view text) {
    ExpectError(batcher.Run({View(x.data(), {x_rows, 2}), View(x.data(), {b_rows, 2})}),
                ErrorCode::kInvalidArgument, text);
  };
  expect(1, 2, "input \"b\" has 2 rows, the first input 1");
  expect(3, 3, "a request of 3 rows, expected 1 to 2");
  expect(0, 0, "a request of 0 rows, expected 1 to 2");
  ExpectError(batcher.Run({View(x.data(), {1, 2})}), ErrorCode::kInvalidArgument, "b");
  ExpectError(batcher.Run({View(x.data(), {1, 3}), View(x.data(), {1, 2})}),
              ErrorCode::kInvalidArgument, "x");
  EXPECT_EQ(batcher.stats().requests, 0);
}

TEST(BatcherTest, ModelsWithoutABatchAxisAreRefused) {
  for (const char* text : {"g (float[2,3] x) => (float[2,3] y) { y = Neg(x) }",
                           "g (float[N,3] x, float[M] s) => (float[N,3] y) "
                           "{ t = ReduceSum(s) y = Mul(x, t) }",
                           "g (float[N,3] x) => (float s) { s = ReduceSum<keepdims = 0>(x) }",
                           "g (float[N,3] x) => (float[K] y) <bool[3] c = {1, 0, 1}> "
                           "{ y = Compress(x, c) }"}) {
    const Session session = Load(text);
    ExpectError(Batcher::Create(session), ErrorCode::kUnimplemented, "has no batch axis");
  }
}

// The model's own word for it is wrong.
TEST(BatcherTest, RowsThatAreMissingAreAnError) {
  const Session session =
      Load("g (float[N,3] x, bool[N] kept) => (float[N,3] y) { y = Compress<axis = 0>(x, kept) }");
  Batcher batcher = Batcher::Create(session).value();
  const std::vector<float> x(6);
  const std::array<bool, 2> kept = {true, false};
  ExpectError(batcher.Run({View(x.data(), {2, 3}), View(kept.data(), {2})}),
              ErrorCode::kFailedPrecondition, "output \"y\" has 1 rows for a batch of 2");
}

TEST(BatcherTest, WrongOptionsAreNamed) {
  const Session session = Load(kSums);
  const auto expect = [&](const BatcherOptions& options, std::string_view text) {
    ExpectError(Batcher::Create(session, options), ErrorCode::kInvalidArgument, text);
  };
  expect({.max_batch = 0}, "max_batch = 0, expected 1 to 1048576");
  expect({.max_delay = milliseconds(-1)}, "max_delay = -1000, expected 0 to");
  expect({.max_batch = 8, .max_queued = 7}, "max_queued = 7, expected 8 to");
  expect({.threads = -1}, "threads = -1, expected 0 to 256");
  expect({.batch_sizes = {2, 2}}, "batch_sizes = 2, expected 3 to 32");
  expect({.batch_sizes = {0}}, "batch_sizes = 0, expected 1 to 32");
  expect({.max_batch = 4, .batch_sizes = {8}}, "batch_sizes = 8, expected 1 to 4");
}

}  // namespace
}  // namespace onnx_cudnn
