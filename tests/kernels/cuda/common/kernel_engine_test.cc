// The Engine `kernel` for a GPU, without one: the code that it compiles for every case row, and the
// CUDA calls of its Steps.
#include "runtime/kernels/cuda/common/kernel_engine.h"

#include <algorithm>
#include <cstddef>

#include "absl/strings/str_cat.h"
#include "runtime/graph/infer.h"
#include "runtime/kernels/cuda/common/kernel_step.h"
#include "tests/kernels/cuda/common/recording_cuda.h"
#include "tests/kernels/kernels_fixture.h"
#include "tests/ops/cases.h"

namespace onnx_cudnn {
namespace {

// Limits of any launch on sm_80 to sm_100.
constexpr unsigned kMostGridX = (1u << 31) - 1, kMostGridYZ = 65535, kMostThreads = 1024;
constexpr int kMostSharedBytes = 227 << 10;

// The case as a Graph in which all operands are inputs.
Graph GraphOf(const OpCase& c) {
  Graph graph;
  std::vector<Value*> inputs;
  for (const HostTensor& t : c.inputs) {
    const bool is_there = t.defined();
    inputs.push_back(is_there ? &graph.AddInput("x", Type::Tensor(t.dtype(), t.dims())) : nullptr);
  }
  Node& node = graph.AddNode(
      {.op = c.op,
       .inputs = inputs,
       .attrs = c.attrs,
       .outputs = std::vector<std::string>(std::max<size_t>(1, c.expected.size()), "*")});
  if (!InferShapes(graph).ok()) return Graph();
  for (Value* v : node.outputs()) {
    if (v == nullptr || !v->is_static()) return Graph();
    graph.AddOutput("y", *v);
  }
  return graph;
}

// The error in an address of a call, "" if it is correct.
std::string FaultIn(const Slot& slot, const Candidate& candidate, const KernelCode& code) {
  const auto outside = [&](size_t count) {
    return slot.index < 0 || static_cast<size_t>(slot.index) >= count;
  };
  switch (slot.kind) {
    case Slot::Kind::kInput:
      return outside(candidate.inputs.size()) ? "an input that is not there" : "";
    case Slot::Kind::kOutput:
      return outside(candidate.outputs.size()) ? "an output that is not there" : "";
    case Slot::Kind::kConstant:
      return outside(code.constants.size()) ? "a constant that is not there" : "";
    case Slot::Kind::kWorkspace:
      return slot.offset > code.workspace_bytes ? "beyond the workspace" : "";
    case Slot::Kind::kFault:
      return code.fault == nullptr ? "a fault that nobody explains" : "";
  }
  return "no kind";
}

std::string FaultIn(const KernelCall& call, const Candidate& candidate, const KernelCode& code) {
  const bool launches = call.kind == KernelCall::Kind::kLaunch;
  for (const KernelCall::Address& address : call.addresses) {
    if (std::string fault = FaultIn(address.slot, candidate, code); !fault.empty()) return fault;
    if (launches && address.at + sizeof(void*) > call.parameters.size()) {
      return "an address beyond the parameters";
    }
  }
  for (const KernelCall::Map& map : call.maps) {
    if (std::string fault = FaultIn(map.slot, candidate, code); !fault.empty()) return fault;
    if (map.at + sizeof(TensorMapBytes) > call.parameters.size()) return "a map beyond them";
  }
  if (!launches) return call.bytes < 0 ? "negative bytes" : "";
  const LaunchShape& s = call.shape;
  if (s.grid.x > kMostGridX || s.grid.y > kMostGridYZ || s.grid.z > kMostGridYZ) return "the grid";
  const unsigned threads = s.block.x * s.block.y * s.block.z;
  if (threads == 0 || threads > kMostThreads) return "the block";
  if (s.shared_bytes < 0 || s.shared_bytes > kMostSharedBytes) return "its shared memory";
  return s.grid.x % static_cast<unsigned>(std::max(1, s.cluster)) == 0 ? "" : "its clusters";
}

class KernelEngineTest : public KernelsTest {
 protected:
  // Calls f(graph, candidate) for all Candidates proposed for the cases.
  template <typename F>
  void ForEachCandidate(F f) {
    for (const OpCase& c : AllCases()) {
      const Graph graph = GraphOf(c);
      if (graph.node_count() == 0) continue;
      const Proposed proposed = At(graph, *graph.TopologicalOrder()[0]);
      for (const Candidate& candidate : proposed.candidates) f(graph, candidate);
    }
  }

