// Sessions on the GPU: callers' memory and streams, recorded and launched, many Runs, threads.
#include "onnx_cudnn/session.h"

#include <array>
#include <cstring>
#include <set>
#include <string>
#include <thread>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "runtime/import/onnx_writer.h"
#include "tests/gpu/gpu_test.h"
#include "tests/support/cached_decoder.h"
#include "tests/support/graph_text.h"
#include "tests/support/networks.h"
#include "tools/common/elements.h"
#include "tools/common/inputs.h"

namespace onnx_cudnn {
namespace {

// cudaStreamLegacy: a stream that exists without a CUDA call.
void* LegacyStream() { return reinterpret_cast<void*>(uintptr_t{1}); }

constexpr int kManyRuns = 1000;
constexpr int kThreads = 4;
constexpr int kRunsOfEachNetwork = 200;

// A small ResNet-18, or the model in ONNX_CUDNN_MODEL=FILE. Tests that do not choose a precision
// use tf32, or f16 with ONNX_CUDNN_PRECISION=fp16.
class GpuSessionTest : public testing::Test {
 protected:
  void SetUp() override {
    if (!GpuUnderTest().ok()) {
      GTEST_SKIP() << "needs a CUDA device: " << GpuUnderTest().status().message();
    }
    if (IsEmulated()) GTEST_SKIP() << "needs a CUDA device: the emulation has no Session";
  }

  static bool IsHalf() { return Variable("ONNX_CUDNN_PRECISION") == "fp16"; }
  static Session Load(SessionOptions options) {
    options.device = DeviceChoice::kCuda;
    if (IsHalf() && options.precision == PrecisionChoice::kAuto) {
      options.precision = PrecisionChoice::kFp16;
    }
    if (const std::string path = Variable("ONNX_CUDNN_MODEL"); !path.empty()) {
      return Session::Load(path, options).value();
    }
    const Graph graph = ResNet18({.batch = 2, .image = 96, .channel_share = 4});
    return Session::LoadBytes(WriteModel(graph).value(), options).value();
  }

  // Inputs for a Session, in host memory.
  static std::vector<ModelInput> InputsFor(const Session& session) {
    absl::StatusOr<std::vector<ModelInput>> inputs = MakeInputs(session.inputs(), {});
    EXPECT_TRUE(inputs.ok()) << inputs.status();
    return *std::move(inputs);
  }
  static std::vector<NamedView> ViewsOf(const std::vector<ModelInput>& inputs) {
    std::vector<NamedView> views;
    for (const ModelInput& input : inputs) views.emplace_back(input.name, ViewOf(input.tensor));
    return views;
  }
  static std::string BytesOf(const std::vector<Tensor>& tensors) {
    std::string bytes;
    for (const Tensor& t : tensors) bytes.append(static_cast<const char*>(t.raw()), t.bytes());
    return bytes;
  }
};

// Inputs and outputs of a Session in device memory.
struct Resident {
  std::vector<Tensor> inputs, outputs;
  std::vector<NamedView> in, out;

