// Every case row through every Candidate that every Engine of the GPU proposes, in every floating
// type that it supports. GTEST_TOTAL_SHARDS divides the rows, ONNX_CUDNN_ENGINE=NAME selects one
// Engine.
#include <algorithm>
#include <iostream>
#include <optional>

#include "absl/strings/str_cat.h"
#include "runtime/graph/infer.h"
#include "tests/gpu/check_candidate.h"
#include "tests/gpu/gpu_test.h"
#include "tests/ops/bounded_node.h"
#include "tests/ops/cases.h"
#include "tests/support/proposed.h"

namespace onnx_cudnn {
namespace {

// Which inputs of a case are constants of the model.
enum class Constants : uint8_t {
  kNone,
  kParameters,  // shapes, axes, extents: what is no float
  kAllButFirst,
};
constexpr Constants kAllConstants[] = {Constants::kNone, Constants::kParameters,
                                       Constants::kAllButFirst};

struct Row {
  OpCase test;
  DType dtype = DType::kUndefined;  // what floats are cast to; kUndefined: as they stand
};

bool HasF32(const OpCase& c) {
  return std::any_of(c.inputs.begin(), c.inputs.end(),
                     [](const HostTensor& t) { return t.dtype() == DType::kF32; });
}

std::vector<Row> MakeRows() {
  std::vector<Row> rows;
  for (const OpCase& c : Joined({AllCases, MovementErrorCases, DataDependentCases, ContribCases})) {
    rows.push_back({c});
    if (!HasF32(c)) continue;
    for (const DType dtype : {DType::kF16, DType::kBF16, DType::kF64}) rows.push_back({c, dtype});
  }
  return rows;
}

const std::vector<Row>& AllRows() {
  static const auto& rows = *new std::vector<Row>(MakeRows());
  return rows;
}

HostTensor In(const HostTensor& tensor, DType dtype) {
  if (dtype == DType::kUndefined || tensor.dtype() != DType::kF32) return tensor;
  return TensorOf(dtype, tensor.dims(), NumbersOf(tensor).values);
}

// The row as a Graph, and the contents of its inputs. No Graph: its types do not match, or its
// shapes depend on numbers that are not constant.
struct Case {
  Graph graph;
  std::vector<HostTensor> inputs;
  const Node* node = nullptr;
};

bool IsConstant(size_t index, const HostTensor& tensor, Constants constants) {
  if (constants == Constants::kAllButFirst) return index > 0;
  return constants == Constants::kParameters && !kFloatTypes.Has(tensor.dtype());
}

std::optional<Case> MakeCase(const Row& row, Constants constants) {
  Case made;
  std::vector<Value*> inputs;
  for (size_t i = 0; i < row.test.inputs.size(); ++i) {
    const HostTensor& t = row.test.inputs[i];
    if (!t.defined()) {
      inputs.push_back(nullptr);
      continue;
    }
    const HostTensor tensor = In(t, row.dtype);
    if (IsConstant(i, tensor, constants)) {
      inputs.push_back(&made.graph.AddConstant(tensor));
    } else {
      const Type type = Type::Tensor(tensor.dtype(), tensor.dims());
      inputs.push_back(&made.graph.AddInput(absl::StrCat("x", i), type));
      made.inputs.push_back(tensor);
    }
  }
  Node& node = made.graph.AddNode(
      {.op = row.test.op,
       .inputs = inputs,
       .attrs = row.test.attrs,
       .outputs = std::vector<std::string>(std::max<size_t>(1, row.test.expected.size()), "*"),
       .domain = row.test.domain});
  if (!InferShapes(made.graph).ok()) return std::nullopt;
  made.node = BoundOnlyNode(made.graph);
  if (made.node != nullptr) return made;
  for (Value* v : node.outputs()) {
    if (v == nullptr || !v->is_static()) return std::nullopt;
    made.graph.AddOutput("y", *v);
  }
  made.node = &node;
  return made;
}

// The values of a Candidate's inputs, in its order; the same Value only once.
std::vector<HostTensor> InputsOf(const Candidate& candidate, const Case& made) {
  std::vector<HostTensor> tensors;
  for (const Value* v : BoundaryOf(candidate.nodes).inputs) {
    const auto& inputs = made.graph.inputs();
    const auto at = std::find(inputs.begin(), inputs.end(), v) - inputs.begin();
    tensors.push_back(made.inputs[at]);
  }
  return tensors;
}

class CaseRowsTest : public GpuTest, public testing::WithParamInterface<int> {
 protected:
  void Check(const Row& row, const Case& made) {
    for (const Engine* engine : target().engines) {
      if (engine->name() == "host" || engine->name() == "view") continue;
      const std::string only = Variable("ONNX_CUDNN_ENGINE");
      if (!only.empty() && engine->name() != only) continue;
      const Proposed proposed = ProposedBy(*engine, made.graph, *made.node, target());
      for (const Candidate& candidate : proposed.candidates) {
        const CandidateCheck check{.candidate = candidate,
                                   .target = target(),
                                   .device = device(),
                                   .constants = constants(),
                                   .least_tolerance = row.test.tolerance,
                                   .expects_error = !row.test.error.empty()};
        Expect(row, CheckCandidate(check, InputsOf(candidate, made)));
      }
    }
  }

  // For a row that expects an error: the device reports the same error as the host.
  void Expect(const Row& row, const absl::StatusOr<CandidateResult>& result) {
    if (!row.test.error.empty()) {
      if (result.ok() && result->ran == 0) return;
      ASSERT_FALSE(result.ok());
      EXPECT_NE(result.status().message().find(row.test.error), std::string::npos)
          << result.status();
      return;
    }
    ASSERT_TRUE(result.ok()) << result.status();
    for (const std::string& wrong : result->wrong) ADD_FAILURE() << wrong;
    for (const std::string& refused : result->refused) std::cout << "refused: " << refused << "\n";
    ran_ += result->ran;
  }

  int ran_ = 0;
};

TEST_P(CaseRowsTest, GivesWhatTheReferenceGives) {
  const Row& row = AllRows()[GetParam()];
  for (const Constants constants : kAllConstants) {
    const std::optional<Case> made = MakeCase(row, constants);
    if (made.has_value()) Check(row, *made);
  }
  RecordProperty("ran", ran_);
}

std::string RowName(const testing::TestParamInfo<int>& info) {
  const Row& row = AllRows()[info.param];
  const std::string dtype(row.dtype == DType::kUndefined ? "asis" : NameOf(row.dtype));
  return absl::StrCat(row.test.op, "_", dtype, "_", info.param);
}

INSTANTIATE_TEST_SUITE_P(Ops, CaseRowsTest, testing::Range(0, static_cast<int>(AllRows().size())),
                         RowName);

}  // namespace
}  // namespace onnx_cudnn
