// Runs ops of ai.onnx.ml.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "runtime/graph/infer.h"
#include "runtime/graph/ml_types.h"
#include "runtime/ops/evaluate.h"
#include "tests/ops/cases.h"

namespace onnx_cudnn {

// `run` in the domain, of opset 3 (5: TreeEnsemble) if it does not say another.
inline OpRun InMlDomain(OpRun run) {
  run.domain = kMlDomain;
  if (run.opset == 0 || run.opset > kNewestMlOpset) run.opset = run.op == "TreeEnsemble" ? 5 : 3;
  return run;
}

inline void ExpectNumbers(const HostTensor& found, const HostTensor& expected, double tolerance) {
  EXPECT_EQ(found.dtype(), expected.dtype());
  const Numbers a = NumbersOf(found), b = NumbersOf(expected);
  ASSERT_EQ(a.dims, b.dims);
  for (size_t i = 0; i < a.values.size(); ++i)
    EXPECT_LE(std::abs(a.values[i] - b.values[i]), tolerance) << "element " << i;
}

inline void ExpectMl(OpRun run, const std::vector<HostTensor>& expected, double tolerance = 0) {
  SCOPED_TRACE(run.op);
  const auto outputs = RunOp(InMlDomain(std::move(run)));
  ASSERT_TRUE(outputs.ok()) << outputs.status();
  ASSERT_EQ(outputs->size(), expected.size());
  for (size_t i = 0; i < expected.size(); ++i) ExpectNumbers((*outputs)[i], expected[i], tolerance);
}

// What OpDef::evaluate gives, for strings.
inline std::vector<HostTensor> EvaluateMl(OpRun run) {
  run = InMlDomain(std::move(run));
  Graph graph;
  std::vector<Value*> inputs;
  for (const HostTensor& tensor : run.inputs) inputs.push_back(&graph.AddConstant(tensor));
  Node& node = graph.AddNode({.op = run.op,
                              .inputs = inputs,
                              .attrs = run.attrs,
                              .domain = run.domain,
                              .opset = run.opset});
  const absl::Status inferred = InferShapes(graph);
  EXPECT_TRUE(inferred.ok()) << inferred;
  const auto outputs = EvaluateConstants(node);
  EXPECT_TRUE(outputs.ok()) << outputs.status();
  if (!outputs.ok()) return {};
  EXPECT_EQ((*outputs)[0].dtype(), node.output(0).dtype());
  return *outputs;
}

inline void ExpectMlStrings(OpRun run, const Dims& dims, const std::vector<std::string>& expected) {
  const std::vector<HostTensor> outputs = EvaluateMl(std::move(run));
  ASSERT_EQ(outputs.size(), 1U);
  EXPECT_EQ(outputs[0].dims(), dims);
  EXPECT_EQ(outputs[0].strings(), expected);
}

// That the shapes, the check or the reference report a part of a message.
inline void ExpectMlError(OpRun run, std::string_view words) {
  const auto outputs = RunOp(InMlDomain(std::move(run)));
  ASSERT_FALSE(outputs.ok());
  EXPECT_TRUE(absl::StrContains(outputs.status().message(), words)) << outputs.status();
}

}  // namespace onnx_cudnn