  const std::unique_ptr<Engine> cuda_ = MakeCudaKernels();
};

TEST_F(KernelEngineTest, CompilesCaseRows) {
  RecordingCuda cuda;
  int compiled = 0, refused = 0;
  ForEachCandidate([&](const Graph& graph, const Candidate& candidate) {
    ASSERT_TRUE(cuda_->Check(graph, candidate, target_)) << Describe(candidate);
    const auto variants = cuda_->Variants(candidate, target_);
    ASSERT_TRUE(variants.ok());
    EXPECT_FALSE(variants->empty()) << Describe(candidate);
    for (const Variant& variant : *variants) {
      const auto result = cuda_->Compile(candidate, variant, target_);
      if (absl::IsInvalidArgument(result.status())) continue;  // rows that expect an error
      ASSERT_TRUE(result.ok()) << variant.text << " " << Describe(candidate) << result.status();
      if (result->step() != nullptr) {
        ++compiled;
      } else {
        ++refused;
        EXPECT_FALSE(result->reason().empty()) << variant.text << " " << Describe(candidate);
      }
    }
  });
  EXPECT_GT(compiled, 200);
  EXPECT_LT(refused, compiled / 20);
}

TEST_F(KernelEngineTest, AddressesAndShapesAreInRange) {
  ForEachCandidate([&](const Graph&, const Candidate& candidate) {
    const auto variants = cuda_->Variants(candidate, target_);
    ASSERT_TRUE(variants.ok());
    for (const Variant& variant : *variants) {
      const auto code = CompileVariant(candidate, variant, target_);
      const auto again = CompileVariant(candidate, variant, target_);
      if (!code.ok()) continue;  // a refusal
      ASSERT_EQ(code->calls.size(), again->calls.size());
      for (size_t i = 0; i < code->calls.size(); ++i) {
        EXPECT_EQ(FaultIn(code->calls[i], candidate, *code), "")
            << variant.text << " " << Describe(candidate);
        EXPECT_EQ(code->calls[i].parameters.size(), again->calls[i].parameters.size());
      }
    }
  });
}

TEST_F(KernelEngineTest, RefusesVariantsOfNoKernel) {
  Graph graph;
  Value& x = graph.AddInput("x", Type::Tensor(DType::kF32, {4, 4}));
  graph.AddOutput("y", Append(graph, "Relu", {&x}));
  const Candidate candidate = At(graph, "Relu").candidates[0];
  const auto refused = cuda_->Compile(candidate, {.text = "no_such_kernel"}, target_);
  EXPECT_EQ(refused.status().message(), "no kernel runs variant \"no_such_kernel\"");
}

class KernelStepTest : public KernelEngineTest {
 protected:
  KernelStepTest() {
    Value& x = graph_.AddInput("x", Type::Tensor(DType::kF32, {2, 3, 8, 8}));
    graph_.AddOutput("y", Append(graph_, "Transpose", {&x}, {{"perm", Ints{0, 2, 3, 1}}}));
  }
  using Ints = std::vector<int64_t>;

  absl::Status CompileAndLaunch(int compute_capability = 90) {
    Target target = target_;
    target.info.compute_capability = compute_capability;
    const Candidate candidate = At(graph_, "Transpose").candidates[0];
    const auto compiled = cuda_->Compile(candidate, {.text = "transpose"}, target);
    if (!compiled.ok()) return compiled.status();
    const void* in[] = {in_};
    void* out[] = {out_};
    return compiled->step()->Launch({.in = in, .out = out, .workspace = nullptr, .stream = {}});
  }

  Graph graph_;
  alignas(16) float in_[2 * 3 * 64] = {}, out_[2 * 3 * 64] = {};
};

TEST_F(KernelStepTest, LaunchesWhatWasCompiled) {
  RecordingCuda cuda;
  ASSERT_TRUE(CompileAndLaunch().ok());
  ASSERT_EQ(cuda.launches().size(), 1u);
  EXPECT_GT(cuda.launches()[0].grid.x, 0u);
}

TEST_F(KernelStepTest, LaunchesOverlapWhereTheDeviceCan) {
  for (const int compute_capability : {80, 89, 90, 100}) {
    RecordingCuda cuda;
    ASSERT_TRUE(CompileAndLaunch(compute_capability).ok());
    ASSERT_EQ(cuda.launches().size(), 1u);
    EXPECT_EQ(cuda.launches()[0].uses_pdl, compute_capability >= 90) << compute_capability;
  }
}

// The first of two launches is told that the second one uses_pdl; for the last one the caller
// decides.
TEST_F(KernelStepTest, ALaunchIsToldWhetherTheNextOneWaits) {
  struct Parameters {
    bool next_uses_pdl;
  };
  for (const bool next_uses_pdl : {false, true}) {
    for (const int compute_capability : {80, 90}) {
      RecordingCuda cuda;
      KernelCode code;
      for (int i = 0; i < 2; ++i) {
        KernelCall call = KernelCall::Of<Parameters>(nullptr, {}, {});
        call.next_uses_pdl_at = offsetof(Parameters, next_uses_pdl);
        code.calls.push_back(std::move(call));
      }
      const auto step = MakeKernelStep(std::move(code), {.compute_capability = compute_capability});
      ASSERT_TRUE(step.ok()) << step.status();
      const bool uses_pdl = compute_capability == 90;
      EXPECT_EQ((*step)->uses_pdl(), uses_pdl);
      ASSERT_TRUE((*step)->Launch({.stream = {}, .next_uses_pdl = next_uses_pdl}).ok());
      ASSERT_EQ(cuda.launches().size(), 2u);
      EXPECT_EQ(cuda.launches()[0].first_byte, std::byte{uses_pdl});
      EXPECT_EQ(cuda.launches()[1].first_byte, std::byte{next_uses_pdl});
    }
  }
}

TEST_F(KernelStepTest, AStepThatBeginsWithACopyDoesNotWait) {
  RecordingCuda cuda;
  KernelCode code;
  code.calls.push_back(KernelCall::Fill(Slot::Output(0), 0, 4));
  const auto step = MakeKernelStep(std::move(code), {.compute_capability = 90});
  ASSERT_TRUE(step.ok()) << step.status();
  EXPECT_FALSE((*step)->uses_pdl());
}

TEST_F(KernelStepTest, EachFailingCallIsAStatus) {
  int calls;
  {
    RecordingCuda cuda;
    ASSERT_TRUE(CompileAndLaunch().ok());
    calls = cuda.calls();
  }
  EXPECT_GE(calls, 2);
  for (int i = 0; i < calls; ++i) {
    RecordingCuda cuda(i);
    EXPECT_FALSE(CompileAndLaunch().ok()) << "call " << i;
  }
}

}  // namespace
}  // namespace onnx_cudnn
