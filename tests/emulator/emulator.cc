#include "tests/emulator/emulator.h"

#include <algorithm>
#include <boost/context/detail/fcontext.hpp>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <stdexcept>
#include <vector>

namespace onnx_cudnn::emulator {
namespace {

namespace context = boost::context::detail;

constexpr size_t kStackBytes = 256 * 1024;
constexpr size_t kDynamicBytes = 232'448;  // the most of a block of sm_90
constexpr size_t kStaticBytes = 49'152;
constexpr size_t kSharedBytes = kDynamicBytes + kStaticBytes;  // static variables behind
constexpr int kWarp = 32;

// The parameter of a kernel as the caller's side of the call sees it: bytes on the stack.
struct alignas(64) Parameters {
  std::byte bytes[4096];
};
using Kernel = void (*)(Parameters);

struct Failure : std::runtime_error {
  using std::runtime_error::runtime_error;
};

class Stack {
 public:
  Stack() : bytes_(static_cast<std::byte*>(std::aligned_alloc(64, kStackBytes))) {}
  void* top() const { return bytes_.get() + kStackBytes; }

 private:
  struct Free {
    void operator()(std::byte* p) const { std::free(p); }
  };
  std::unique_ptr<std::byte, Free> bytes_;
};

// Values that the lanes of one mask hand in.
struct Meeting {
  uint32_t arrived = 0;
  uint64_t generation = 0;
  uint64_t values[kWarp] = {};
  uint64_t results[2][kWarp] = {};
};

struct Warp {
  std::map<uint32_t, Meeting> meetings;  // by mask
  uint32_t alive = 0;
};

struct NamedState {
  int arrived = 0;
  uint64_t generation = 0;
};

struct Block {
  std::vector<Warp> warps;
  int alive = 0;
  NamedState all;  // __syncthreads
  std::map<int, NamedState> named;
  std::byte* shared = nullptr;
  bool has_waited = false;  // for the launch before
};

struct Fiber {
  Place place;
  Block* block = nullptr;
  int thread = 0;  // linear
  context::fcontext_t at = nullptr;
  std::unique_ptr<Stack> stack;
  bool started = false, done = false;
};

// One launch.
class Launch {
 public:
  Launch(Kernel kernel, const LaunchShape& shape, const Parameters& parameters, Order order)
      : kernel_(kernel), shape_(shape), parameters_(parameters), order_(order) {}

  void Run() {
    const unsigned blocks_of_cluster = std::max(shape_.cluster, 1);
    if (shape_.grid.x % blocks_of_cluster != 0) throw Failure("the grid is no whole clusters");
    for (unsigned z = 0; z < shape_.grid.z; ++z) {
      for (unsigned y = 0; y < shape_.grid.y; ++y) {
        for (unsigned x = 0; x < shape_.grid.x; x += blocks_of_cluster) {
          RunCluster({x, y, z}, blocks_of_cluster);
        }
      }
    }
  }

  Fiber& current() { return *current_; }
  Block& block(size_t rank) {
    if (rank >= blocks_.size()) Stop("no such block in the cluster");
    return blocks_[rank];
  }
  NamedState& cluster() { return cluster_; }

  // Where a static variable lies, in every block.
  size_t OffsetOf(const void* tag, size_t bytes) {
    const auto [it, is_new] = statics_.try_emplace(tag, statics_end_);
    if (is_new) statics_end_ += (bytes + 127) / 128 * 128;
    if (statics_end_ > kStaticBytes) Stop("too many static shared variables");
    return kDynamicBytes + it->second;
  }
  int alive() const { return static_cast<int>(left_); }
  void Progress() { progress_ = true; }

  void Yield() {
    context::transfer_t back = context::jump_fcontext(scheduler_, nullptr);
    scheduler_ = back.fctx;
  }

  // Kernels may not be left by an exception: frames of the fiber's start know nothing of it.
  [[noreturn]] void Stop(const std::string& message) {
    failure_ = message;
    while (true) Yield();
  }

