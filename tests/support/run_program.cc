#include "tests/support/run_program.h"

#include <cmath>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "gtest/gtest.h"
#include "runtime/base/status.h"
#include "runtime/exec/cpu_device.h"
#include "runtime/exec/host_engine.h"
#include "runtime/exec/view_engine.h"
#include "runtime/graph/print.h"
#include "runtime/ops/evaluate.h"

namespace onnx_cudnn {
namespace {

HostTensor MakeInput(const Value& value, int seed) {
  HostTensor tensor = HostTensor::Allocate(value.dtype(), value.dims());
  std::memset(tensor.mutable_raw(), 0, tensor.bytes());
  if (value.dtype() == DType::kBool) {
    for (uint8_t& x : tensor.mutable_data<uint8_t>()) x = ++seed % 2;
  } else if (value.dtype() == DType::kF32) {
    for (float& x : tensor.mutable_data<float>()) x = static_cast<float>(++seed * 7 % 17 - 8) / 4;
  }
  return tensor;
}

void ExpectEqual(const HostTensor& expected, const HostTensor& actual, std::string_view name) {
  if (expected.dtype() != DType::kF32) {
    EXPECT_TRUE(SameContent(expected, actual)) << name;
    return;
  }
  const absl::Span<const float> want = expected.data<float>(), got = actual.data<float>();
  for (size_t i = 0; i < want.size(); ++i) {
    ASSERT_NEAR(got[i], want[i], 1e-5 * (1 + std::fabs(want[i]))) << name << " at " << i;
  }
}

void RunOnce(const std::shared_ptr<const Program>& program, const CpuDeviceOptions& options,
             const std::vector<HostTensor>& inputs, const std::vector<HostTensor>& expected) {
  const std::unique_ptr<Device> device = MakeCpuDevice(options);
  ConstantStore constants(*device);
  auto executor = Executor::Create(program, *device, constants);
  ASSERT_TRUE(executor.ok()) << executor.status();
  for (int run = 0; run < 2; ++run) {
    const absl::StatusOr<std::vector<HostTensor>> outputs = RunOn(**executor, inputs);
    ASSERT_TRUE(outputs.ok()) << outputs.status();
    for (size_t i = 0; i < expected.size(); ++i) {
      ExpectEqual(expected[i], (*outputs)[i], program->graph.outputs()[i].name);
    }
  }
}

}  // namespace

Target TargetOf(std::vector<const Engine*> engines) {
  return {.info = {}, .engines = std::move(engines)};
}

std::vector<HostTensor> MakeInputs(const Graph& graph) {
  std::vector<HostTensor> inputs;
  for (const Value* v : graph.inputs())
    inputs.push_back(MakeInput(*v, static_cast<int>(inputs.size())));
  return inputs;
}

absl::StatusOr<std::vector<HostTensor>> RunOn(Executor& executor,
                                              absl::Span<const HostTensor> inputs) {
  std::vector<const void*> in;
  for (const HostTensor& t : inputs) in.push_back(t.raw());
  std::vector<HostTensor> outputs;
  std::vector<void*> out;
  for (const GraphOutput& output : executor.program().graph.outputs()) {
    outputs.push_back(HostTensor::Allocate(output.value->dtype(), output.value->dims()));
    out.push_back(outputs.back().mutable_raw());
    std::memset(out.back(), 0xff, outputs.back().bytes());
  }
  RETURN_IF_ERROR(executor.Run(in, out));
  return outputs;
}

std::shared_ptr<const Program> ExpectRunsLikeEvaluate(const Graph& graph, const InputDims& dims,
                                                      const Target& target,
                                                      Partitioner partitioner) {
  const absl::StatusOr<Graph> bound = BindShapes(graph, dims, {});
  EXPECT_TRUE(bound.ok()) << bound.status();
  if (!bound.ok()) return nullptr;
  const std::vector<HostTensor> inputs = MakeInputs(*bound);
  const absl::StatusOr<std::vector<HostTensor>> expected = Evaluate(*bound, inputs);
  EXPECT_TRUE(expected.ok()) << expected.status();
  if (!expected.ok()) return nullptr;
  std::shared_ptr<const Program> first;
  for (const int streams : {1, 2, 3}) {
    const auto program =
        BuildProgram(graph, dims, target, {.partitioner = partitioner, .streams = streams});
    EXPECT_TRUE(program.ok()) << program.status();
    if (!program.ok()) return nullptr;
    if (first == nullptr) first = *program;
    SCOPED_TRACE(absl::StrCat(Print((*program)->graph), Partitions(**program)));
    RunOnce(*program, {}, inputs, *expected);
    for (const uint64_t seed : {1, 2, 3, 4}) {
      RunOnce(*program, {.interleave_seed = seed, .poison = true}, inputs, *expected);
    }
  }
  return first;
}

std::shared_ptr<const Program> ExpectRunsLikeEvaluate(const Graph& graph, const InputDims& dims) {
  const std::unique_ptr<Engine> view = MakeViewEngine();
  const std::unique_ptr<Engine> host = MakeHostEngine(Space::kDevice);
  const auto program = ExpectRunsLikeEvaluate(graph, dims, TargetOf({view.get(), host.get()}));
  return program;
}

std::string Partitions(const Program& program) { return absl::StrJoin(program.remarks, "\n"); }

}  // namespace onnx_cudnn
