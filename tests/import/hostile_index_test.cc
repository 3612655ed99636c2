// Class 6 of refused inputs: indices out of range at run time. Whether they are inputs or constants
// of the model, the CPU device returns InvalidArgument and accesses nothing outside the tensor.
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <limits>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "runtime/base/status.h"
#include "runtime/exec/cpu_device.h"
#include "runtime/ops/evaluate.h"
#include "runtime/session/engines.h"
#include "tests/support/graph_text.h"
#include "tests/support/run_program.h"

namespace onnx_cudnn {
namespace {

// A Graph of x f32[3,4] and indices i, with the first index out of range on either side.
struct IndexCase {
  std::string name;
  std::string text;
  int64_t above, below;
};
void PrintTo(const IndexCase& c, std::ostream* out) { *out << c.name; }

const IndexCase kCases[] = {
    {"Gather", "g (float[3,4] x, int64[2] i) => (float[2,4] y) { y = Gather(x, i) }", 3, -4},
    {"GatherOfInt32", "g (float[3,4] x, int32[2] i) => (float[2,4] y) { y = Gather(x, i) }", 3, -4},
    {"GatherOnLastAxis",
     "g (float[3,4] x, int64[1,2] i) => (float[3,1,2] y) { y = Gather <axis = -1> (x, i) }", 4, -5},
    {"GatherElements",
     "g (float[3,4] x, int64[3,2] i) => (float[3,2] y) { y = GatherElements <axis = 1> (x, i) }", 4,
     -5},
    {"GatherNDOfRows", "g (float[3,4] x, int64[2,1] i) => (float[2,4] y) { y = GatherND(x, i) }", 3,
     -4},
    {"GatherNDOfElements", "g (float[3,4] x, int64[3,2] i) => (float[3] y) { y = GatherND(x, i) }",
     4, -5},
    {"GatherNDInBatches",
     "g (float[3,4] x, int64[3,1] i) => (float[3] y) { y = GatherND <batch_dims = 1> (x, i) }", 4,
     -5},
    {"ScatterElements",
     "g (float[3,4] x, int64[1,4] i) => (float[3,4] y) <float[1,4] u = {1, 2, 3, 4}> "
     "{ y = ScatterElements(x, i, u) }",
     3, -4},
    {"ScatterElementsThatAdds",
     "g (float[3,4] x, int64[3,1] i) => (float[3,4] y) <float[3,1] u = {1, 2, 3}> "
     "{ y = ScatterElements <axis = 1, reduction = \"add\"> (x, i, u) }",
     4, -5},
    {"ScatterND",
     "g (float[3,4] x, int64[1,1] i) => (float[3,4] y) <float[1,4] u = {1, 2, 3, 4}> "
     "{ y = ScatterND(x, i, u) }",
     3, -4},
    {"ScatterNDOfElements",
     "g (float[3,4] x, int64[1,2] i) => (float[3,4] y) <float[1] u = {1}> { y = ScatterND(x, i, u) "
     "}",
     4, -5},
    {"CumSum", "g (float[3,4] x, int64 i) => (float[3,4] y) { y = CumSum(x, i) }", 2, -3},
};

// Zeros except the last element, in the type of `value`.
HostTensor Indices(const Value& value, int64_t last) {
  HostTensor tensor = HostTensor::Allocate(value.dtype(), value.dims());
  std::fill_n(static_cast<char*>(tensor.mutable_raw()), tensor.bytes(), '\0');
  if (value.dtype() == DType::kI32) {
    tensor.mutable_data<int32_t>().back() = static_cast<int32_t>(last);
  } else {
    tensor.mutable_data<int64_t>().back() = last;
  }
  return tensor;
}

absl::Status RunOnCpuDevice(const Graph& graph, const std::vector<HostTensor>& inputs) {
  ASSIGN_OR_RETURN(const OwnedTarget cpu, MakeTarget("cpu"));
  ASSIGN_OR_RETURN(const auto program, BuildProgram(graph, {}, cpu.target, {}));
  const std::unique_ptr<Device> device = MakeCpuDevice();
  ConstantStore constants(*device);
  ASSIGN_OR_RETURN(const auto executor, Executor::Create(program, *device, constants));
  return RunOn(*executor, inputs).status();
}

absl::Status RunWithIndex(const IndexCase& c, int64_t last) {
  const Graph graph = GraphFromText(c.text);
  std::vector<HostTensor> inputs = MakeInputs(graph);
  inputs[1] = Indices(*graph.inputs()[1], last);
  return RunOnCpuDevice(graph, inputs);
}

// The same with the indices as a constant, which the rewrites see.
absl::Status RunWithConstantIndex(const IndexCase& c, int64_t last) {
  Graph graph = GraphFromText(c.text);
  Value& indices = *graph.inputs()[1];
  graph.ReplaceAllUses(indices, graph.AddConstant(Indices(indices, last)));
  graph.RemoveInput(1);
  return RunOnCpuDevice(graph, MakeInputs(graph));
}

class HostileIndexTest : public testing::TestWithParam<IndexCase> {
 protected:
  static std::vector<int64_t> OutOfRange() {
    std::vector<int64_t> indices = {GetParam().above, GetParam().below};
    if (absl::StrContains(GetParam().text, "int32")) {
      indices.insert(indices.end(), {INT32_MAX, INT32_MIN});
    } else {
      indices.insert(indices.end(), {INT64_MAX, INT64_MIN, int64_t{1} << 32, int64_t{1} << 62});
    }
    return indices;
  }

