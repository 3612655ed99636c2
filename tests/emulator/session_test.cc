// Whole Sessions on a GPU that is not there.
#include "onnx_cudnn/session.h"

#include <gtest/gtest.h>

#include <cmath>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "runtime/kernels/common/kernel.h"
#include "tests/emulator/emulated_gpu.h"
#include "tests/support/graph_text.h"
#include "tests/support/networks.h"
#include "tests/support/proposed.h"
#include "tests/support/session_maker.h"

namespace onnx_cudnn {
namespace {

void Skip(const cudaLaunchConfig_t&, const void*, const std::byte*) {}

class EmulatedSessionTest : public ::testing::Test {
 protected:
  static Session Make(Graph graph, const SessionOptions& options) {
    absl::StatusOr<Session> session = SessionMaker::Make(std::move(graph), options);
    EXPECT_TRUE(session.ok()) << session.status();
    return *std::move(session);
  }

  // Values of both signs.
  static std::vector<float> Image(int64_t elements) {
    std::vector<float> values(elements);
    for (int64_t i = 0; i < elements; ++i) {
      values[i] = static_cast<float>(i * 37 % 64 - 32) / 32;
    }
    return values;
  }

  static std::vector<float> RunOnce(const Session& session, const std::vector<float>& image,
                                    const std::vector<int64_t>& dims) {
    auto outputs = session.Run({View(image.data(), dims)});
    EXPECT_TRUE(outputs.ok()) << outputs.error().message;
    const Tensor& y = outputs.value()[0];
    return {y.data<float>(), y.data<float>() + y.elements()};
  }

