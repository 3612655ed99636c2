// What moves bytes against the device's own copy of as many bytes, on tensors of 128 to 512 MB.
// Runs where ONNX_CUDNN_SPEED=FILE says where the figures go, as a JSON list of {"case", "dtype",
// "format", "way", "bytes", "us", "share_of_copy"}.
#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "runtime/base/file.h"
#include "runtime/base/status.h"
#include "runtime/exec/step_runner.h"
#include "tests/gpu/check_candidate.h"
#include "tests/gpu/gpu_test.h"
#include "tests/ops/run_op.h"
#include "tests/support/graph_text.h"
#include "tests/support/proposed.h"

namespace onnx_cudnn {
namespace {

constexpr double kLeastShare = 0.8;  // issue "The GPU", 5
constexpr int kRepeats = 5;

struct SpeedCase {
  std::string name, text, anchor;  // T is the dtype in the text
};

// 64 images of 64 channels, 128 x 128; or as many rows.
std::vector<SpeedCase> SpeedCases() {
  const std::string images = "g (T[64,64,128,128] x) => (T[64,64,128,128] y) ";
  const std::string rows = "g (T[65536,1024] x) => (T[65536,1024] y) ";
  return {
      {"pointwise", rows + "{ y = Relu(x) }", "Relu"},
      {"pointwise of two",
       "g (T[65536,1024] x, T[65536,1024] z) => (T[65536,1024] y) { y = Add(x, z) }", "Add"},
      {"transpose", "g (T[8192,8192] x) => (T[8192,8192] y) { y = Transpose<perm = [1, 0]>(x) }",
       "Transpose"},
      {"transpose of the middle",
       "g (T[64,64,16384] x) => (T[64,16384,64] y) { y = Transpose<perm = [0, 2, 1]>(x) }",
       "Transpose"},
      {"concat",
       "g (T[64,32,16384] x, T[64,32,16384] z) => (T[64,64,16384] y) { y = Concat<axis = 1>(x, z) "
       "}",
       "Concat"},
      {"slice",
       "g (T[64,80,16384] x) => (T[64,64,16384] y) <int64[1] a = {8}, int64[1] b = {72}, int64[1] "
       "c = {1}> { y = Slice(x, a, b, c) }",
       "Slice"},
      {"split",
       "g (T[64,64,16384] x) => (T[64,32,16384] y, T[64,32,16384] z) { y, z = Split<axis = 1, "
       "num_outputs = 2>(x) }",
       "Split"},
      {"pad",
       "g (T[64,64,126,126] x) => (T[64,64,128,128] y) <int64[8] p = {0, 0, 1, 1, 0, 0, 1, 1}> { y "
       "= Pad(x, p) }",
       "Pad"},
      {"cast", "g (T[65536,1024] x) => (float[65536,1024] y) { y = Cast<to = 1>(x) }", "Cast"},
      {"max pool", images + "{ y = MaxPool<kernel_shape = [3, 3], pads = [1, 1, 1, 1]>(x) }",
       "MaxPool"},
      {"average pool",
       images + "{ y = AveragePool<kernel_shape = [3, 3], pads = [1, 1, 1, 1]>(x) }",
       "AveragePool"},
      {"softmax", rows + "{ y = Softmax<axis = -1>(x) }", "Softmax"},
      {"layer norm",
       "g (T[65536,1024] x, T[1024] w) => (T[65536,1024] y) { y = LayerNormalization<axis = -1>(x, "
       "w) }",
       "LayerNormalization"},
      {"rms norm",
       "g (T[65536,1024] x, T[1024] w) => (T[65536,1024] y) { y = RMSNormalization<axis = -1>(x, "
       "w) }",
       "RMSNormalization"},
      {"instance norm",
       "g (T[64,64,128,128] x, T[64] w, T[64] b) => (T[64,64,128,128] y) { y = "
       "InstanceNormalization(x, w, b) }",
       "InstanceNormalization"},
  };
}

class SpeedTest : public GpuTest {
 protected:
  void SetUp() override {
    if (Variable("ONNX_CUDNN_SPEED").empty()) GTEST_SKIP() << "needs ONNX_CUDNN_SPEED=FILE";
    GpuTest::SetUp();
  }

