// The Executor's behaviour for a GPU, on a CPU device that behaves like one.
#include <cstring>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "runtime/exec/cpu_device.h"
#include "runtime/exec/executor.h"
#include "tests/exec/program_maker.h"
#include "tests/exec/watched_device.h"

namespace onnx_cudnn {
namespace {

int some_stream;  // any address stands for a caller's stream

// Counts its launches; while `fault` is not 0, each launch stores it in the fault word.
class FaultyStep final : public FormulaStep {
 public:
  FaultyStep() : FormulaStep(Times(1), {}) {}
  bool may_fault() const override { return true; }
  absl::Status Fault(uint64_t word) const override {
    return absl::InvalidArgumentError(absl::StrCat("index ", word, " is out of range"));
  }
  absl::Status Launch(const LaunchArgs& args) const override {
    ++launches;
    if (fault != 0 && args.fault != nullptr) *args.fault = fault;
    return FormulaStep::Launch(args);
  }

  mutable int launches = 0;
  uint64_t fault = 0;
};

// y = 3x in two Steps; the second one may fault.
struct Chain {
  std::shared_ptr<FaultyStep> faulty = std::make_shared<FaultyStep>();
  std::shared_ptr<Program> program = [this] {
    ProgramMaker maker;
    const int x = maker.Input();
    maker.Output(maker.Add(faulty, {maker.Add(Times(3), {x})}));
    return std::move(maker).Make(1);
  }();
};

class GpuLikeTest : public testing::Test {
 protected:
  std::unique_ptr<Executor> Make(std::shared_ptr<const Program> program,
                                 const ExecutorOptions& options) {
    return *Executor::Create(std::move(program), *device_, constants_, options);
  }
  // kElements floats in the Device's memory, `misplaced` bytes after an aligned address.
  std::shared_ptr<float> OnDevice(float value, int64_t misplaced = 0) {
    const auto memory = *device_->Allocate(kBytes + misplaced, Space::kDevice);
    const std::shared_ptr<float> floats(memory, reinterpret_cast<float*>(memory.get() + misplaced));
    std::fill_n(floats.get(), kElements, value);
    return floats;
  }