  // Eager, recorded and replayed runs equal each other, and the CPU device's within `tolerance` of
  // the largest magnitude.
  static void ExpectRunsLikeTheCpu(Graph (*make)(), PrecisionChoice precision, double tolerance) {
    const Graph graph = make();
    const Dims dims = graph.inputs()[0]->dims();
    const std::vector<int64_t> shape(dims.begin(), dims.end());
    const std::vector<float> image = Image(ElementsOf(dims));
    const std::vector<float> expected =
        RunOnce(Make(make(), {.device = DeviceChoice::kCpu}), image, shape);
    FakeCuda cuda(EmulatedGpu());
    {
      const Session session = Make(make(), {.device = DeviceChoice::kCuda,
                                            .precision = precision,
                                            .partitioner = PartitionerChoice::kCost});
      const std::vector<float> first = RunOnce(session, image, shape);
      for (int run = 0; run < 3; ++run) EXPECT_EQ(RunOnce(session, image, shape), first);
      EXPECT_GT(cuda.launches(), 20);
      double largest = 0, worst = 0;
      ASSERT_EQ(first.size(), expected.size());
      for (size_t i = 0; i < first.size(); ++i) {
        largest = std::max(largest, std::abs(double{expected[i]}));
        worst = std::max(worst, std::abs(double{first[i]} - expected[i]));
      }
      EXPECT_LE(worst, tolerance * largest);
    }
    EXPECT_EQ(cuda.held(), 0);
  }
};

Graph SmallResNet18() { return ResNet18({.image = 96, .channel_share = 8}); }
// A layer adds eight channels, which lie in the tensor that the block grows in.
Graph SmallDenseNet() { return DenseNet({.image = 96, .channel_share = 4}); }

TEST_F(EmulatedSessionTest, ResNet18InHalfs) {
  ExpectRunsLikeTheCpu(SmallResNet18, PrecisionChoice::kFp16, 5e-3);
}

TEST_F(EmulatedSessionTest, ResNet18InFloats) {
  ExpectRunsLikeTheCpu(SmallResNet18, PrecisionChoice::kStrict, 1e-5);
}

TEST_F(EmulatedSessionTest, DenseNetInHalfs) {
  ExpectRunsLikeTheCpu(SmallDenseNet, PrecisionChoice::kFp16, 5e-3);
}

struct Launches {
  int all = 0, with_clusters = 0;
};

// As EmulatedGpu, of 9.0, for a build with code for `code_capability`.
FakeCudaOptions WithCodeFor(int code_capability, Launches& launches) {
  FakeCudaOptions options = EmulatedGpu();
  options.code_capability = code_capability;
  options.run_kernel = [&launches, run = options.run_kernel](const cudaLaunchConfig_t& config,
                                                             const void* function,
                                                             const std::byte* parameter) {
    ++launches.all;
    for (unsigned i = 0; i < config.numAttrs; ++i) {
      const bool is_cluster = config.attrs[i].id == cudaLaunchAttributeClusterDimension;
      launches.with_clusters += is_cluster ? 1 : 0;
    }
    run(config, function, parameter);
  };
  return options;
}

// Whether a kernel of ours that needs 9.0 runs one of the partitions, all of which are right.
bool RunsHopperKernels(const Session& session, const std::vector<float>& image,
                       const std::vector<int64_t>& dims) {
  auto partitions = session.CheckPartitions({View(image.data(), dims)});
  EXPECT_TRUE(partitions.ok()) << partitions.error().message;
  bool found = false;
  for (const CheckedPartition& partition : partitions.value()) {
    EXPECT_TRUE(partition.ok) << partition.ops << ": " << partition.note;
    for (const Kernel& kernel : AllKernels()) {
      const bool is_it = absl::StartsWith(partition.variant, kernel.name) &&
                         partition.engine == "kernel" && kernel.needs.compute_capability == 90;
      found = found || is_it;
    }
  }
  return found;
}

// PTX for 8.0 lacks what is guarded by a later architecture. On a GPU of 9.0 such a build runs
// without it: neither clusters nor tensor maps.
TEST_F(EmulatedSessionTest, ABuildForAnOlderGpuRunsNoHopperKernels) {
  const std::vector<int64_t> dims = {1, 3, 96, 96};
  const std::vector<float> image = Image(3 * 96 * 96);
  const std::vector<float> expected =
      RunOnce(Make(SmallResNet18(), {.device = DeviceChoice::kCpu}), image, dims);
  for (const int code_capability : {90, 80}) {
    SCOPED_TRACE(code_capability);
    Launches launches;
    FakeCudaOptions options = WithCodeFor(code_capability, launches);
    if (code_capability < 90) options.encode_tensor_map = options.encode_im2col = nullptr;
    FakeCuda cuda(options);
    const Session session = Make(SmallResNet18(), {.device = DeviceChoice::kCuda,
                                                   .precision = PrecisionChoice::kFp16,
                                                   .partitioner = PartitionerChoice::kCost});
    EXPECT_EQ(RunsHopperKernels(session, image, dims), code_capability == 90);
    const std::vector<float> found = RunOnce(session, image, dims);
    ASSERT_EQ(found.size(), expected.size());
    for (size_t i = 0; i < found.size(); ++i) EXPECT_NEAR(found[i], expected[i], 0.01) << i;
    EXPECT_GT(launches.all, 0);
    if (code_capability < 90) {
      EXPECT_EQ(launches.with_clusters, 0);
    }
  }
}

int CurrentGpu() {
  int ordinal = -1;
  EXPECT_EQ(Cuda().cudaGetDevice(&ordinal), cudaSuccess);
  return ordinal;
}

// Of two GPUs the Session has the second, and the caller the first, if it `is_used`. After each
// call the caller's is current; one that is not used gets no context.
TEST_F(EmulatedSessionTest, CallsLeaveTheCallersGpuCurrent) {
  const std::string bytes = *ModelBytesFromText("g (float[4] x) => (float[4] y) { y = Relu(x) }");
  const std::vector<float> x = {-1, 2, -3, 4};
  std::vector<float> y(4);
  for (const bool is_used : {true, false}) {
    FakeCudaOptions options = EmulatedGpu();
    options.devices = 2;
    FakeCuda cuda(options);
    if (is_used) {
      ASSERT_EQ(Cuda().cudaSetDevice(0), cudaSuccess);
    }
    const int expected = is_used ? 0 : 1;
    auto session = Session::LoadBytes(bytes, {.device = DeviceChoice::kCuda, .device_ordinal = 1});
    ASSERT_TRUE(session.ok()) << session.error().message;
    EXPECT_EQ(CurrentGpu(), expected);
    const std::vector<NamedView> in = {View(x.data(), {4})}, out = {View(y.data(), {4})};
    EXPECT_TRUE(session.value().Run(in).ok());
    EXPECT_EQ(CurrentGpu(), expected);
    EXPECT_TRUE(session.value().Run(in, out).ok());
    EXPECT_EQ(CurrentGpu(), expected);
    EXPECT_EQ(y, (std::vector<float>{0, 2, 0, 4}));
    auto binding = session.value().Bind(in, out);
    ASSERT_TRUE(binding.ok()) << binding.error().message;
    EXPECT_EQ(CurrentGpu(), expected);
    EXPECT_TRUE(binding.value().Run().ok());
    EXPECT_EQ(CurrentGpu(), expected);
    auto there = session.value().ToDevice(View(x.data(), {4}));
    ASSERT_TRUE(there.ok()) << there.error().message;
    EXPECT_EQ(CurrentGpu(), expected);
    EXPECT_TRUE(session.value().ToHost(there.value()).ok());
    EXPECT_EQ(CurrentGpu(), expected);
  }
}

TEST_F(EmulatedSessionTest, SaysWhichLibrariesAreMissing) {
  FakeCuda cuda(EmulatedGpu());
  const Session session = Make(SmallResNet18(), {.device = DeviceChoice::kCuda});
  EXPECT_TRUE(absl::StrContains(session.device_note(), "cuDNN")) << session.device_note();
}

constexpr std::string_view kPicks = R"(
    g (float[4,2] x, int64[3] i) => (float[3,2] y) { y = Gather<axis = 0>(x, i) })";

TEST_F(EmulatedSessionTest, AnIndexOutOfRangeIsTheCpuDevicesError) {
  const std::vector<float> x(8, 1.0F);
  const std::vector<int64_t> good = {0, 3, -4}, bad = {0, 4, 1};
  const auto error = [&](const Session& session) {
    const auto outputs = session.Run({View(x.data(), {4, 2}), View(bad.data(), {3})});
    return outputs.ok() ? "none" : outputs.error().message;
  };
  const std::string expected = error(Make(GraphFromText(kPicks), {.device = DeviceChoice::kCpu}));
  EXPECT_TRUE(absl::StrContains(expected, "4")) << expected;
  FakeCuda cuda(EmulatedGpu());
  const Session session = Make(GraphFromText(kPicks), {.device = DeviceChoice::kCuda});
  for (int run = 0; run < 3; ++run) {
    EXPECT_EQ(error(session), expected);
    EXPECT_TRUE(session.Run({View(x.data(), {4, 2}), View(good.data(), {3})}).ok());
  }
}

// Boxes picked by their scores, the indices of scores above 0, and those above a limit.
constexpr std::string_view kComputedShapes = R"(
    g (float[1,300,4] boxes, float[1,3,300] scores) => (float[M,4] kept, float[K] high, int64[3,L] at)
    <int64 most = {20}, float overlap = {0.4}, float limit = {0.3}, int64[1] first = {0},
     int64 column = {2}> {
      picked = NonMaxSuppression(boxes, scores, most, overlap, limit)
      index = Gather<axis = 1>(picked, column)
      flat = Squeeze(boxes, first)
      kept = Gather(flat, index)
      positive = Relu(scores)
      at = NonZero(positive)
      is_high = Greater(positive, limit)
      row = Flatten<axis = 0>(is_high)
      flag = Squeeze(row, first)
      high = Compress(positive, flag) })";

