// Every case row on the host, and a check that every op has one.
#include <gtest/gtest.h>

#include <set>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "runtime/graph/infer.h"
#include "runtime/graph/ml_types.h"
#include "runtime/ops/evaluate.h"
#include "runtime/ops/op_table.h"
#include "tests/ops/cases.h"

namespace onnx_cudnn {
namespace {

std::string Describe(const OpCase& c) {
  return absl::StrCat(
      c.op, " of ", absl::StrJoin(c.inputs, ", ", [](std::string* out, const HostTensor& t) {
        absl::StrAppend(out, NameOf(t.dtype()), ToString(absl::MakeConstSpan(t.dims())));
      }));
}

bool Close(double found, double expected, double tolerance) {
  if (std::isnan(expected) || std::isinf(expected)) {
    return std::isnan(expected) ? std::isnan(found) : found == expected;
  }
  return std::abs(found - expected) <= tolerance * std::max(1.0, std::abs(expected));
}

void ExpectSame(const HostTensor& found, const HostTensor& expected, double tolerance) {
  EXPECT_EQ(found.dtype(), expected.dtype());
  const Numbers a = NumbersOf(found), b = NumbersOf(expected);
  EXPECT_EQ(a.dims, b.dims);
  ASSERT_EQ(a.values.size(), b.values.size());
  for (size_t i = 0; i < a.values.size(); ++i) {
    EXPECT_TRUE(Close(a.values[i], b.values[i], tolerance))
        << "element " << i << " is " << a.values[i] << ", expected " << b.values[i];
  }
}

void RunCases(const std::vector<OpCase>& cases) {
  for (const OpCase& c : cases) {
    SCOPED_TRACE(Describe(c));
    absl::StatusOr<std::vector<HostTensor>> found = RunOp(
        {c.op, c.inputs, c.attrs, std::max(1, static_cast<int>(c.expected.size())), c.domain});
    if (!c.error.empty()) {
      ASSERT_FALSE(found.ok());
      EXPECT_NE(found.status().message().find(c.error), std::string::npos) << found.status();
      continue;
    }
    ASSERT_TRUE(found.ok()) << found.status();
    for (size_t i = 0; i < c.expected.size(); ++i)
      ExpectSame((*found)[i], c.expected[i], c.tolerance);
  }
}

TEST(OpsTest, ElementWiseRowsGiveTheirValues) { RunCases(PointwiseCases()); }
TEST(OpsTest, MovementRowsGiveTheirValues) { RunCases(MovementCases()); }
TEST(OpsTest, NumericRowsGiveTheirValues) { RunCases(NumericCases()); }
TEST(OpsTest, ContribRowsGiveTheirValues) { RunCases(ContribCases()); }
TEST(OpsTest, QuantizedRowsGiveTheirValues) { RunCases(QuantizedCases()); }
TEST(OpsTest, SequenceRowsGiveTheirValues) { RunCases(SequenceCases()); }
TEST(OpsTest, SamplingRowsGiveTheirValues) { RunCases(SamplingCases()); }
TEST(OpsTest, MovementErrorRowsReportTheError) { RunCases(MovementErrorCases()); }

// An output that shares memory with an input of its dtype and dims.
TEST(OpsTest, InPlaceRowsGiveTheSameValues) {
  for (const OpCase& c : PointwiseCases()) {
    SCOPED_TRACE(Describe(c));
    ASSERT_TRUE(FindOp(c.op)->in_place);
    Graph graph;
    std::vector<Value*> inputs;
    for (const HostTensor& t : c.inputs)
      inputs.push_back(t.defined() ? &graph.AddConstant(t) : nullptr);
    Node& node = graph.AddNode({.op = c.op, .inputs = inputs, .attrs = c.attrs});
    ASSERT_TRUE(InferShapes(graph).ok());
    for (size_t shared = 0; shared < c.inputs.size(); ++shared) {
      const HostTensor& input = c.inputs[shared];
      if (input.dtype() != c.expected[0].dtype() || input.dims() != c.expected[0].dims()) continue;
      HostTensor bytes = TensorOf(input.dtype(), input.dims(), NumbersOf(input).values);
      std::vector<TensorRef> in;
      for (const HostTensor& t : c.inputs) in.push_back({t.dtype(), t.dims(), t.raw()});
      in[shared].data = bytes.raw();
      const std::vector<MutableTensorRef> out = {
          {bytes.dtype(), bytes.dims(), bytes.mutable_raw()}};
      ASSERT_TRUE(EvaluateNode({node, in, out, nullptr, ThreadPool::Default()}).ok());
      ExpectSame(bytes, c.expected[0], c.tolerance);
    }
  }
}

TEST(OpsTest, EveryOpHasARow) {
  std::set<std::string> missing;
  for (const OpDef* op : AllOps()) {
    // The others: ml_test.cc, inverse_test.cc
    if (op->domain.empty() || op->domain == kOwnDomain) missing.insert(op->type);
  }
  for (const OpCase& c : AllCases()) missing.erase(c.op);
  for (const OpCase& c : DataDependentCases()) missing.erase(c.op);
  for (const char* elsewhere :
       {"BoundedCompress", "BoundedNonMaxSuppression", "BoundedNonZero", "BoundedUnique",
        "FirstElements", "If", "RegexFullMatch", "Reformat", "Scan", "StringConcat",
        "StringNormalizer", "StringSplit", "Transfer"}) {
    missing.erase(elsewhere);
  }
  EXPECT_EQ(missing, std::set<std::string>());
}

}  // namespace
}  // namespace onnx_cudnn