  const std::unique_ptr<Device> device_ =
      MakeCpuDevice({.interleave_seed = 1, .poison = true, .like_a_gpu = true});
  ConstantStore constants_{*device_};
};

TEST_F(GpuLikeTest, StagesWhatTheDeviceDoesNotRead) {
  const Chain chain;
  const auto executor = Make(chain.program, {});
  EXPECT_EQ(executor->staging_bytes(), 0);
  for (int run = 0; run < 3; ++run) {
    const Floats x(kElements, static_cast<float>(run));
    Floats y(kElements);
    ASSERT_TRUE(executor->Run({x.data()}, {y.data()}).ok());
    EXPECT_EQ(y, Floats(kElements, 3.0f * static_cast<float>(run)));
  }
  EXPECT_EQ(executor->staging_bytes(), 2 * kBytes);  // on the device, both ways
  EXPECT_EQ(StagingBytes(chain.program->graph), 4 * kBytes);
}

TEST_F(GpuLikeTest, ReadsAndWritesDeviceMemoryInPlace) {
  const Chain chain;
  const auto executor = Make(chain.program, {});
  const auto x = OnDevice(2), y = OnDevice(0);
  ASSERT_TRUE(executor->Run({x.get()}, {y.get()}).ok());
  EXPECT_EQ(y.get()[kElements - 1], 6);
  EXPECT_EQ(executor->staging_bytes(), 0);
}

TEST_F(GpuLikeTest, CopiesDeviceMemoryThatIsNotAlignedForKernels) {
  const Chain chain;
  const auto executor = Make(chain.program, {});
  const auto x = OnDevice(2, /*misplaced=*/4), y = OnDevice(0);
  ASSERT_TRUE(executor->Run({x.get()}, {y.get()}).ok());
  EXPECT_EQ(y.get()[0], 6);
  EXPECT_EQ(executor->staging_bytes(), kBytes);
}

TEST_F(GpuLikeTest, RecordsAtTheSecondRunAndReplays) {
  for (const int streams : {1, 4}) {
    const auto executor = Make(Branches(streams), {.capture = true});
    for (int run = 0; run < 5; ++run) {
      EXPECT_EQ(executor->is_captured(), run >= 2);
      Floats x = Inputs(), total(kElements), last(kElements);
      for (float& v : x) v += static_cast<float>(run);  // other values at other addresses
      ASSERT_TRUE(executor->Run({x.data()}, {total.data(), last.data()}).ok());
      EXPECT_TRUE(IsRight(x, total, last)) << "run " << run;
    }
    EXPECT_EQ(executor->capture_note(), "");
  }
}

// In every order, copies in come before the work of all streams, and copies out after it.
TEST(GpuLikeOrderTest, CopiesWaitForEveryStream) {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    const auto device =
        MakeCpuDevice({.interleave_seed = seed, .poison = true, .like_a_gpu = true});
    ConstantStore constants(*device);
    for (const bool capture : {false, true}) {
      const auto executor =
          *Executor::Create(Branches(4), *device, constants, {.capture = capture});
      for (int run = 0; run < 3; ++run) {
        const Floats x = Inputs();
        Floats total(kElements), last(kElements);
        ASSERT_TRUE(executor->Run({x.data()}, {total.data(), last.data()}).ok());
        EXPECT_TRUE(IsRight(x, total, last)) << "seed " << seed << " run " << run;
      }
    }
  }
}

TEST(GpuLikeOrderTest, StreamsThatReadAnInputWaitForItsCopy) {
  ProgramMaker fork;
  const int x = fork.Input();
  fork.Output(fork.Add(Sum, {fork.Add(Times(2), {x}), fork.Add(Times(3), {x})}));
  const std::shared_ptr<const Program> program = std::move(fork).Make(2);
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    const auto device =
        MakeCpuDevice({.interleave_seed = seed, .poison = true, .like_a_gpu = true});
    ConstantStore constants(*device);
    const auto executor = *Executor::Create(program, *device, constants);
    for (const float value : {1.0f, 2.0f, 3.0f}) {
      const Floats in(kElements, value);
      Floats out(kElements);
      ASSERT_TRUE(executor->Run({in.data()}, {out.data()}).ok());
      EXPECT_EQ(out, Floats(kElements, 5 * value)) << "seed " << seed;
    }
  }
}

TEST_F(GpuLikeTest, LaunchesNothingWhenItReplays) {
  const Chain chain;
  const auto executor = Make(chain.program, {.capture = true});
  const Floats x(kElements, 1);
  Floats y(kElements);
  for (int run = 0; run < 4; ++run) ASSERT_TRUE(executor->Run({x.data()}, {y.data()}).ok());
  EXPECT_EQ(chain.faulty->launches, 4);  // each Run once, the recording itself does not run
}

TEST_F(GpuLikeTest, CopiesDeviceMemoryToTheAddressesOfTheRecording) {
  const Chain chain;
  const auto executor = Make(chain.program, {.capture = true});
  for (int run = 0; run < 4; ++run) {
    const auto x = OnDevice(static_cast<float>(run)), y = OnDevice(0);
    ASSERT_TRUE(executor->Run({x.get()}, {y.get()}).ok());
    EXPECT_EQ(y.get()[0], 3 * run);
  }
  EXPECT_EQ(executor->staging_bytes(), 2 * kBytes);  // nothing of it pinned
}

TEST_F(GpuLikeTest, FixedPointersEnterTheRecording) {
  const Chain chain;
  const auto executor = Make(chain.program, {.capture = true, .fixed_pointers = true});
  const auto x = OnDevice(0), y = OnDevice(0);
  for (int run = 0; run < 4; ++run) {
    std::fill_n(x.get(), kElements, static_cast<float>(run));
    ASSERT_TRUE(executor->Run({x.get()}, {y.get()}).ok());
    EXPECT_EQ(y.get()[0], 3 * run);
  }
  EXPECT_TRUE(executor->is_captured());
  EXPECT_EQ(executor->staging_bytes(), 0);
}

