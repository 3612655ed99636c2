// Ops whose output shapes depend on elements of their inputs, on constants.
#include <gtest/gtest.h>

#include <cstring>

#include "absl/strings/str_cat.h"
#include "runtime/base/status.h"
#include "runtime/graph/infer.h"
#include "runtime/ops/evaluate.h"
#include "runtime/ops/op_table.h"
#include "tests/ops/cases.h"

namespace onnx_cudnn {
namespace {

struct Evaluated {
  Graph graph;
  Node* node = nullptr;
  std::vector<HostTensor> outputs;
};

// Outputs are named where `c` expects one.
absl::StatusOr<Evaluated> EvaluateCase(const OpCase& c) {
  Evaluated done;
  NodeSpec spec{.op = c.op, .attrs = c.attrs, .outputs = {}};
  for (const HostTensor& t : c.inputs)
    spec.inputs.push_back(t.defined() ? &done.graph.AddConstant(t) : nullptr);
  for (const HostTensor& t : c.expected) spec.outputs.push_back(t.defined() ? "*" : "");
  if (c.expected.empty()) spec.outputs = {"*"};
  done.node = &done.graph.AddNode(std::move(spec));
  RETURN_IF_ERROR(InferShapes(done.graph));
  ASSIGN_OR_RETURN(done.outputs, EvaluateConstants(*done.node));
  return done;
}

bool SameBytes(const HostTensor& a, const HostTensor& b) {
  if (a.dtype() == DType::kString) return a.strings() == b.strings();
  return a.bytes() == b.bytes() &&
         (a.bytes() == 0 || std::memcmp(a.raw(), b.raw(), a.bytes()) == 0);
}

// Whether a tensor of `dims` has the inferred type.
bool Fits(const Type& type, DType dtype, const Dims& dims) {
  if (!type.is_tensor() || type.dtype != dtype || type.dims.size() != dims.size()) return false;
  for (size_t i = 0; i < dims.size(); ++i) {
    if (type.dims[i].value >= 0 && type.dims[i].value != dims[i]) return false;
  }
  return true;
}

void ExpectOutputs(const OpCase& c, const Evaluated& done) {
  ASSERT_EQ(done.outputs.size(), c.expected.size());
  for (size_t i = 0; i < c.expected.size(); ++i) {
    const HostTensor &found = done.outputs[i], &expected = c.expected[i];
    EXPECT_EQ(found.dtype(), expected.dtype()) << "output " << i;
    EXPECT_EQ(found.dims(), expected.dims()) << "output " << i;
    if (!expected.defined()) continue;
    EXPECT_TRUE(SameBytes(found, expected)) << "output " << i;
    const Type& type = done.node->output(static_cast<int>(i)).type();
    EXPECT_TRUE(Fits(type, found.dtype(), found.dims())) << ToString(type);
  }
}

TEST(DataDependentTest, RowsGiveTheirOutputs) {
  int row = 0;
  for (const OpCase& c : DataDependentCases()) {
    SCOPED_TRACE(absl::StrCat("row ", row++, ", ", c.op));
    const absl::StatusOr<Evaluated> done = EvaluateCase(c);
    if (c.error.empty()) {
      ASSERT_TRUE(done.ok()) << done.status();
      ExpectOutputs(c, *done);
    } else {
      ASSERT_FALSE(done.ok());
      EXPECT_NE(done.status().message().find(c.error), std::string::npos) << done.status();
    }
  }
}

// Each has rows, and the only way to run it is on constants.
TEST(DataDependentTest, OpsWithoutAReferenceAreNotRunAsReferences) {
  for (const OpCase& c : DataDependentCases()) {
    ASSERT_NE(FindOp(c.op), nullptr) << c.op;
    EXPECT_NE(FindOp(c.op)->evaluate, nullptr) << c.op;
    if (!c.error.empty()) continue;
    const Evaluated done = *EvaluateCase(c);
    const absl::Status status = EvaluateNode({*done.node, {}, {}, nullptr, ThreadPool::Default()});
    EXPECT_EQ(status.code(), absl::StatusCode::kUnimplemented) << c.op;
  }
}

HostTensor OutputOf(const char* op, std::vector<HostTensor> inputs) {
  const OpCase c = {.op = op, .inputs = std::move(inputs), .expected = {}};
  return EvaluateCase(c).value().outputs[0];
}

// Beyond the elements that one thread counts, with rows that end within them.
TEST(DataDependentTest, NonZeroOfManyElementsKeepsTheirOrder) {
  constexpr int64_t kRows = 700, kPlanes = 3, kColumns = 1001;
  const auto is_set = [](int64_t i) { return i * i % 7 == 2; };
  HostTensor x = HostTensor::Allocate(DType::kU8, {kPlanes, kRows, kColumns});
  std::vector<int64_t> expected;
  for (int64_t i = 0; i < x.elements(); ++i) {
    x.mutable_data<uint8_t>()[i] = is_set(i) ? 1 : 0;
    if (is_set(i)) expected.push_back(i);
  }
  const HostTensor indices = OutputOf("NonZero", {x});
  const auto count = static_cast<int64_t>(expected.size());
  ASSERT_EQ(indices.dims(), (Dims{3, count}));
  const int64_t* at = indices.data<int64_t>().data();
  for (int64_t n = 0; n < count; ++n) {
    ASSERT_EQ((at[n] * kRows + at[count + n]) * kColumns + at[2 * count + n], expected[n]);
  }
}

// More boxes than one block of selected ones holds: boxes 2k and 2k + 1 are equal, all others
// apart.
TEST(DataDependentTest, SuppressionComparesWithEverySelectedBox) {
  constexpr int64_t kPairs = 100;
  std::vector<double> boxes, scores, expected;
  for (int64_t k = 0; k < 2 * kPairs; ++k) {
    const auto y = static_cast<double>(10 * (k / 2));
    for (const double v : {y, 0.0, y + 1, 1.0}) boxes.push_back(v);
    scores.push_back(k % 2 == 0 ? 1000.0 - static_cast<double>(k) : static_cast<double>(-k));
  }
  for (int64_t k = 0; k < kPairs; ++k) {
    for (const double v : {0.0, 0.0, static_cast<double>(2 * k)}) expected.push_back(v);
  }
  const HostTensor rows = OutputOf("NonMaxSuppression",
                                   {F32({1, 2 * kPairs, 4}, boxes), F32({1, 1, 2 * kPairs}, scores),
                                    I64({}, {1000}), F32({}, {0.5})});
  EXPECT_EQ(NumbersOf(rows).dims, (Dims{kPairs, 3}));
  EXPECT_EQ(NumbersOf(rows).values, expected);
}

}  // namespace
}  // namespace onnx_cudnn
