// One emulated launch: its fibers and their scheduling.
#pragma once

#include <boost/context/detail/fcontext.hpp>
#include <cstdlib>
#include <map>
#include <memory>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

#include "tests/emulator/async_work.h"
#include "tests/emulator/emulator.h"

namespace onnx_cudnn::emulator {

inline constexpr size_t kStackBytes = 256 * 1024;
inline constexpr size_t kDynamicBytes = 232'448;  // the maximum per block on sm_90
inline constexpr size_t kStaticBytes = 49'152;
// Followed by static variables.
inline constexpr size_t kSharedBytes = kDynamicBytes + kStaticBytes;
inline constexpr int kWarp = 32;

// The parameter of a kernel as the caller passes it: bytes on the stack.
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

// Values that the lanes of one mask pass in.
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
  bool has_waited = false;  // for the preceding launch
};

struct Fiber {
  Place place;
  Block* block = nullptr;
  int thread = 0;  // linear
  boost::context::detail::fcontext_t at = nullptr;
  std::unique_ptr<Stack> stack;
  bool started = false, done = false;
  uint64_t cluster_arrivals = 0;  // its own
  Groups<Copy> copies;
  Groups<Store> stores;
  Products products;
  bool has_fence = false;  // between accesses to its registers and products
};

class Launch {
 public:
  Launch(Kernel kernel, const LaunchShape& shape, const Parameters& parameters,
         const Schedule& schedule)
      : kernel_(kernel),
        shape_(shape),
        parameters_(parameters),
        schedule_(schedule),
        random_(schedule.seed) {}

  void Run();

  Fiber& current() { return *current_; }
  Block& block(size_t rank);
  // The offset of a static variable, equal in every block.
  size_t OffsetOf(const void* tag, size_t bytes);
  void Progress() { progress_ = true; }
  void Yield();
  template <typename Condition>
  void YieldUntil(Condition condition) {
    while (!condition()) Yield();
    Progress();
  }
  // Kernels must not be left by an exception, because the fiber's first frames cannot unwind it.
  [[noreturn]] void Stop(const std::string& message);

  void ArriveAtCluster();
  void WaitForCluster();

  // Whether work that starts now also finishes now.
  bool IsDoneAtOnce();
  // Runs the other threads as far as they can without what this thread waits for.
  void LetOthersGoOn();
  // Whether a thread that has waited since the stall `since` may continue.
  bool IsReleased(uint64_t since);
  uint64_t stalls() const { return stalls_; }
  void AddLoad(Load load) { loads_.push_back(std::move(load)); }
  void FinishLoads(const std::byte* barrier);

 private:
  // What threads waiting for asynchronous work receive: it is done when no thread can continue
  // otherwise.
  enum class Release : uint8_t { kNone, kSome, kAll };

  void RunCluster(Index first, unsigned count);
  void MakeBlock(Index first, unsigned rank, unsigned threads);
  void RunFibers();
  void Sweep();
  // Releases what can be released after a sweep in which no thread could continue.
  void GoOnFromStall();
  // Starts the next block or completes a load, at random.
  void GoOnByChance();
  bool Coin() { return (random_() >> 8 & 1) != 0; }
  void Resume(Fiber& fiber);
  static void Enter(boost::context::detail::transfer_t from);
  void Leave();
  void FinishClusterIfAll();
  std::unique_ptr<Stack> TakeStack();

  struct Free {
    void operator()(std::byte* p) const { std::free(p); }
  };

  const Kernel kernel_;
  const LaunchShape shape_;
  const Parameters& parameters_;
  const Schedule schedule_;
  std::minstd_rand random_;
  std::vector<Block> blocks_;
  std::vector<Fiber> fibers_;
  size_t left_ = 0;     // of them are not finished
  size_t begun_ = 0;    // started blocks of the cluster
  NamedState cluster_;  // where all threads of the cluster meet
  size_t gone_ = 0;     // fibers that have ended and arrived there
  std::vector<Load> loads_;
  Release release_ = Release::kNone;
  uint64_t stalls_ = 0;
  std::vector<std::unique_ptr<std::byte, Free>> shared_;
  std::vector<std::unique_ptr<Stack>> free_stacks_;
  std::map<const void*, size_t> statics_;
  size_t statics_end_ = 0;
  boost::context::detail::fcontext_t scheduler_ = nullptr;
  Fiber* current_ = nullptr;
  bool progress_ = false;
  std::string failure_;
};

// The running launch.
extern Launch* launch;

}  // namespace onnx_cudnn::emulator
