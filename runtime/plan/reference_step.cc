#include "runtime/plan/reference_step.h"

#include <algorithm>
#include <map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/base/status.h"
#include "runtime/graph/conversion.h"
#include "runtime/ops/evaluate.h"
#include "runtime/ops/op_table.h"
#include "runtime/ops/prepare.h"

namespace onnx_cudnn {
namespace {

constexpr int64_t kAlignment = 64;  // of every tensor in the workspace

// The dense row-major bytes of one Value at run time.
struct Location {
  enum class Kind : uint8_t { kInput, kOutput, kConstant, kWorkspace };
  Kind kind;
  int index = 0;       // of the operand
  int64_t offset = 0;  // into the workspace, bytes
};

// An operand that is not row-major, and the location of its dense form.
struct Repacked {
  int operand;
  DType dtype;
  Dims dims;
  Format format;
  Location dense;
};

// A Node's inputs or outputs, complete except for addresses.
struct Slot {
  DType dtype = DType::kUndefined;
  Dims dims;
  Location location;
};

struct Call {
  const Node* node;  // the Step's own copy
  std::vector<Slot> in, out;
  int64_t workspace_offset = 0;
};

class ReferenceStep final : public Step {
 public:
  ReferenceStep(const Candidate& candidate, Graph graph);

  absl::Status PrepareCalls();
  int64_t workspace_bytes() const override { return workspace_bytes_; }
  absl::Span<const Derived> constants() const override { return constants_; }
  absl::Span<const Alias> aliases() const override { return aliases_; }
  absl::Status Launch(const LaunchArgs& args) const override;
  std::string Save() const override { return ""; }

 private:
  using Locations = std::map<const Value*, Location>;

  Location TakeWorkspace(int64_t bytes);
  void PlaceOperands(const Candidate& candidate, size_t constants, Locations& at);
  void AddCall(const Node& node, Locations& at);
  void FindAliases(const Candidate& candidate);