TEST_F(GpuLikeTest, ReportsTheFaultOfAStepAndStaysUsable) {
  const Chain chain;
  chain.program->partitions[1].chosen.nodes = {chain.program->graph.TopologicalOrder()[0]};
  for (const bool capture : {false, true}) {
    const auto executor = Make(chain.program, {.capture = capture});
    const Floats x(kElements, 1);
    for (const uint64_t fault : {0, 0, 9, 0}) {
      chain.faulty->fault = fault;
      Floats y(kElements);
      const absl::Status status = executor->Run({x.data()}, {y.data()});
      EXPECT_EQ(status.ok(), fault == 0);
      if (fault == 0) {
        EXPECT_EQ(y[0], 3);
        continue;
      }
      EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
      EXPECT_TRUE(absl::EndsWith(status.message(), " (Written): index 9 is out of range"))
          << status;
    }
  }
}

TEST_F(GpuLikeTest, RunsOnACallersStreamWithoutWaiting) {
  const Chain chain;
  const auto executor = Make(chain.program, {.capture = true});
  const auto x = OnDevice(2), y = OnDevice(0);
  for (int run = 0; run < 3; ++run) {
    ASSERT_TRUE(executor->Run({x.get()}, {y.get()}, &some_stream).ok());
  }
  EXPECT_EQ(chain.faulty->launches, 2);  // poisoning waits for the Run before
  ASSERT_TRUE(executor->Synchronize().ok());
  EXPECT_EQ(chain.faulty->launches, 3);
  EXPECT_EQ(y.get()[0], 6);
}

TEST_F(GpuLikeTest, WaitsOnACallersStreamForHostMemory) {
  const Chain chain;
  const auto executor = Make(chain.program, {});
  const auto x = OnDevice(2);
  Floats y(kElements);
  ASSERT_TRUE(executor->Run({x.get()}, {y.data()}, &some_stream).ok());
  EXPECT_EQ(y[0], 6);
}

TEST_F(GpuLikeTest, AFaultOfARunThatWasNotWaitedForIsSaidLater) {
  const auto device = MakeCpuDevice({.like_a_gpu = true});
  ConstantStore constants(*device);
  const Chain chain;
  chain.faulty->fault = 7;
  const auto executor = *Executor::Create(chain.program, *device, constants);
  const auto x = *device->Allocate(kBytes, Space::kDevice);
  const auto y = *device->Allocate(kBytes, Space::kDevice);
  std::memset(x.get(), 0, kBytes);
  ASSERT_TRUE(executor->Run({x.get()}, {y.get()}, &some_stream).ok());
  EXPECT_EQ(executor->Synchronize().message(), "index 7 is out of range");
  EXPECT_TRUE(executor->Synchronize().ok());
}

TEST_F(GpuLikeTest, AFailedRunLeavesTheExecutorUsable) {
  class Failing final : public FormulaStep {
   public:
    Failing() : FormulaStep(Times(1), {}) {}
    absl::Status Launch(const LaunchArgs& args) const override {
      return fails ? absl::InternalError("launch failed") : FormulaStep::Launch(args);
    }
    bool fails = false;
  };
  const auto step = std::make_shared<Failing>();
  ProgramMaker maker;
  const int x = maker.Input();
  maker.Output(maker.Add(step, {x}));
  const auto executor = Make(std::move(maker).Make(1), {.capture = true});
  const Floats in(kElements, 5);
  for (const bool fails : {true, false, true, false, false}) {
    step->fails = fails;
    Floats out(kElements);
    EXPECT_EQ(executor->Run({in.data()}, {out.data()}).ok(), !fails);
    EXPECT_EQ(out, fails ? Floats(kElements) : in);
  }
  EXPECT_TRUE(executor->is_captured());
}

