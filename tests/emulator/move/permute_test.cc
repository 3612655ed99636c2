// Permutations of axes between Formats: Transpose, DepthToSpace, SpaceToDepth, Reformat.
#include <numeric>

#include "absl/strings/str_cat.h"
#include "runtime/graph/infer.h"
#include "runtime/kernels/cuda/common/kernel_engine.h"
#include "tests/emulator/run_code.h"
#include "tests/kernels/kernels_fixture.h"
#include "tests/ops/run_op.h"

namespace onnx_cudnn {
namespace {

using Ints = std::vector<int64_t>;

// Elements that differ in their low byte from all elements near them.
HostTensor Counted(DType dtype, const Dims& dims) {
  HostTensor tensor = HostTensor::Allocate(dtype, dims);
  auto* bytes = static_cast<uint8_t*>(tensor.mutable_raw());
  for (int64_t i = 0; i < tensor.bytes(); ++i) bytes[i] = static_cast<uint8_t>(i * 37 + i / 251);
  return tensor;
}

class PermuteTest : public KernelsTest {
 protected:
  void ExpectRuns(const Candidate& candidate, const Variant& variant, const HostTensor& input) {
    const auto code = CompileVariant(candidate, variant, target_);
    ASSERT_TRUE(code.ok()) << code.status();
    EXPECT_EQ(emulator::CompareWithReference(code, candidate, {input}, 0), "")
        << Describe(candidate) << " " << NameOf(input.dtype());
  }

  void ExpectRuns(const std::string& op, const Dims& dims, DType dtype, const Attrs& attrs) {
    Graph graph;
    Value& x = graph.AddInput("x", Type::Tensor(dtype, dims));
    graph.AddOutput("y", Append(graph, op, {&x}, attrs));
    const Proposed proposed = At(graph, op);
    EXPECT_FALSE(proposed.candidates.empty());
    const std::string kernel = op == "Transpose" ? "transpose" : "depth_space";
    for (const Candidate& candidate : proposed.candidates) {
      ExpectRuns(candidate, {.text = kernel}, Counted(dtype, dims));
    }
  }

  void ExpectReformats(const Dims& dims, DType dtype, const Format& from, const Format& to) {
    Graph graph;
    Value& x = graph.AddInput("x", Type::Tensor(dtype, dims));
    Node& node =
        graph.AddNode({.op = "Reformat", .inputs = {&x}, .domain = std::string(kOwnDomain)});
    graph.SetType(node.output(0), x.type());
    graph.AddOutput("y", node.output(0));
    Candidate candidate{.nodes = {&node},
                        .engine = engine_,
                        .inputs = {{from, Space::kDevice}},
                        .outputs = {{to, Space::kDevice}}};
    SCOPED_TRACE(absl::StrCat(from.ToString(), " to ", to.ToString()));
    ExpectRuns(candidate, {.text = "conversion"}, Counted(dtype, dims));
  }
};

constexpr DType kTypes[] = {DType::kU8, DType::kF16, DType::kF32, DType::kF64, DType::kC128};

TEST_F(PermuteTest, EveryOrderOfFourAxes) {
  for (const Dims& dims : {Dims{2, 5, 9, 6}, Dims{1, 72, 3, 80}}) {
    Ints perm = {0, 1, 2, 3};
    do {
      ExpectRuns("Transpose", dims, DType::kF16, {{"perm", perm}});
    } while (std::next_permutation(perm.begin(), perm.end()));
  }
}

TEST_F(PermuteTest, EveryElementSize) {
  for (const DType dtype : kTypes) {
    ExpectRuns("Transpose", {3, 70, 130}, dtype, {{"perm", Ints{0, 2, 1}}});
    for (const Dims& dims : {Dims{64, 128}, Dims{72, 200}, Dims{76, 132}, Dims{65, 131}}) {
      ExpectRuns("Transpose", dims, dtype, {{"perm", Ints{1, 0}}});
    }
    ExpectRuns("Transpose", {5, 600}, dtype, {{"perm", Ints{1, 0}}});
    ExpectRuns("Transpose", {600, 5}, dtype, {{"perm", Ints{1, 0}}});
    ExpectRuns("Transpose", {2, 16, 12, 64}, dtype, {{"perm", Ints{0, 2, 1, 3}}});
    ExpectRuns("Transpose", {2, 2, 2, 3, 2, 2, 2, 3}, dtype,
               {{"perm", Ints{7, 1, 5, 3, 0, 2, 6, 4}}});
  }
}

TEST_F(PermuteTest, DepthAndSpace) {
  for (const char* mode : {"DCR", "CRD"}) {
    const Attrs attrs = {{"blocksize", int64_t{2}}, {"mode", std::string(mode)}};
    ExpectRuns("DepthToSpace", {2, 12, 5, 7}, DType::kF16, attrs);
    ExpectRuns("SpaceToDepth", {2, 3, 6, 10}, DType::kF32, attrs);
  }
}

TEST_F(PermuteTest, ReformatsInBothDirections) {
  for (const DType dtype : kTypes) {
    for (const Dims& dims : {Dims{2, 3, 8, 20}, Dims{2, 7, 5, 9}, Dims{1, 64, 9, 16},
                             Dims{1, 20, 9, 16}, Dims{3, 1, 4, 5}}) {
      const int order[] = {1, 0, 3, 2};
      const std::vector<Format> formats = {
          Format::RowMajor(dims), Format::ChannelsLast(dims), Format::ChannelsLast(dims, 4),
          Format::ChannelsLast(dims, 8), Format::Permuted(dims, order)};
      for (const Format& from : formats) {
        for (const Format& to : formats) ExpectReformats(dims, dtype, from, to);
      }
    }
  }
}

TEST_F(PermuteTest, ReformatsBlockedAxesAndSlices) {
  const Dims dims = {2, 40, 3, 5};
  const Format blocked =
      Format::Of({{0, 1, 2, 2}, {1, 32, 2, 2}, {2, 1, 3, 3}, {3, 1, 5, 5}, {1, 1, 32, 32}});
  const Format slice = Format::Of({{0, 1, 2, 2}, {2, 1, 3, 3}, {3, 1, 5, 5}, {1, 1, 40, 64}});
  const Format rows = Format::RowMajor(dims), last = Format::ChannelsLast(dims);
  for (const Format& format : {rows, last, slice}) {
    ExpectReformats(dims, DType::kF16, blocked, format);
    ExpectReformats(dims, DType::kF16, format, blocked);
    ExpectReformats(dims, DType::kF16, format, slice);
    ExpectReformats(dims, DType::kF16, slice, format);
  }
}

}  // namespace
}  // namespace onnx_cudnn