  static void ExpectRefused(const absl::Status& status, int64_t index) {
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << index << ": " << status;
    EXPECT_TRUE(absl::StrContains(status.message(), absl::StrCat(index, " is outside"))) << status;
  }
};

TEST_P(HostileIndexTest, IsTakenInRange) {
  EXPECT_EQ(RunWithIndex(GetParam(), GetParam().above - 1), absl::OkStatus());
  EXPECT_EQ(RunWithIndex(GetParam(), GetParam().below + 1), absl::OkStatus());
}

TEST_P(HostileIndexTest, IsRefusedAtRunTime) {
  for (const int64_t index : OutOfRange()) ExpectRefused(RunWithIndex(GetParam(), index), index);
}

TEST_P(HostileIndexTest, IsRefusedInTheModel) {
  for (const int64_t index : OutOfRange()) {
    ExpectRefused(RunWithConstantIndex(GetParam(), index), index);
  }
}

INSTANTIATE_TEST_SUITE_P(Op, HostileIndexTest, testing::ValuesIn(kCases),
                         [](const auto& info) { return info.param.name; });

TEST(HostileGatherTest, EmptyTensorHasNoIndex) {
  const IndexCase c{"",
                    "g (float[3,4] x, int64[2] i) => (float[2,4] y) <float[0,4] none = {}> { y = "
                    "Gather(none, i) }",
                    0, -1};
  for (const int64_t index : {0, -1, 1}) {
    EXPECT_EQ(RunWithIndex(c, index).code(), absl::StatusCode::kInvalidArgument);
    EXPECT_EQ(RunWithConstantIndex(c, index).code(), absl::StatusCode::kInvalidArgument);
  }
}

// ONNX: an index out of range gives a row without a one.
TEST(HostileOneHotTest, IndicesOutOfRangeAreOff) {
  const IndexCase c{
      "OneHot",
      "g (float[3,4] x, int64[2] i) => (float[2,3] y) <int64 depth = {3}, float[2] v = "
      "{0, 1}> { y = OneHot(i, depth, v) }",
      0, 0};
  for (const int64_t index : {int64_t{3}, int64_t{-4}, INT64_MAX, INT64_MIN}) {
    const Graph graph = GraphFromText(c.text);
    std::vector<HostTensor> inputs = MakeInputs(graph);
    inputs[1] = Indices(*graph.inputs()[1], index);
    const absl::StatusOr<std::vector<HostTensor>> y = Evaluate(graph, inputs);
    ASSERT_TRUE(y.ok()) << y.status();
    const absl::Span<const float> row = (*y)[0].data<float>().subspan(3);
    EXPECT_EQ(std::vector<float>(row.begin(), row.end()), std::vector<float>(3)) << index;
  }
}

// Known flaw: positions of 32 bits wrap at 2³¹ elements.
TEST(HostileGatherTest, ReachesElementsBeyond31Bits) {
  constexpr int64_t kElements = (int64_t{1} << 31) + 4096, kIndex = (int64_t{1} << 31) + 8;
  void* memory = mmap(nullptr, kElements, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  ASSERT_NE(memory, MAP_FAILED);
  const std::shared_ptr<void> owner(memory, [](void* p) { munmap(p, kElements); });
  static_cast<uint8_t*>(memory)[kIndex] = 7;
  const Graph graph = GraphFromText(absl::StrCat(
      "g (uint8[", kElements, "] x, int64[2] i) => (uint8[2] y) { y = Gather(x, i) }"));
  const HostTensor x = HostTensor::Borrow(DType::kU8, {kElements}, memory, owner);
  const auto y = Evaluate(graph, {x, HostTensor::Ints({kIndex, kIndex - kElements})});
  ASSERT_TRUE(y.ok()) << y.status();
  EXPECT_EQ((*y)[0].data<uint8_t>(), (std::vector<uint8_t>{7, 7}));
}

}  // namespace
}  // namespace onnx_cudnn