TEST_F(EmulatedSessionTest, OutputsOfComputedShapesAreComputedOnTheGpu) {
  const auto run = [](const Session& session, int64_t seed) {
    std::vector<float> boxes(4 * 300), scores(3 * 300);
    for (int64_t i = 0; i < 300; ++i) {
      boxes[4 * i] = static_cast<float>((i * 37 + seed) % 100);
      boxes[4 * i + 1] = static_cast<float>((i * 53 + seed) % 100);
      boxes[4 * i + 2] = boxes[4 * i] + 20;
      boxes[4 * i + 3] = boxes[4 * i + 1] + 20;
    }
    for (int64_t i = 0; i < 900; ++i) {
      scores[i] = static_cast<float>((i * 211 + seed) % 199 - 99) / 100;
    }
    auto outputs = session.Run({View(boxes.data(), {1, 300, 4}), View(scores.data(), {1, 3, 300})});
    EXPECT_TRUE(outputs.ok()) << outputs.error().message;
    std::string text;
    for (const Tensor& t : outputs.value()) {
      absl::StrAppend(&text, absl::StrJoin(t.shape(), "x"), " ");
      text.append(static_cast<const char*>(t.raw()), t.bytes());
    }
    return text;
  };
  std::vector<std::string> expected;
  {
    const Session session = Make(GraphFromText(kComputedShapes), {.device = DeviceChoice::kCpu});
    for (const int64_t seed : {0, 5}) expected.push_back(run(session, seed));
  }
  FakeCudaOptions fast = EmulatedGpu();
  fast.clock_khz = 1'000'000;  // so that the host is not faster
  FakeCuda cuda(fast);
  {
    const Session session = Make(GraphFromText(kComputedShapes), {.device = DeviceChoice::kCuda});
    for (int i = 0; i < 6; ++i) {
      EXPECT_TRUE(run(session, i % 2 * 5) == expected[i % 2]) << i;
      const SessionStats stats = session.stats();
      EXPECT_EQ(stats.host_nodes, 0);
      EXPECT_EQ(stats.nodes_between, 0);
      EXPECT_EQ(stats.size_reads, 3);
    }
  }
  EXPECT_EQ(cuda.held(), 0);
}