 private:
  void RunCluster(Index first, unsigned count) {
    const unsigned threads = shape_.block.x * shape_.block.y * shape_.block.z;
    blocks_ = std::vector<Block>(count);
    shared_.resize(count);
    fibers_ = std::vector<Fiber>(size_t{count} * threads);
    for (unsigned b = 0; b < count; ++b) {
      if (shared_[b] == nullptr) {
        shared_[b].reset(
            static_cast<std::byte*>(std::aligned_alloc(1024, (kSharedBytes + 1023) / 1024 * 1024)));
      }
      std::memset(shared_[b].get(), 0xff, shape_.shared_bytes);
      std::memset(shared_[b].get() + kDynamicBytes, 0xff, statics_end_);
      blocks_[b].shared = shared_[b].get();
      blocks_[b].alive = static_cast<int>(threads);
      blocks_[b].warps.resize((threads + kWarp - 1) / kWarp);
      for (unsigned t = 0; t < threads; ++t) {
        Fiber& fiber = fibers_[size_t{b} * threads + t];
        fiber.thread = static_cast<int>(t);
        fiber.block = &blocks_[b];
        fiber.place.thread = {t % shape_.block.x, t / shape_.block.x % shape_.block.y,
                              t / (shape_.block.x * shape_.block.y)};
        fiber.place.block = {first.x + b, first.y, first.z};
        fiber.place.block_extent = {shape_.block.x, shape_.block.y, shape_.block.z};
        fiber.place.grid_extent = {shape_.grid.x, shape_.grid.y, shape_.grid.z};
        blocks_[b].warps[t / kWarp].alive |= 1u << (t % kWarp);
      }
    }
    cluster_ = NamedState();
    left_ = fibers_.size();
    while (left_ > 0) {
      progress_ = false;
      for (size_t i = 0; i < fibers_.size(); ++i) {
        Fiber& fiber = fibers_[order_ == Order::kForward ? i : fibers_.size() - 1 - i];
        if (fiber.done) continue;
        Resume(fiber);
        if (!failure_.empty()) throw Failure(failure_);
      }
      if (!progress_) throw Failure("its threads wait for each other for ever");
    }
  }

  void Resume(Fiber& fiber) {
    current_ = &fiber;
    place = &fiber.place;
    if (!fiber.started) {
      fiber.started = true;
      progress_ = true;
      fiber.stack = TakeStack();
      fiber.at = context::make_fcontext(fiber.stack->top(), kStackBytes, Enter);
    }
    fiber.at = context::jump_fcontext(fiber.at, this).fctx;
    if (!fiber.done) return;
    free_stacks_.push_back(std::move(fiber.stack));
  }

  static void Enter(context::transfer_t from) {
    Launch& launch = *static_cast<Launch*>(from.data);
    launch.scheduler_ = from.fctx;
    launch.kernel_(launch.parameters_);
    launch.Leave();
    context::jump_fcontext(launch.scheduler_, nullptr);
  }

  void Leave();

  std::unique_ptr<Stack> TakeStack() {
    if (free_stacks_.empty()) return std::make_unique<Stack>();
    std::unique_ptr<Stack> stack = std::move(free_stacks_.back());
    free_stacks_.pop_back();
    return stack;
  }

  struct Free {
    void operator()(std::byte* p) const { std::free(p); }
  };

