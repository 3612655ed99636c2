#include "tests/support/rewrite.h"

#include <chrono>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "gtest/gtest.h"
#include "passes/rewrite/rewrites.h"
#include "runtime/graph/float16.h"
#include "runtime/graph/print.h"
#include "runtime/graph/verify.h"
#include "runtime/ops/evaluate.h"
#include "runtime/session/engines.h"
#include "tests/support/graph_text.h"

namespace onnx_cudnn {
namespace {

std::string OnOneLine(std::string_view text) {
  return absl::StrJoin(absl::StrSplit(text, absl::ByAnyChar(" \n"), absl::SkipEmpty()), " ");
}

std::string Text(const std::vector<Remark>& remarks) {
  return absl::StrJoin(remarks, "\n", [](std::string* out, const Remark& r) {
    absl::StrAppend(out, r.pass, ": ", r.where, ": ", r.reason);
  });
}

}  // namespace

std::string PrintOnOneLine(const Graph& graph) { return OnOneLine(Print(graph)); }

void ExpectRewrite(std::unique_ptr<Pass> pass, std::string_view before, std::string_view after) {
  Graph graph = GraphFromText(before);
  std::vector<Remark> remarks;
  PassContext context{.remarks = &remarks};
  const absl::StatusOr<bool> changed = pass->Run(graph, context);
  ASSERT_TRUE(changed.ok()) << changed.status();
  EXPECT_TRUE(*changed) << Text(remarks);
  EXPECT_TRUE(Verify(graph).ok()) << Verify(graph);
  EXPECT_EQ(PrintOnOneLine(graph), OnOneLine(after)) << Text(remarks);
  const absl::StatusOr<bool> again = pass->Run(graph, context);
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_FALSE(*again) << "a second run changed " << PrintOnOneLine(graph);
}

void ExpectRewriteInBranch(std::unique_ptr<Pass> pass, std::string_view before,
                           std::string_view after) {
  ExpectRewrite(std::move(pass),
                absl::StrCat("g (bool c, float[2] x) => (float[2] y) { y = If(c) < "
                             "then_branch = a () => (float[2] p) { ",
                             before, " }, else_branch = b () => (float[2] q) { q = Neg(x) }> }"),
                absl::StrCat("g (bool[] c, f32[2] x) => (f32[2] y) { y = If< "
                             "else_branch = b (f32[2] x) => (f32[2] q) { q = Neg(x) }, "
                             "then_branch = a (f32[2] x) => (f32[2] p) { ",
                             after, " } >(c, x) }"));
}

void ExpectNoRewrite(std::unique_ptr<Pass> pass, std::string_view before, std::string_view reason) {
  Graph graph = GraphFromText(before);
  const std::string printed = Print(graph);
  std::vector<Remark> remarks;
  PassContext context{.remarks = &remarks};
  const absl::StatusOr<bool> changed = pass->Run(graph, context);
  ASSERT_TRUE(changed.ok()) << changed.status();
  EXPECT_FALSE(*changed);
  EXPECT_EQ(Print(graph), printed);
  const std::string text = Text(remarks);
  if (reason.empty()) {
    EXPECT_EQ(text, "");
  } else {
    EXPECT_NE(text.find(reason), std::string::npos) << "no remark says \"" << reason << "\":\n"
                                                    << text;
  }
}

void ExpectSameNumbers(std::unique_ptr<Pass> pass, std::string_view text, float tolerance) {
  Graph graph = GraphFromText(text);
  const std::vector<HostTensor> inputs = MakeInputs(graph);
  const auto expected = Evaluate(graph, inputs);
  ASSERT_TRUE(expected.ok()) << expected.status();
  PassContext context;
  ASSERT_TRUE(*pass->Run(graph, context));
  const auto found = Evaluate(graph, inputs);
  ASSERT_TRUE(found.ok()) << found.status();
  const HostTensor &want = (*expected)[0], &got = (*found)[0];
  ASSERT_EQ(got.dims(), want.dims());
  for (int64_t i = 0; i < want.elements(); ++i) {
    EXPECT_NEAR(got.data<float>()[i], want.data<float>()[i], tolerance) << i;
  }
}

void ExpectSameHalves(const Graph& before, const Graph& after,
                      const std::vector<HostTensor>& inputs) {
  const auto expected = Evaluate(before, inputs), found = Evaluate(after, inputs);
  ASSERT_TRUE(expected.ok() && found.ok()) << expected.status() << found.status();
  const auto a = (*expected)[0].data<Float16>(), b = (*found)[0].data<Float16>();
  ASSERT_EQ(a.size(), b.size());
  for (size_t i = 0; i < a.size(); ++i) {
    ASSERT_NEAR(ToFloat(a[i]), ToFloat(b[i]), 4e-3) << "element " << i;
  }
}

void ExpectSameHalves(const Graph& before, const Graph& after) {
  std::vector<HostTensor> inputs;
  for (const Value* value : before.inputs()) {
    HostTensor tensor = HostTensor::Allocate(value->dtype(), value->dims());
    for (int64_t i = 0; i < value->elements(); ++i) {
      const auto number = static_cast<float>(
          std::sin(1.7 * static_cast<double>(i) + static_cast<double>(inputs.size())));
      if (value->dtype() == DType::kF16) {
        tensor.mutable_data<Float16>()[i] = ToFloat16(number);
      } else if (value->dtype() == DType::kBool) {
        tensor.mutable_data<uint8_t>()[i] = number > -0.5F ? 1 : 0;
      } else {
        tensor.mutable_data<float>()[i] = number;
      }
    }
    inputs.push_back(std::move(tensor));
  }
  ExpectSameHalves(before, after, inputs);
}

bool Changes(std::unique_ptr<Pass> pass, Graph& graph, int compute_capability) {
  const Target target{.info = {.compute_capability = compute_capability}};
  PassContext context{.target = &target};
  const absl::StatusOr<bool> changed = pass->Run(graph, context);
  EXPECT_TRUE(changed.ok()) << changed.status();
  EXPECT_TRUE(Verify(graph).ok()) << Verify(graph);
  return changed.value_or(false);
}

RewrittenFor RewriteFor(std::string_view target, std::unique_ptr<Pass> pass, const Graph& graph) {
  const OwnedTarget owned = *MakeTarget(target);
  RewrittenFor result{.graph = graph.Clone()};
  PassContext context{.target = &owned.target, .remarks = &result.remarks};
  const absl::StatusOr<bool> changed = pass->Run(result.graph, context);
  EXPECT_TRUE(changed.ok()) << changed.status();
  EXPECT_TRUE(DeadCode()->Run(result.graph, context).ok());
  EXPECT_TRUE(Verify(result.graph).ok()) << Verify(result.graph);
  result.changed = changed.value_or(false);
  return result;
}

void ExpectNoRewriteFor(std::string_view target, std::unique_ptr<Pass> pass, const Graph& graph,
                        std::string_view reason) {
  const RewrittenFor result = RewriteFor(target, std::move(pass), graph);
  EXPECT_FALSE(result.changed);
  EXPECT_EQ(PrintOnOneLine(result.graph), PrintOnOneLine(graph));
  EXPECT_EQ(result.remarks.empty() ? "" : result.remarks[0].reason, reason);
}

void ExpectNeedsOpset(std::unique_ptr<Pass> pass, std::string_view text, int opset) {
  for (const int written : {opset - 1, opset}) {
    Graph graph = GraphFromText(text);
    std::vector<Remark> remarks;
    PassContext context{.newest_opset = written, .remarks = &remarks};
    EXPECT_EQ(*pass->Run(graph, context), written == opset);
    EXPECT_EQ(remarks.size(), written == opset ? 0 : 1);
    for (const Remark& remark : remarks) {
      EXPECT_EQ(remark.reason, "the file's opset lacks the op");
    }
  }
}

void ExpectChangesFast(std::unique_ptr<Pass> pass, Graph& graph) {
  PassContext context;
  const auto start = std::chrono::steady_clock::now();
  const absl::StatusOr<bool> changed = pass->Run(graph, context);
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(5));
  ASSERT_TRUE(changed.ok()) << changed.status();
  EXPECT_TRUE(*changed);
}

void ExpectBound(std::string_view text, const InputDims& dims, std::string_view after) {
  const absl::StatusOr<Graph> bound = BindShapes(GraphFromText(text), dims, {});
  ASSERT_TRUE(bound.ok()) << bound.status();
  EXPECT_EQ(PrintOnOneLine(*bound), after);
}

}  // namespace onnx_cudnn
