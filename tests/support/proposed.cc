#include "tests/support/proposed.h"

#include <algorithm>

#include "absl/log/check.h"
#include "absl/log/log.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "runtime/graph/float16.h"
#include "runtime/ops/evaluate.h"
#include "tests/support/graph_text.h"

namespace onnx_cudnn {
namespace {

class Recorder final : public CandidateSink {
 public:
  void Add(Candidate candidate) override { proposed.candidates.push_back(std::move(candidate)); }
  void No(const Engine&, const Node&, std::string reason) override {
    proposed.reasons.push_back(std::move(reason));
  }
  void NotFused(const Engine&, const Value& edge, const Node& node, const Rule& rule) override {
    EXPECT_FALSE(rule.remedy.empty());
    proposed.not_fused.push_back(absl::StrCat(edge.name(), " to ", node.op(), ": ", rule.says));
  }
  Proposed proposed;
};

OwnedTarget H200() {
  absl::StatusOr<OwnedTarget> owned = MakeTarget("h200");
  CHECK_OK(owned.status());
  return *std::move(owned);
}

std::string NameOfFormat(const Value& value, const Format& format) {
  const Dims dims = value.dims();
  if (format == Format::RowMajor(dims)) return "rows";
  for (const int multiple : {1, 4, 8}) {
    if (format != Format::ChannelsLast(dims, multiple)) continue;
    return multiple == 1 ? "last" : absl::StrCat("last", multiple);
  }
  return format.ToString();
}

std::string NamesOf(const std::vector<const Value*>& values,
                    const std::vector<Placement>& placements) {
  std::vector<std::string> names;
  for (size_t i = 0; i < values.size(); ++i) {
    names.push_back(NameOfFormat(*values[i], placements[i].format));
  }
  return absl::StrJoin(names, " ");
}

HostTensor SmallNumbers(DType dtype, const Dims& dims) {
  HostTensor tensor = HostTensor::Allocate(dtype, dims);
  for (int64_t i = 0; i < tensor.elements(); ++i) {
    const float number = static_cast<float>(i * 5 % 13 - 6) / 8;
    if (dtype == DType::kF16) {
      tensor.mutable_data<Float16>()[i] = ToFloat16(number);
    } else if (dtype == DType::kBF16) {
      tensor.mutable_data<BFloat16>()[i] = ToBFloat16(number);
    } else if (dtype == DType::kBool) {
      tensor.mutable_data<uint8_t>()[i] = number < 0 ? 1 : 0;
    } else {
      tensor.mutable_data<float>()[i] = number;
    }
  }
  return tensor;
}

// The bytes of `tensor` in the layout `format`.
HostTensor Packed(const HostTensor& tensor, const Format& format) {
  HostTensor packed = HostTensor::Allocate(DType::kU8, {format.bytes(tensor.dtype())});
  Pack(tensor.dtype(), tensor.dims(), tensor.raw(), format, packed.mutable_raw());
  return packed;
}

}  // namespace

Proposed ProposedBy(const Engine& engine, const Graph& graph, const Node& anchor,
                    const Target& target) {
  Recorder recorder;
  engine.Propose(graph, anchor, target, recorder);
  return std::move(recorder.proposed);
}

std::string OpsOf(const Candidate& candidate) {
  std::vector<std::string> ops;
  for (const Node* node : candidate.nodes) ops.push_back(node->op());
  return absl::StrCat("{", absl::StrJoin(ops, " "), "}");
}

std::string Describe(const Candidate& candidate) {
  const Boundary boundary = BoundaryOf(candidate.nodes);
  return absl::StrCat(OpsOf(candidate), " ", NamesOf(boundary.inputs, candidate.inputs), " > ",
                      NamesOf(boundary.outputs, candidate.outputs));
}

std::vector<std::string> Describe(const std::vector<Candidate>& candidates) {
  std::vector<std::string> lines;
  for (const Candidate& c : candidates) lines.push_back(Describe(c));
  return lines;
}

EngineTest::EngineTest(std::string_view engine) : owned_(H200()) {
  for (const Engine* e : target_.engines) {
    if (e->name() == engine) engine_ = e;
  }
}

Proposed EngineTest::At(const Graph& graph, const Node& node) const {
  Proposed proposed = ProposedBy(*engine_, graph, node, target_);
  std::vector<std::string> texts;
  for (const Candidate& c : proposed.candidates) {
    texts.push_back(Signature(c, target_));
    const Support support = engine_->Check(graph, c, target_);
    EXPECT_TRUE(static_cast<bool>(support)) << Describe(c) << ": " << support.reason();
    EXPECT_DOUBLE_EQ(c.cost.us, engine_->Price(c, target_).us) << Describe(c);
    const Cost floor = Roofline(c, target_);
    // A Gather may read less than its whole operand.
    EXPECT_TRUE(c.cost.us >= floor.us || c.cost.bytes < floor.bytes) << Describe(c);
    EXPECT_NE(std::find(c.nodes.begin(), c.nodes.end(), &node), c.nodes.end()) << Describe(c);
  }
  std::sort(texts.begin(), texts.end());
  EXPECT_EQ(std::unique(texts.begin(), texts.end()), texts.end());
  EXPECT_LE(texts.size(), 64u);
  return proposed;
}

Proposed EngineTest::At(const Graph& graph, std::string_view op) const {
  return At(graph, FindNode(graph, op));
}

std::vector<std::string> EngineTest::LinesAt(const Graph& graph, std::string_view op) const {
  return Describe(At(graph, op).candidates);
}

void EngineTest::ExpectCases(const std::vector<FusionCase>& cases) const {
  for (const FusionCase& c : cases) {
    SCOPED_TRACE(c.what);
    const Graph graph = GraphWithWeights(c.text);
    const Proposed proposed = At(graph, c.anchor);
    const Candidate* largest = nullptr;
    for (const Candidate& candidate : proposed.candidates) {
      ExpectRunsLikeItsNodes(candidate);
      if (largest == nullptr || candidate.nodes.size() > largest->nodes.size()) {
        largest = &candidate;
      }
    }
    EXPECT_EQ(largest == nullptr ? "" : OpsOf(*largest), c.largest);
    const std::string said = absl::StrCat(absl::StrJoin(proposed.reasons, "\n"), "\n",
                                          absl::StrJoin(proposed.not_fused, "\n"));
    EXPECT_NE(said.find(c.says), std::string::npos) << said;
  }
}

void EngineTest::ExpectRunsLikeItsNodes(const Candidate& candidate) const {
  SCOPED_TRACE(Describe(candidate));
  const Boundary boundary = BoundaryOf(candidate.nodes);
  const absl::StatusOr<Compiled> compiled = engine_->Compile(candidate, {}, target_);
  ASSERT_TRUE(compiled.ok()) << compiled.status();
  ASSERT_NE(compiled->step(), nullptr) << compiled->reason();

  std::vector<HostTensor> sources, in, out, expected;
  for (size_t i = 0; i < boundary.inputs.size(); ++i) {
    const Value& v = *boundary.inputs[i];
    sources.push_back(SmallNumbers(v.dtype(), v.dims()));
    in.push_back(Packed(sources.back(), candidate.inputs[i].format));
  }
  std::vector<HostTensor> forms;
  for (const Value* v : boundary.constants) sources.push_back(v->constant());
  for (const Derived& d : compiled->step()->constants()) {
    std::vector<HostTensor> from;
    for (const int i : d.from) from.push_back(boundary.constants[i]->constant());
    forms.push_back(d.make(from).value());
  }
  std::vector<const void*> constants;
  for (const HostTensor& form : forms) constants.push_back(form.raw());
  const absl::StatusOr<std::vector<HostTensor>> values =
      Evaluate(Extract(candidate.nodes), sources);
  ASSERT_TRUE(values.ok()) << values.status();
  for (size_t i = 0; i < values->size(); ++i) {
    expected.push_back(Packed((*values)[i], candidate.outputs[i].format));
    out.push_back(HostTensor::Allocate(DType::kU8, {expected.back().bytes()}));
  }
  HostTensor workspace = HostTensor::Allocate(DType::kU8, {compiled->step()->workspace_bytes()});
  std::vector<const void*> reads;
  std::vector<void*> writes;
  for (const HostTensor& t : in) reads.push_back(t.raw());
  for (HostTensor& t : out) writes.push_back(t.mutable_raw());
  const absl::Status status = compiled->step()->Launch({.in = reads,
                                                        .out = writes,
                                                        .constants = constants,
                                                        .workspace = workspace.mutable_raw(),
                                                        .stream = {}});
  ASSERT_TRUE(status.ok()) << status;
  for (size_t i = 0; i < out.size(); ++i) EXPECT_TRUE(SameContent(out[i], expected[i]));
}

const Node& FindNode(const Graph& graph, std::string_view op) {
  for (const Node* node : graph.TopologicalOrder()) {
    if (node->op() == op) return *node;
  }
  LOG(FATAL) << "no " << op;
}

Graph GraphWithWeights(std::string_view text) {
  Graph graph = GraphFromText(text);
  for (int i = static_cast<int>(graph.inputs().size()) - 1; i >= 0; --i) {
    Value& input = *graph.inputs()[i];
    if (!input.name().starts_with('w')) continue;
    graph.ReplaceAllUses(input, graph.AddConstant(SmallNumbers(input.dtype(), input.dims())));
    graph.RemoveInput(i);
  }
  return graph;
}

}  // namespace onnx_cudnn