constexpr std::string_view kSmall = R"(
    g (float[1,4,6,6] x, float[4,4,3,3] w, float[4] wb) => (float[1,4] y) {
      c = Conv<pads = [1,1,1,1]>(x, w, wb)
      r = Relu(c)
      m = MaxPool<kernel_shape = [2,2], strides = [2,2]>(r)
      s = Sigmoid(c)
      t = GlobalAveragePool(s)
      p = GlobalAveragePool(m)
      q = Add(p, t)
      y = Flatten(q)
    })";

// Load, three runs and the end, with the n-th CUDA call failing: an error comes back, nothing is
// held at the end, and the next run works unless the device is lost. Returns how many calls there
// are. Kernels do nothing.
int FailEachCallOnce(Graph (*make)(), cudaError_t error) {
  const Dims dims = make().inputs()[0]->dims();
  const std::vector<int64_t> shape(dims.begin(), dims.end());
  const std::vector<float> x(ElementsOf(dims), 1.0F);
  const bool is_lost = error == cudaErrorIllegalAddress;
  int reported = 0;
  for (int n = 0;; ++n) {
    FakeCudaOptions options = EmulatedGpu();
    options.run_kernel = Skip;
    options.fail_at = n;
    options.error = error;
    FakeCuda cuda(options);
    {
      auto session = SessionMaker::Make(make(), {.device = DeviceChoice::kCuda});
      reported += session.ok() ? 0 : 1;
      for (int run = 0; session.ok() && run < 3; ++run) {
        const auto outputs = session->Run({View(x.data(), shape)});
        if (outputs.ok()) continue;
        ++reported;
        const auto again = session->Run({View(x.data(), shape)});
        EXPECT_EQ(again.ok(), !is_lost) << cuda.failed_call();
        if (!is_lost) continue;
        EXPECT_TRUE(absl::StrContains(again.error().message, "lost")) << again.error().message;
        break;
      }
    }
    if (!is_lost) {
      EXPECT_EQ(cuda.held(), 0) << cuda.failed_call();
    }
    if (!cuda.failed_call().empty()) continue;
    EXPECT_GT(reported, n / 2);  // of the others most are releases, which are logged
    return n;
  }
}

TEST_F(EmulatedSessionTest, EachCallMayFailOnce) {
  const auto make = [] { return GraphWithWeights(kSmall); };
  for (const cudaError_t error :
       {cudaErrorUnknown, cudaErrorMemoryAllocation, cudaErrorIllegalAddress}) {
    EXPECT_GT(FailEachCallOnce(make, error), 60);
  }
}

TEST_F(EmulatedSessionTest, EachCallOfResNet50MayFailOnce) {
  const auto make = [] { return ResNet50({.image = 96, .channel_share = 8}); };
  const int calls = FailEachCallOnce(make, cudaErrorUnknown);
  RecordProperty("calls", calls);
  EXPECT_GT(calls, 200);
}

}  // namespace
}  // namespace onnx_cudnn