  // Microseconds in which the device's own copy reads and writes `bytes`, from what it takes for
  // whole megabytes: an odd rest costs it half as much again.
  absl::StatusOr<double> CopyUs(int64_t wanted) {
    const int64_t bytes = wanted >> 21 << 21;
    ASSIGN_OR_RETURN(const auto from, device().Allocate(bytes / 2, Space::kDevice));
    ASSIGN_OR_RETURN(const auto to, device().Allocate(bytes / 2, Space::kDevice));
    ASSIGN_OR_RETURN(const auto streams, device().CreateStreams(1));
    RETURN_IF_ERROR(streams->BeginCapture());
    const absl::Status copied = streams->Copy(0, to.get(), from.get(), bytes / 2);
    ASSIGN_OR_RETURN(const auto graph, streams->EndCapture());
    RETURN_IF_ERROR(copied);
    ASSIGN_OR_RETURN(std::vector<double> ms, streams->TimeReplays(*graph, 9));
    std::sort(ms.begin(), ms.end());
    return 1e3 * ms[ms.size() / 2] * static_cast<double>(wanted) / static_cast<double>(bytes);
  }

  void Measure(const SpeedCase& test, const std::string& dtype, std::vector<std::string>& records) {
    const Graph graph =
        GraphFromText(absl::StrReplaceAll(test.text, {{"T[", absl::StrCat(dtype, "[")}}));
    const Node& node = FindNode(graph, test.anchor);
    for (const Engine* engine : target().engines) {
      if (engine->name() != "kernel") continue;
      for (const Candidate& candidate : ProposedBy(*engine, graph, node, target())) {
        const absl::StatusOr<Speed> speed = MeasureCandidate(candidate);
        ASSERT_TRUE(speed.ok()) << test.name << ": " << speed.status();
        const absl::StatusOr<double> copy_us = CopyUs(speed->bytes);
        ASSERT_TRUE(copy_us.ok()) << copy_us.status();
        const double share = *copy_us / speed->us;
        records.push_back(absl::StrFormat(
            R"({"case": "%s", "dtype": "%s", "format": "%s", "way": "%s", "bytes": %d, "us": %.2f, )"
            R"("share_of_copy": %.3f})",
            test.name, dtype, Describe(candidate), speed->way, speed->bytes, speed->us, share));
        EXPECT_GE(share, kLeastShare) << records.back();
      }
    }
  }

 private:
  struct Speed {
    std::string way;
    int64_t bytes = 0;
    double us = 0;
  };

  // Of its fastest Variant.
  absl::StatusOr<Speed> MeasureCandidate(const Candidate& candidate) {
    Speed best{.bytes = BytesOf(candidate), .us = 1e9};
    ASSIGN_OR_RETURN(const std::vector<Variant> variants,
                     candidate.engine->Variants(candidate, target()));
    for (const Variant& variant : variants) {
      ASSIGN_OR_RETURN(const Compiled compiled,
                       candidate.engine->Compile(candidate, variant, target()));
      if (compiled.step() == nullptr) continue;
      ASSIGN_OR_RETURN(const auto runner,
                       StepRunner::Create(candidate, compiled.step(), device(), constants()));
      ASSIGN_OR_RETURN(const double us, runner->MeasureUs(kRepeats));
      if (us < best.us) best = {.way = variant.text, .bytes = best.bytes, .us = us};
    }
    return best;
  }

  // Read and written; a Slice reads what it writes.
  static int64_t BytesOf(const Candidate& candidate) {
    const Boundary boundary = BoundaryOf(candidate.nodes);
    int64_t in = 0, out = 0;
    for (size_t i = 0; i < boundary.inputs.size(); ++i) {
      in += candidate.inputs[i].format.bytes(boundary.inputs[i]->dtype());
    }
    for (size_t i = 0; i < boundary.outputs.size(); ++i) {
      out += candidate.outputs[i].format.bytes(boundary.outputs[i]->dtype());
    }
    return candidate.nodes[0]->op() == "Slice" ? 2 * out : in + out;
  }
};

TEST_F(SpeedTest, MoversReachEightyPercentOfACopy) {
  std::vector<std::string> records;
  for (const SpeedCase& test : SpeedCases()) {
    for (const char* dtype : {"float", "float16"}) Measure(test, dtype, records);
  }
  const std::string json = absl::StrCat("[\n ", absl::StrJoin(records, ",\n "), "\n]\n");
  ASSERT_TRUE(WriteFile(Variable("ONNX_CUDNN_SPEED"), json).ok());
}

}  // namespace
}  // namespace onnx_cudnn