  Resident(const Session& session, const std::vector<ModelInput>& from) {
    std::vector<NamedView> shapes;
    for (const ModelInput& input : from) {
      inputs.push_back(session.ToDevice(ViewOf(input.tensor)).value());
      in.emplace_back(input.name, inputs.back().view());
      shapes.emplace_back(input.name, ViewOf(input.tensor));
    }
    const std::vector<ValueInfo> infos = session.OutputsFor(shapes).value();
    for (const ValueInfo& info : infos) {
      std::vector<int64_t> dims;
      for (const ValueInfo::Extent& extent : info.dims) dims.push_back(extent.value);
      const Tensor host = Tensor::Allocate(info.dtype, dims).value();
      std::memset(host.raw(), 0, host.bytes());
      outputs.push_back(session.ToDevice(host.view()).value());
      out.emplace_back(outputs.back().view());
    }
  }
  std::string Bytes(const Session& session) const {
    std::string bytes;
    for (const Tensor& output : outputs) {
      const Tensor host = session.ToHost(output).value();
      bytes.append(static_cast<const char*>(host.raw()), host.bytes());
    }
    return bytes;
  }
};

TEST_F(GpuSessionTest, ReportsItsDevice) {
  const Session session = Load({});
  EXPECT_EQ(session.device(), "cuda");
  EXPECT_EQ(session.precision(), IsHalf() ? PrecisionChoice::kFp16 : PrecisionChoice::kTf32);
  EXPECT_NE(session.device_facts().driver, "");
  EXPECT_NE(session.device_facts().cuda, "");
  EXPECT_NE(session.device_facts().cublaslt, "");
}

TEST_F(GpuSessionTest, GivesWhatTheCpuDeviceGives) {
  const Session gpu = Load({.precision = PrecisionChoice::kStrict});
  const std::vector<ModelInput> inputs = InputsFor(gpu);
  SessionOptions on_cpu;
  const std::vector<Tensor> found = gpu.Run(ViewsOf(inputs)).value();
  const std::string path = Variable("ONNX_CUDNN_MODEL");
  on_cpu.device = DeviceChoice::kCpu;
  const Graph graph = ResNet18({.batch = 2, .image = 96, .channel_share = 4});
  const Session cpu = path.empty() ? Session::LoadBytes(WriteModel(graph).value(), on_cpu).value()
                                   : Session::Load(path, on_cpu).value();
  const std::vector<Tensor> expected = cpu.Run(ViewsOf(inputs)).value();
  for (size_t i = 0; i < expected.size(); ++i) {
    const absl::StatusOr<Difference> difference =
        Compare(HostTensorOf(found[i]), HostTensorOf(expected[i]), 1e-4, 1e-5);
    ASSERT_TRUE(difference.ok()) << difference.status();
    EXPECT_TRUE(difference->ok()) << "largest difference " << difference->largest << " of "
                                  << difference->largest_expected;
  }
}

TEST_F(GpuSessionTest, RunsOverDeviceMemoryBoundAndNot) {
  for (const bool cuda_graph : {true, false}) {
    const Session session = Load({.cuda_graph = cuda_graph});
    const std::vector<ModelInput> inputs = InputsFor(session);
    const std::string expected = BytesOf(session.Run(ViewsOf(inputs)).value());
    const Resident resident(session, inputs);
    for (int run = 0; run < 3; ++run) {
      ASSERT_TRUE(session.Run(resident.in, resident.out, RunOptions{}).ok());
      EXPECT_EQ(resident.Bytes(session), expected);
    }
    Binding binding = session.Bind(resident.in, resident.out).value();
    for (int run = 0; run < 3; ++run) {
      ASSERT_TRUE(binding.Run().ok());
      EXPECT_EQ(resident.Bytes(session), expected);
    }
    EXPECT_EQ(binding.graph_note(), "");
    EXPECT_EQ(binding.TimeRuns(10).value().size(), 10u);
  }
}

TEST_F(GpuSessionTest, RunsInOrderOnACallersStream) {
  const Session session = Load({});
  const std::vector<ModelInput> inputs = InputsFor(session);
  const std::string expected = BytesOf(session.Run(ViewsOf(inputs)).value());
  const Resident resident(session, inputs);
  Binding binding = session.Bind(resident.in, resident.out).value();
  for (int run = 0; run < 200; ++run) {
    ASSERT_TRUE(binding.Run({.stream = LegacyStream()}).ok());
  }
  ASSERT_TRUE(binding.Run().ok());
  EXPECT_EQ(resident.Bytes(session), expected);
  ASSERT_TRUE(session.Run(ViewsOf(inputs), {.stream = LegacyStream()}).ok());
}

// Equal hashes: captured and launched, one and four threads.
TEST_F(GpuSessionTest, AThousandRunsGiveEqualBits) {
  std::set<size_t> all;
  for (const bool cuda_graph : {true, false}) {
    const Session session = Load({.cuda_graph = cuda_graph});
    const std::vector<ModelInput> inputs = InputsFor(session);
    int64_t weight_bytes = 0;
    for (const int threads : {1, kThreads}) {
      SCOPED_TRACE(absl::StrCat(cuda_graph ? "recorded" : "launched", ", threads: ", threads));
      std::vector<std::set<size_t>> of_threads(threads);
      std::vector<std::thread> running;
      for (std::set<size_t>& mine : of_threads) {
        running.emplace_back([&] {
          for (int run = 0; run < kManyRuns / threads; ++run) {
            mine.insert(std::hash<std::string>()(BytesOf(session.Run(ViewsOf(inputs)).value())));
          }
        });
      }
      for (std::thread& thread : running) thread.join();
      std::set<size_t> hashes;
      for (const std::set<size_t>& mine : of_threads) hashes.insert(mine.begin(), mine.end());
      EXPECT_EQ(hashes.size(), 1u);
      if (threads == 1) weight_bytes = session.stats().weight_bytes;
      EXPECT_EQ(session.stats().weight_bytes, weight_bytes);  // Runs at once share them
      all.insert(hashes.begin(), hashes.end());
    }
  }
  EXPECT_EQ(all.size(), 1u);
}

// Our kernels and libraries' kernels in every order that networks have: a launch that begins too
// early reads the data of the preceding Run, or other data if the arena is shared. DenseNet has
// Concats in place and kernels with a pitch.
TEST_F(GpuSessionTest, EveryNetworkGivesEqualBits) {
  int runs = kRunsOfEachNetwork;  // with a graph, and as many without
  if (!absl::SimpleAtoi(Variable("ONNX_CUDNN_NETWORK_RUNS"), &runs)) runs = kRunsOfEachNetwork;
  for (const NamedNetwork& network : AllNetworks()) {
    const std::string bytes = WriteModel(network.make()).value();
    for (const auto precision : {PrecisionChoice::kTf32, PrecisionChoice::kFp16}) {
      std::set<size_t> hashes;
      for (const bool cuda_graph : {true, false}) {
        const Session session = Session::LoadBytes(bytes, {.device = DeviceChoice::kCuda,
                                                           .precision = precision,
                                                           .cuda_graph = cuda_graph})
                                    .value();
        const std::vector<ModelInput> inputs = InputsFor(session);
        for (int run = 0; run < runs; ++run) {
          auto outputs = session.Run(ViewsOf(inputs));
          if (!outputs.ok()) ADD_FAILURE() << network.name << ": " << outputs.error().message;
          if (!outputs.ok()) break;
          hashes.insert(std::hash<std::string>()(BytesOf(outputs.value())));
        }
      }
      EXPECT_EQ(hashes.size(), 1u) << network.name << ", precision "
                                   << (precision == PrecisionChoice::kTf32 ? "tf32" : "fp16");
    }
  }
}

// The error is that of the CPU device, and the next Run works.
TEST_F(GpuSessionTest, AnIndexOutOfRangeIsAnErrorWithItsNode) {
  const std::string bytes =
      ModelBytesFromText(
          "g (float[4] x, int64[1] i) => (float[1] y) { y = Gather<axis = 0>(x, i) }")
          .value();
  const Session gpu = Session::LoadBytes(bytes, {.device = DeviceChoice::kCuda}).value();
  const Session cpu = Session::LoadBytes(bytes, {.device = DeviceChoice::kCpu}).value();
  const std::array<float, 4> x = {1, 2, 3, 4};
  for (const int64_t index : {1, 9, 2, -5, 3}) {
    const std::vector<NamedView> inputs = {View(x.data(), {4}), View(&index, {1})};
    const auto expected = cpu.Run(inputs), found = gpu.Run(inputs);
    ASSERT_EQ(found.ok(), expected.ok()) << index;
    if (!expected.ok()) {
      EXPECT_EQ(found.error().message, expected.error().message);
    }
  }
}

TEST_F(GpuSessionTest, EventsWithinTheGraphTimeEachStep) {
  const Session session = Load({});
  const std::vector<ModelInput> inputs = InputsFor(session);
  auto profiled = session.Profile(ViewsOf(inputs), {.runs = 10});
  ASSERT_TRUE(profiled.ok()) << profiled.error().message;
  const RunProfile& profile = profiled.value();
  EXPECT_TRUE(profile.is_captured) << profile.graph_note;
  EXPECT_GT(profile.bytes_in, 0);
  for (const ProfiledStep& step : profile.steps) EXPECT_GT(step.us, 0) << step.nodes[0];
  for (const ProfiledRun& run : profile.runs) {
    for (const ProfiledSpan& step : run.steps) {
      EXPECT_GE(step.begin_us + 1, run.copies_in.us);
      EXPECT_LE(step.begin_us + step.us, run.copies_out.begin_us + 1);
    }
  }
  // Two streams may run two steps at once; without marks launches overlap.
  EXPECT_GT(2 * profile.steps_us, profile.run_us);
  EXPECT_LT(profile.steps_us, 20 * profile.run_us);
}

TEST_F(GpuSessionTest, MaxMemoryIsALimit) {
  Session session = Load({.max_memory_bytes = 1 << 16});
  const auto outputs = session.Run(ViewsOf(InputsFor(session)));
  ASSERT_FALSE(outputs.ok());
  EXPECT_EQ(outputs.error().code, ErrorCode::kResourceExhausted);
}

// The second GPU of this host runs what the first one runs, at the same time and from its own
// memory.
TEST_F(GpuSessionTest, EveryGpuOfTheHostGivesTheSame) {
  const Session session = Load({.devices = {kAllDevices}});
  const size_t count = session.stats().devices.size();
  if (count < 2) GTEST_SKIP() << "needs two GPUs, found one";
  const std::vector<ModelInput> inputs = InputsFor(session);
  const std::string expected = BytesOf(Load({}).Run(ViewsOf(inputs)).value());
  std::vector<std::thread> callers;
  for (int i = 0; i < kThreads * static_cast<int>(count); ++i) {
    callers.emplace_back([&] {
      for (int run = 0; run < kRunsOfEachNetwork; ++run) {
        Result<std::vector<Tensor>> outputs = session.Run(ViewsOf(inputs));
        ASSERT_TRUE(outputs.ok()) << outputs.error().message;
        ASSERT_EQ(BytesOf(outputs.value()), expected);
      }
    });
  }
  for (std::thread& caller : callers) caller.join();
  const std::vector<DeviceStats> devices = session.stats().devices;
  const int64_t runs = kThreads * static_cast<int64_t>(count) * kRunsOfEachNetwork;
  for (const DeviceStats& device : devices) {
    EXPECT_GT(device.runs, runs / static_cast<int64_t>(count) / 2) << device.device.ordinal;
    std::vector<Tensor> there;
    std::vector<NamedView> views;
    for (const ModelInput& input : inputs) {
      there.push_back(session.ToDevice(ViewOf(input.tensor), device.device).value());
      views.emplace_back(input.name, there.back().view());
    }
    EXPECT_EQ(BytesOf(session.Run(views).value()), expected) << device.device.ordinal;
  }
  for (size_t i = 0; i < count; ++i) {
    EXPECT_EQ(session.stats().devices[i].runs, devices[i].runs + 1) << i;
  }
}

// Runs a model with parts of its own five times here; the outputs are those of the CPU device, and
// what the second Run has captured is replayed.
//   between  Nodes between Programs
void ExpectPartsAsOnCpu(std::string_view text, const std::vector<NamedView>& inputs,
                        int64_t between) {
  const std::string bytes = ModelBytesFromText(text).value();
  const Session gpu = Session::LoadBytes(bytes, {.device = DeviceChoice::kCuda,
                                                 .precision = PrecisionChoice::kStrict})
                          .value();
  const Session cpu = Session::LoadBytes(bytes, {.device = DeviceChoice::kCpu}).value();
  const std::vector<Tensor> expected = cpu.Run(inputs).value();
  int64_t captures = 0;
  for (int run = 1; run <= 5; ++run) {
    Result<std::vector<Tensor>> found = gpu.Run(inputs);
    ASSERT_TRUE(found.ok()) << found.error().message;
    for (size_t i = 0; i < expected.size(); ++i) {
      const absl::StatusOr<Difference> difference =
          Compare(HostTensorOf(found.value()[i]), HostTensorOf(expected[i]), 1e-4, 1e-5);
      ASSERT_TRUE(difference.ok()) << difference.status();
      EXPECT_TRUE(difference->ok())
          << "largest difference " << difference->largest << " of " << difference->largest_expected;
    }
    const SessionStats stats = gpu.stats();
    EXPECT_EQ(stats.nodes_between, between);
    EXPECT_GT(stats.segments, 1);
    if (run == 2) captures = stats.graph_captures;
  }
  EXPECT_GT(captures, 0);
  EXPECT_EQ(gpu.stats().graph_captures, captures);
}

// Elements from -1 to 3, times `sign`.
std::vector<float> SmallNumbers(int64_t count, float sign = 1) {
  std::vector<float> numbers(count);
  for (int64_t i = 0; i < count; ++i) numbers[i] = sign * static_cast<float>(i % 5 - 1);
  return numbers;
}

TEST_F(GpuSessionTest, ALoopCountsWhatIsComputed) {
  const std::vector<float> x = SmallNumbers(int64_t{64} * 64);
  ExpectPartsAsOnCpu(R"(
      g (float[N,64] x) => (float[N,64] last, float[K,N,64] all) <bool yes = {1}> {
        largest = ReduceMax<keepdims = 0>(x)
        count = Cast<to = 7>(largest)
        last, all = Loop(count, yes, x) <body = b (int64 i, bool go, float[N,64] s)
          => (bool on, float[N,64] t, float[N,64] k) {
            on = Identity(go) a = Add(s, x) t = Relu(a) k = Neg(a) }> })",
                     {View(x.data(), {64, 64})}, /*between=*/1);
}

TEST_F(GpuSessionTest, TheTakenBranchIsAProgram) {
  for (const float sign : {1.0F, -1.0F}) {
    const std::vector<float> x = SmallNumbers(int64_t{256} * 256, sign);
    ExpectPartsAsOnCpu(R"(
        g (float[256,256] x) => (float[256,256] y) <float zero = {0}> {
          t = Relu(x)
          s = ReduceSum<keepdims = 0>(x)
          c = Greater(s, zero)
          z = If(c) <then_branch = a () => (p) { p = MatMul(t, x) },
                     else_branch = b () => (q) { m = Add(t, x) q = MatMul(m, x) }>
          y = Neg(z) })",
                       {View(x.data(), {256, 256})}, /*between=*/1);
  }
}

TEST_F(GpuSessionTest, FewProgramsServeACacheThatGrows) {
  const std::string bytes = ModelBytesFromText(kCachedDecoder).value();
  const Session cpu = Session::LoadBytes(bytes, {.device = DeviceChoice::kCpu}).value();
  SessionOptions options;
  options.device = DeviceChoice::kCuda;
  options.precision = PrecisionChoice::kStrict;
  options.shape_buckets = {"all"};
  const Session gpu = Session::LoadBytes(bytes, options).value();
  ExpectDecodesAs(cpu, gpu);
  EXPECT_EQ(gpu.stats().bucket_note, "");
  EXPECT_EQ(gpu.stats().programs_built, kDecoderPrograms);
}

TEST_F(GpuSessionTest, IndicesAreFoundWithinABound) {
  const std::vector<float> x = SmallNumbers(int64_t{64} * 80);
  ExpectPartsAsOnCpu(R"(
      g (float[H,W] x) => (float[N] y) {
        z = Relu(x)
        at = NonZero(z)
        rows = Transpose<perm = [1, 0]>(at)
        y = GatherND(z, rows) })",
                     {View(x.data(), {64, 80})}, /*between=*/0);
}

}  // namespace
}  // namespace onnx_cudnn
