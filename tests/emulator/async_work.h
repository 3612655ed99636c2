// Work that a thread starts and waits for later: copies, stores and matrix products. A kernel that
// does not wait reads NaN, which stands for data that has not arrived.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

namespace onnx_cudnn::emulator {

// The work of one thread, in groups that end at Commit. Functions with `pending` leave that many of
// the last groups unfinished.
inline constexpr int kNotCommitted = -1;  // as `pending`: also work that is in no group yet

template <typename Work>
class Groups {
 public:
  void Add(Work work) { items_.push_back({open_, std::move(work)}); }
  void Commit() { ++open_; }
  bool empty() const { return items_.empty(); }
  bool HasMoreThan(int pending) const {
    return !items_.empty() && items_.front().group < open_ - pending;
  }
  // Calls f for each piece of work, oldest first.
  template <typename F>
  void Each(int pending, F f) {
    for (Item& item : items_) {
      if (item.group < open_ - pending) f(item.work);
    }
  }
  void Drop(int pending) {
    std::erase_if(items_, [&](const Item& item) { return item.group < open_ - pending; });
  }
  int open() const { return open_; }

 private:
  struct Item {
    int group;
    Work work;
  };
  std::vector<Item> items_;
  int open_ = 0;
};

// cp.async: writes `written` bytes; the first `read` are copied and the others are zero.
struct Copy {
  std::byte* to;
  const void* from;
  int written, read;

  void Poison() const;
  void Arrive() const;
};

// A bulk store first reads shared memory, then writes the data.
struct Store {
  std::function<std::vector<std::byte>()> read;
  std::function<void(const std::vector<std::byte>&)> write;
  bool has_read = false;
  std::vector<std::byte> bytes = {};

  void Read();
  void Write();
};

// One thread's part of a wgmma: multiply(product, sums) adds to its `count` sums; the kernel has
// the first at `d`. Register operands are read at the start, shared ones when the product runs.
struct Product {
  void (*multiply)(const Product&, float* sums);
  float* d;
  int count;
  uint64_t a, b;  // operands in shared memory
  bool accumulates;
  float rows[2][16];  // the operand in registers
};

// Products in flight. Meanwhile the kernel's own sums are NaN.
class Products {
 public:
  // Whether products into `d` are in flight, which need no fence between them.
  bool IsPending(const float* d) const;
  void Add(const Product& product);
  void Commit() { products_.Commit(); }
  bool HasMoreThan(int pending) const { return products_.HasMoreThan(pending); }
  // Computes products; the kernel's sums stay NaN.
  void Run(int pending);
  // Gives the kernel the sums to which only older groups add.
  void Return(int pending);
  bool empty() const { return sums_.empty(); }

 private:
  struct Sums {
    float* d;
    int last_group;
    std::vector<float> values;
  };
  Groups<Product> products_;
  std::vector<Sums> sums_;
};

// A copy that a barrier in shared memory waits for.
struct Load {
  const std::byte* barrier;
  std::function<void()> arrive;
};

}  // namespace onnx_cudnn::emulator
