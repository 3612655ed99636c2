// Which requests form a batch, and when.
#include "runtime/batcher/request_queue.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <vector>

namespace onnx_cudnn {
namespace {

using std::chrono::microseconds;

constexpr int64_t kMaxBatch = 4;
constexpr microseconds kMaxDelay{100};

class RequestQueueTest : public testing::Test {
 protected:
  // A request of `rows` rows of [width] that arrives at `us`.
  void Add(int us, int64_t rows, int64_t width = 3, const RequestOptions& options = {}) {
    BatcherRequest request{.rows = rows, .arrival = At(us), .options = options};
    request.inputs.push_back({.dtype = DType::kF32, .shape = {rows, width}});
    queue_.Add(std::move(request));
  }
  // The rows of the requests of a batch.
  std::vector<int64_t> Take(int us, bool flush = false) {
    return RowsOf(queue_.TakeBatch(At(us), flush));
  }
  std::vector<int64_t> Cancelled(int us) { return RowsOf(queue_.TakeCancelled(At(us))); }
  BatcherTime At(int us) const { return start_ + microseconds(us); }

  RequestQueue queue_{kMaxBatch, kMaxDelay};

 private:
  static std::vector<int64_t> RowsOf(const std::vector<BatcherRequest>& requests) {
    std::vector<int64_t> rows;
    for (const BatcherRequest& request : requests) rows.push_back(request.rows);
    return rows;
  }
  const BatcherTime start_ = BatcherTime(std::chrono::hours(1));
};

using Rows = std::vector<int64_t>;

TEST_F(RequestQueueTest, TheOldestWaitsNoLongerThanTheDelay) {
  EXPECT_EQ(queue_.NextEvent(), BatcherTime::max());
  Add(0, 1);
  Add(60, 2);
  EXPECT_EQ(queue_.NextEvent(), At(100));
  EXPECT_EQ(Take(99), Rows());
  EXPECT_EQ(queue_.rows(), 3);
  EXPECT_EQ(Take(100), Rows({1, 2}));
  EXPECT_EQ(queue_.rows(), 0);
  EXPECT_EQ(queue_.NextEvent(), BatcherTime::max());
}

TEST_F(RequestQueueTest, AFullBatchDoesNotWait) {
  Add(0, 2);
  Add(1, 1);
  EXPECT_EQ(Take(2), Rows());
  Add(2, 2);
  EXPECT_EQ(queue_.NextEvent(), At(0));
  EXPECT_EQ(Take(2), Rows({2, 1}));  // the third would be one row too many
  EXPECT_EQ(queue_.NextEvent(), At(102));
  Add(3, 4);
  EXPECT_EQ(Take(3), Rows({2}));  // no request overtakes another
  EXPECT_EQ(Take(3), Rows({4}));
}

TEST_F(RequestQueueTest, ShapesAreNotJoinedAndTheOldestIsFirst) {
  Add(0, 1, 5);
  Add(10, 2, 3);
  Add(20, 2, 3);
  EXPECT_EQ(Take(20), Rows({2, 2}));
  EXPECT_EQ(Take(99), Rows());
  Add(30, 3, 7);
  EXPECT_EQ(Take(200), Rows({1}));
  EXPECT_EQ(Take(200), Rows({3}));
}

TEST_F(RequestQueueTest, AFlushTakesWhatIsThere) {
  Add(0, 1, 5);
  Add(0, 1, 3);
  EXPECT_EQ(Take(1, true).size(), 1u);
  EXPECT_EQ(Take(1, true).size(), 1u);
  EXPECT_EQ(Take(1, true), Rows());
}

TEST_F(RequestQueueTest, DeadlinesAndFlags) {
  std::atomic<bool> cancel = false;
  Add(0, 1, 3, {.deadline = At(50)});
  Add(0, 2, 3, {.cancel = &cancel});
  EXPECT_EQ(queue_.NextEvent(), At(50));
  EXPECT_EQ(Cancelled(49), Rows());
  EXPECT_EQ(Cancelled(50), Rows({1}));
  EXPECT_EQ(queue_.rows(), 2);
  cancel = true;
  EXPECT_EQ(Cancelled(50), Rows({2}));
  EXPECT_EQ(queue_.rows(), 0);
  EXPECT_EQ(queue_.NextEvent(), BatcherTime::max());
}

}  // namespace
}  // namespace onnx_cudnn