TEST_F(GpuLikeTest, TimesReplays) {
  const Chain chain;
  const auto x = OnDevice(2), y = OnDevice(0);
  for (const bool capture : {true, false}) {
    const auto executor = Make(chain.program, {.capture = capture, .fixed_pointers = true});
    const std::vector<double> ms = *executor->Time({x.get()}, {y.get()}, 5);
    EXPECT_EQ(ms.size(), 5u);
    for (const double t : ms) EXPECT_GE(t, 0);
    EXPECT_EQ(executor->is_captured(), capture);
  }
}

TEST(CpuExecutorTest, ARunThatWouldWaitToCaptureLeavesItToALaterOne) {
  for (const bool fixed_pointers : {false, true}) {
    WatchedDevice device;
    device.is_busy = true;
    ConstantStore constants(device);
    const auto executor = *Executor::Create(Branches(1), device, constants,
                                            {.capture = true, .fixed_pointers = fixed_pointers});
    const Floats x = Inputs();
    const auto run = [&] {
      Floats total(kElements), last(kElements);
      ASSERT_TRUE(executor->Run({x.data()}, {total.data(), last.data()}).ok());
      EXPECT_TRUE(IsRight(x, total, last));
    };
    for (int i = 0; i < 3; ++i) run();
    // The device takes no capture: the note tells that one was tried.
    EXPECT_EQ(executor->capture_note().empty(), !fixed_pointers);
    device.is_busy = false;
    device.gets_busy = true;
    run();
    EXPECT_EQ(executor->capture_note().empty(), !fixed_pointers);
    device.gets_busy = false;
    run();
    EXPECT_FALSE(executor->capture_note().empty());
  }
}

TEST(CpuExecutorTest, ReportsWhyNothingWasCaptured) {
  const auto device = MakeCpuDevice();
  ConstantStore constants(*device);
  const auto executor = *Executor::Create(Branches(1), *device, constants, {.capture = true});
  const Floats x = Inputs();
  for (int run = 0; run < 3; ++run) {
    Floats total(kElements), last(kElements);
    ASSERT_TRUE(executor->Run({x.data()}, {total.data(), last.data()}).ok());
    EXPECT_TRUE(IsRight(x, total, last));
  }
  EXPECT_FALSE(executor->is_captured());
  EXPECT_TRUE(absl::StrContains(executor->capture_note(), "captures nothing"));
  Floats total(kElements), last(kElements);
  EXPECT_EQ(executor->Run({x.data()}, {total.data(), last.data()}, &some_stream).message(),
            "the CPU device has no streams");
}

// Steps in host memory are launched by a call of their own; a Transfer there is done by the device.
TEST(HostStepTest, GoThroughLaunchOnHost) {
  ProgramMaker maker;
  const int x = maker.Input();
  const int to_host = maker.Add(Times(1), {x});
  const int works = maker.Add(Times(2), {to_host});
  maker.Output(maker.Add(Times(1), {works}));
  const auto program = std::move(maker).Make(1);
  program->host_memory = program->memory;
  const Placement device_side = {Format::RowMajor({kElements})};
  const Placement host_side = {device_side.format, Space::kHost};
  const auto place = [&](int step, const Placement& in, const Placement& out) {
    Candidate& chosen = program->partitions[step].chosen;
    chosen.inputs = {in};
    chosen.outputs = {out};
    program->steps[step].space = out.space;
    if (program->steps[step].in[0].kind == Operand::Kind::kArena) {
      program->steps[step].in[0].space = in.space;
    }
    if (program->steps[step].out[0].kind == Operand::Kind::kArena) {
      program->steps[step].out[0].space = out.space;
    }
  };
  place(to_host, device_side, host_side);
  place(works, host_side, host_side);
  place(works + 1, host_side, device_side);
  WatchedDevice device;
  ConstantStore constants(device);
  const auto executor = *Executor::Create(program, device, constants);
  const Floats in = Inputs();
  Floats out(kElements);
  ASSERT_TRUE(executor->Run({in.data()}, {out.data()}).ok());
  EXPECT_EQ(out[5], 2 * in[5]);
  EXPECT_EQ(device.notes, (Notes{"launch", "launch on host", "launch"}));
}

}  // namespace
}  // namespace onnx_cudnn