  Graph graph_;
  std::vector<Repacked> unpacked_, packed_;
  std::vector<Call> calls_;
  std::vector<std::shared_ptr<const void>> prepared_;  // for Nodes of graph_
  std::vector<Derived> constants_;
  std::vector<Alias> aliases_;
  int64_t workspace_bytes_ = 0;
};

ReferenceStep::ReferenceStep(const Candidate& candidate, Graph graph) : graph_(std::move(graph)) {
  const size_t constants = graph_.inputs().size() - candidate.inputs.size();
  Locations at;
  PlaceOperands(candidate, constants, at);
  for (const Node* node : graph_.TopologicalOrder()) AddCall(*node, at);
  if (candidate.nodes.size() == 1) FindAliases(candidate);
}

absl::Status ReferenceStep::PrepareCalls() {
  for (const Call& call : calls_) {
    ASSIGN_OR_RETURN(prepared_.emplace_back(), Prepare(*call.node));
  }
  return absl::OkStatus();
}

Location ReferenceStep::TakeWorkspace(int64_t bytes) {
  const int64_t offset = workspace_bytes_;
  workspace_bytes_ += (bytes + kAlignment - 1) / kAlignment * kAlignment;
  return {.kind = Location::Kind::kWorkspace, .offset = offset};
}

void ReferenceStep::PlaceOperands(const Candidate& candidate, size_t constants, Locations& at) {
  auto place = [&](const Value& value, const Format& format, Location operand,
                   std::vector<Repacked>& repacked) {
    const Dims dims = value.dims();
    if (format == Format::RowMajor(dims)) {
      at[&value] = operand;
      return;
    }
    at[&value] = TakeWorkspace(value.bytes());
    repacked.push_back({operand.index, value.dtype(), dims, format, at[&value]});
  };
  for (int i = 0; i < static_cast<int>(candidate.inputs.size()); ++i) {
    place(*graph_.inputs()[i], candidate.inputs[i].format, {Location::Kind::kInput, i}, unpacked_);
  }
  for (int i = 0; i < static_cast<int>(constants); ++i) {
    const Value& value = *graph_.inputs()[candidate.inputs.size() + i];
    at[&value] = {Location::Kind::kConstant, i};
    constants_.push_back(Unchanged(i, value.dims()));
  }
  for (int i = 0; i < static_cast<int>(candidate.outputs.size()); ++i) {
    place(*graph_.outputs()[i].value, candidate.outputs[i].format, {Location::Kind::kOutput, i},
          packed_);
  }
}

// Values between the Nodes, and unused outputs, are stored in the workspace.
void ReferenceStep::AddCall(const Node& node, Locations& at) {
  auto slot = [&](const Value* value) -> Slot {
    if (value == nullptr) return {};
    auto it = at.find(value);
    if (it == at.end()) it = at.emplace(value, TakeWorkspace(value->bytes())).first;
    return {value->dtype(), value->dims(), it->second};
  };
  Call call{.node = &node};
  for (const Value* v : node.inputs()) call.in.push_back(slot(v));
  for (const Value* v : node.outputs()) call.out.push_back(slot(v));
  const OpDef* op = FindOp(node);
  const int64_t scratch = op == nullptr || op->workspace == nullptr ? 0 : op->workspace(node);
  call.workspace_offset = TakeWorkspace(scratch).offset;
  calls_.push_back(std::move(call));
}

void ReferenceStep::FindAliases(const Candidate& candidate) {
  const Call& call = calls_[0];
  const OpDef* op = FindOp(*call.node);
  if (op == nullptr || !op->in_place || call.out.empty()) return;
  const Slot& out = call.out[0];
  if (out.location.kind != Location::Kind::kOutput) return;
  for (size_t i = 0; i < candidate.inputs.size(); ++i) {
    const Value& in = *graph_.inputs()[i];
    const bool row_major = candidate.inputs[i].format == Format::RowMajor(in.dims());
    if (!row_major || in.dtype() != out.dtype || in.dims() != out.dims) continue;
    aliases_.push_back({out.location.index, static_cast<int>(i), 0, /*required=*/false});
  }
}

const void* Read(const Location& at, const LaunchArgs& args) {
  switch (at.kind) {
    case Location::Kind::kInput:
      return args.in[at.index];
    case Location::Kind::kOutput:
      return args.out[at.index];
    case Location::Kind::kConstant:
      return args.constants[at.index];
    case Location::Kind::kWorkspace:
      break;
  }
  return static_cast<const std::byte*>(args.workspace) + at.offset;
}

void* Written(const Location& at, const LaunchArgs& args) {
  if (at.kind == Location::Kind::kOutput) return args.out[at.index];
  return static_cast<std::byte*>(args.workspace) + at.offset;
}

// The operands of `slots`, whose addresses `at` finds.
template <typename Ref, typename At>
std::vector<Ref> RefsOf(const std::vector<Slot>& slots, At at, const LaunchArgs& args) {
  std::vector<Ref> refs;
  for (const Slot& slot : slots) {
    if (slot.dtype == DType::kUndefined) {
      refs.push_back({});
    } else {
      refs.push_back({slot.dtype, slot.dims, at(slot.location, args)});
    }
  }
  return refs;
}

absl::Status Run(const Call& call, const LaunchArgs& args) {
  const auto in = RefsOf<TensorRef>(call.in, Read, args);
  const auto out = RefsOf<MutableTensorRef>(call.out, Written, args);
  if (IsConversion(*call.node)) {  // logically an identity; the Formats are those of the operands
    Pack(in[0].dtype, in[0].dims, in[0].data, Format::RowMajor(in[0].dims), out[0].data);
    return absl::OkStatus();
  }
  return EvaluateNode({.node = *call.node,
                       .in = in,
                       .out = out,
                       .workspace = static_cast<std::byte*>(args.workspace) + call.workspace_offset,
                       .threads = ThreadPool::Default()});
}

absl::Status ReferenceStep::Launch(const LaunchArgs& args) const {
  for (const Repacked& r : unpacked_) {
    Unpack(r.dtype, r.dims, args.in[r.operand], r.format, Written(r.dense, args));
  }
  for (const Call& call : calls_) RETURN_IF_ERROR(Run(call, args));
  for (const Repacked& r : packed_) {
    Pack(r.dtype, r.dims, Read(r.dense, args), r.format, args.out[r.operand]);
  }
  return absl::OkStatus();
}

// Strings, sequences and other Values without a known byte size are stored outside arenas.
Support CheckValue(const Value& value) {
  if (value.is_static() && BitsOf(value.dtype()) > 0) return Support::Yes();
  return Support::No(absl::StrCat("value ", value.name(), " is ", ToString(value.type()),
                                  ", not a static tensor"));
}

Support CheckNode(const Node& node) {
  for (absl::Span<Value* const> values : {node.inputs(), node.outputs()}) {
    for (const Value* v : values) {
      Support support = v == nullptr ? Support::Yes() : CheckValue(*v);
      if (!support) return support;
    }
  }
  return IsConversion(node) ? Support::Yes() : CheckOp(node);
}

Support CheckFormat(const Value& value, const Format& format) {
  if (BitsOf(value.dtype()) >= 8 || format == Format::RowMajor(value.dims())) return Support::Yes();
  return Support::No(absl::StrCat(NameOf(value.dtype()), " has no format but row-major"));
}

Support CheckFormats(const std::vector<const Value*>& values,
                     const std::vector<Placement>& placements) {
  for (size_t i = 0; i < values.size(); ++i) {
    Support support = CheckFormat(*values[i], placements[i].format);
    if (!support) return support;
  }
  return Support::Yes();
}

}  // namespace

absl::StatusOr<Compiled> CompileReference(const Candidate& candidate) {
  Graph graph = Extract(candidate.nodes);
  for (const Node* node : graph.TopologicalOrder()) {
    Support support = CheckNode(*node);
    if (!support) return Compiled::No(absl::StrCat(Where(*node), ": ", support.reason()));
  }
  const Boundary boundary = BoundaryOf(candidate.nodes);
  Support in = CheckFormats(boundary.inputs, candidate.inputs);
  if (!in) return Compiled::No(in.reason());
  Support out = CheckFormats(boundary.outputs, candidate.outputs);
  if (!out) return Compiled::No(out.reason());
  auto step = std::make_shared<ReferenceStep>(candidate, std::move(graph));
  const absl::Status prepared = step->PrepareCalls();
  if (!prepared.ok()) return Compiled::No(std::string(prepared.message()));
  return Compiled::As(std::move(step));
}

}  // namespace onnx_cudnn
