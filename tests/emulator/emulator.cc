#include "tests/emulator/emulator.h"

#include <algorithm>
#include <cstring>

#include "tests/emulator/launch.h"

namespace onnx_cudnn::emulator {

namespace context = boost::context::detail;

Launch* launch = nullptr;
const Place* place = nullptr;

namespace {

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

Warp& CurrentWarp() {
  Fiber& fiber = launch->current();
  return fiber.block->warps[fiber.thread / kWarp];
}

}  // namespace

void Launch::Run() {
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

Block& Launch::block(size_t rank) {
  if (rank >= blocks_.size()) Stop("no such block in the cluster");
  return blocks_[rank];
}

size_t Launch::OffsetOf(const void* tag, size_t bytes) {
  const auto [it, is_new] = statics_.try_emplace(tag, statics_end_);
  if (is_new) statics_end_ += (bytes + 127) / 128 * 128;
  if (statics_end_ > kStaticBytes) Stop("too many static shared variables");
  return kDynamicBytes + it->second;
}

void Launch::Yield() {
  context::transfer_t back = context::jump_fcontext(scheduler_, nullptr);
  scheduler_ = back.fctx;
}

void Launch::Stop(const std::string& message) {
  failure_ = message;
  while (true) Yield();
}

void Launch::RunCluster(Index first, unsigned count) {
  const unsigned threads = shape_.block.x * shape_.block.y * shape_.block.z;
  blocks_ = std::vector<Block>(count);
  shared_.resize(count);
  fibers_ = std::vector<Fiber>(size_t{count} * threads);
  for (unsigned rank = 0; rank < count; ++rank) MakeBlock(first, rank, threads);
  cluster_ = NamedState();
  gone_ = 0;
  loads_.clear();
  left_ = fibers_.size();
  begun_ = schedule_.arrival == Arrival::kAtOnce ? count : 1;
  RunFibers();
  if (!loads_.empty()) throw Failure("a block ended before what it loads was there");
}

void Launch::MakeBlock(Index first, unsigned rank, unsigned threads) {
  if (shared_[rank] == nullptr) {
    shared_[rank].reset(
        static_cast<std::byte*>(std::aligned_alloc(1024, (kSharedBytes + 1023) / 1024 * 1024)));
  }
  std::memset(shared_[rank].get(), 0xff, shape_.shared_bytes);
  std::memset(shared_[rank].get() + kDynamicBytes, 0xff, kStaticBytes);
  Block& block = blocks_[rank];
  block.shared = shared_[rank].get();
  block.alive = static_cast<int>(threads);
  block.warps.resize((threads + kWarp - 1) / kWarp);
  for (unsigned t = 0; t < threads; ++t) {
    Fiber& fiber = fibers_[size_t{rank} * threads + t];
    fiber.thread = static_cast<int>(t);
    fiber.block = &block;
    fiber.place.thread = {t % shape_.block.x, t / shape_.block.x % shape_.block.y,
                          t / (shape_.block.x * shape_.block.y)};
    fiber.place.block = {first.x + rank, first.y, first.z};
    fiber.place.block_extent = {shape_.block.x, shape_.block.y, shape_.block.z};
    fiber.place.grid_extent = {shape_.grid.x, shape_.grid.y, shape_.grid.z};
    block.warps[t / kWarp].alive |= 1u << (t % kWarp);
  }
}

void Launch::RunFibers() {
  release_ = Release::kNone;
  while (left_ > 0) {
    progress_ = false;
    Sweep();
    if (progress_) {
      release_ = Release::kNone;
    } else {
      GoOnFromStall();
    }
    if (schedule_.arrival == Arrival::kSeeded) GoOnByChance();
  }
}

void Launch::Sweep() {
  const size_t count = fibers_.size() / blocks_.size() * begun_;
  for (size_t i = 0; i < count; ++i) {
    const bool is_forward = schedule_.order == Order::kForward;
    Fiber& fiber = fibers_[is_forward ? i : fibers_.size() - 1 - i];
    if (fiber.done) continue;
    Resume(fiber);
    if (!failure_.empty()) throw Failure(failure_);
  }
}

// Starts the next block of a cluster only when the running ones cannot continue without it.
void Launch::GoOnFromStall() {
  if (release_ == Release::kNone) {
    ++stalls_;
    release_ = Release::kSome;
  } else if (release_ == Release::kSome) {
    release_ = Release::kAll;
  } else if (begun_ < blocks_.size()) {
    ++begun_;
    release_ = Release::kNone;
  } else {
    throw Failure("its threads wait for each other for ever");
  }
}

bool Launch::IsDoneAtOnce() {
  return schedule_.arrival == Arrival::kAtOnce || (schedule_.arrival == Arrival::kSeeded && Coin());
}

void Launch::LetOthersGoOn() {
  YieldUntil([this, since = stalls_] { return IsReleased(since); });
}

bool Launch::IsReleased(uint64_t since) {
  if (release_ == Release::kNone || stalls_ == since) return false;
  return release_ == Release::kAll || schedule_.arrival != Arrival::kSeeded || Coin();
}

void Launch::FinishLoads(const std::byte* barrier) {
  std::vector<Load> mine;
  std::erase_if(loads_, [&](Load& load) {
    if (load.barrier != barrier) return false;
    mine.push_back(std::move(load));
    return true;
  });
  for (const Load& load : mine) load.arrive();
}

void Launch::GoOnByChance() {
  if (begun_ < blocks_.size() && Coin()) ++begun_;
  if (loads_.empty() || !Coin()) return;
  std::swap(loads_[random_() % loads_.size()], loads_.back());
  const Load load = std::move(loads_.back());
  loads_.pop_back();
  load.arrive();
}

void Launch::Resume(Fiber& fiber) {
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

void Launch::Enter(context::transfer_t from) {
  Launch& launch = *static_cast<Launch*>(from.data);
  launch.scheduler_ = from.fctx;
  launch.kernel_(launch.parameters_);
  launch.Leave();
  context::jump_fcontext(launch.scheduler_, nullptr);
}

// A thread that has ended no longer counts at barriers.
void Launch::Leave() {
  Fiber& fiber = *current_;
  if (!fiber.copies.empty() || !fiber.stores.empty() || !fiber.products.empty()) {
    Stop("a thread ended before its copies, stores and products were done");
  }
  fiber.done = true;
  --left_;
  progress_ = true;
  if (fiber.cluster_arrivals > cluster_.generation) ++gone_;
  FinishClusterIfAll();
  Block& block = *fiber.block;
  --block.alive;
  if (block.all.arrived > 0 && block.all.arrived == block.alive) Finish(block.all);
  Warp& warp = block.warps[fiber.thread / kWarp];
  warp.alive &= ~(1u << (fiber.thread % kWarp));
  for (auto& [mask, meeting] : warp.meetings) FinishIfAll(meeting, mask, warp.alive);
  if (block.alive == 0 && !block.has_waited) Stop("a block did not wait for the launch before");
}

std::unique_ptr<Stack> Launch::TakeStack() {
  if (free_stacks_.empty()) return std::make_unique<Stack>();
  std::unique_ptr<Stack> stack = std::move(free_stacks_.back());
  free_stacks_.pop_back();
  return stack;
}

void Launch::FinishClusterIfAll() {
  if (cluster_.arrived == 0 || static_cast<size_t>(cluster_.arrived) != left_ + gone_) return;
  gone_ = 0;
  Finish(cluster_);
}

void Launch::ArriveAtCluster() {
  if (current_->cluster_arrivals > cluster_.generation) Stop("a thread arrived without waiting");
  current_->cluster_arrivals = cluster_.generation + 1;
  ++cluster_.arrived;
  FinishClusterIfAll();
}

void Launch::WaitForCluster() {
  if (current_->cluster_arrivals == 0) Stop("a thread waits for its cluster without arriving");
  YieldUntil([this, mine = current_->cluster_arrivals] { return cluster_.generation >= mine; });
}

std::string Run(const void* function, const LaunchShape& shape, const void* parameters,
                size_t parameter_bytes, const Schedule& schedule) {
  if (parameter_bytes <= 16 || parameter_bytes > sizeof(Parameters)) {
    return "parameters of " + std::to_string(parameter_bytes) + " bytes, expected 17 to 4,096";
  }
  if (shape.shared_bytes > static_cast<int>(kDynamicBytes)) {
    return std::to_string(shape.shared_bytes) + " bytes of shared memory";
  }
  auto copy = std::make_unique<Parameters>();
  std::memcpy(copy->bytes, parameters, parameter_bytes);
  Launch mine(reinterpret_cast<Kernel>(const_cast<void*>(function)), shape, *copy, schedule);
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
  launch->YieldUntil([&] { return block.all.generation != mine; });
}

void ArriveAtCluster() { launch->ArriveAtCluster(); }
void WaitForCluster() { launch->WaitForCluster(); }

void NamedBarrier(int name, int threads, bool waits) {
  NamedState& state = launch->current().block->named[name];
  const uint64_t mine = state.generation;
  if (++state.arrived == threads) return Finish(state);
  if (state.arrived > threads) Fail("more threads at a named barrier than it is for");
  if (waits) launch->YieldUntil([&] { return state.generation != mine; });
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
  if (meeting.generation == mine) launch->YieldUntil([&] { return meeting.generation != mine; });
  return meeting.results[mine & 1];
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