  const Kernel kernel_;
  const LaunchShape shape_;
  const Parameters& parameters_;
  const Order order_;
  std::vector<Block> blocks_;
  std::vector<Fiber> fibers_;
  size_t left_ = 0;     // of them are not done
  NamedState cluster_;  // where all of them meet
  std::vector<std::unique_ptr<std::byte, Free>> shared_;
  std::vector<std::unique_ptr<Stack>> free_stacks_;
  std::map<const void*, size_t> statics_;
  size_t statics_end_ = 0;
  context::fcontext_t scheduler_ = nullptr;
  Fiber* current_ = nullptr;
  bool progress_ = false;
  std::string failure_;
};

Launch* launch = nullptr;

void Finish(NamedState& state) {
  state.arrived = 0;
  ++state.generation;
  launch->Progress();
}

void FinishIfAll(Meeting& meeting, uint32_t mask, uint32_t alive) {
  if (meeting.arrived == 0 || (meeting.arrived & alive) != (mask & alive)) return;
  std::copy(meeting.values, meeting.values + kWarp, meeting.results[meeting.generation & 1]);
  meeting.arrived = 0;
  ++meeting.generation;
  launch->Progress();
}

template <typename Condition>
void YieldUntil(Condition condition) {
  while (!condition()) launch->Yield();
  launch->Progress();
}

Warp& CurrentWarp() {
  Fiber& fiber = launch->current();
  return fiber.block->warps[fiber.thread / kWarp];
}

}  // namespace

// A thread that is done no longer counts at barriers.
void Launch::Leave() {
  Fiber& fiber = *current_;
  fiber.done = true;
  --left_;
  progress_ = true;
  if (cluster_.arrived > 0 && cluster_.arrived == alive()) Finish(cluster_);
  Block& block = *fiber.block;
  --block.alive;
  if (block.all.arrived > 0 && block.all.arrived == block.alive) Finish(block.all);
  Warp& warp = block.warps[fiber.thread / kWarp];
  warp.alive &= ~(1u << (fiber.thread % kWarp));
  for (auto& [mask, meeting] : warp.meetings) FinishIfAll(meeting, mask, warp.alive);
  if (block.alive == 0 && !block.has_waited) Stop("a block did not wait for the launch before");
}

const Place* place = nullptr;

std::string Run(const void* function, const LaunchShape& shape, const void* parameters,
                size_t parameter_bytes, Order order) {
  if (parameter_bytes <= 16 || parameter_bytes > sizeof(Parameters)) {
    return "parameters of " + std::to_string(parameter_bytes) + " bytes, expected 17 to 4,096";
  }
  if (shape.shared_bytes > static_cast<int>(kDynamicBytes)) {
    return std::to_string(shape.shared_bytes) + " bytes of shared memory";
  }
  auto copy = std::make_unique<Parameters>();
  std::memcpy(copy->bytes, parameters, parameter_bytes);
  Launch mine(reinterpret_cast<Kernel>(const_cast<void*>(function)), shape, *copy, order);
  launch = &mine;
  std::string error;
  try {
    mine.Run();
  } catch (const Failure& failure) {
    error = failure.what();
  }
  launch = nullptr;
  return error;
}

void* DynamicShared() { return launch->current().block->shared; }

void SyncThreads() {
  Block& block = *launch->current().block;
  const uint64_t mine = block.all.generation;
  if (++block.all.arrived == block.alive) return Finish(block.all);
  YieldUntil([&] { return block.all.generation != mine; });
}

void SyncCluster() {
  NamedState& state = launch->cluster();
  const uint64_t mine = state.generation;
  if (++state.arrived == launch->alive()) return Finish(state);
  YieldUntil([&] { return state.generation != mine; });
}

void NamedBarrier(int name, int threads, bool waits) {
  NamedState& state = launch->current().block->named[name];
  const uint64_t mine = state.generation;
  if (++state.arrived == threads) return Finish(state);
  if (state.arrived > threads) Fail("more threads at a named barrier than it is for");
  if (waits) YieldUntil([&] { return state.generation != mine; });
}

int Lane() { return launch->current().thread % kWarp; }
uint32_t PresentLanes() { return CurrentWarp().alive; }
void WaitForLaunchBefore() { launch->current().block->has_waited = true; }

const uint64_t* Exchange(uint32_t mask, uint64_t value) {
  Warp& warp = CurrentWarp();
  const int lane = Lane();
  if ((mask >> lane & 1) == 0) Fail("a lane outside of its own mask");
  Meeting& meeting = warp.meetings[mask];
  const uint64_t mine = meeting.generation;
  meeting.values[lane] = value;
  meeting.arrived |= 1u << lane;
  FinishIfAll(meeting, mask, warp.alive);
  if (meeting.generation == mine) YieldUntil([&] { return meeting.generation != mine; });
  return meeting.results[mine & 1];
}

void WaitUntil(bool (*ready)(const void*), const void* context) {
  YieldUntil([&] { return ready(context); });
}

void Fail(const std::string& message) { launch->Stop(message); }

void* StaticShared(const void* tag, size_t bytes) {
  return launch->current().block->shared + launch->OffsetOf(tag, bytes);
}

namespace {

constexpr int kRankShift = 24;  // above it: 1 + the rank in the cluster, 0 for the own block

}  // namespace

uint32_t SharedAddressOf(const void* pointer) {
  const std::byte* base = launch->current().block->shared;
  const auto* p = static_cast<const std::byte*>(pointer);
  if (p < base || p >= base + kSharedBytes) Fail("no address of shared memory");
  return static_cast<uint32_t>(p - base);
}

std::byte* AtShared(uint32_t address) {
  const uint32_t rank = address >> kRankShift, offset = address & ((1u << kRankShift) - 1);
  if (offset >= kSharedBytes) Fail("an address beyond shared memory");
  const Block& block = rank == 0 ? *launch->current().block : launch->block(rank - 1);
  return block.shared + offset;
}

uint32_t InBlock(uint32_t address, int rank) {
  if (address >= 1u << kRankShift) Fail("no address of the block's own shared memory");
  return address | static_cast<uint32_t>(rank + 1) << kRankShift;
}

}  // namespace onnx_cudnn::emulator
