#include "tests/kernels/operator_table.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "onnx/defs/data_type_utils.h"
#include "onnx/defs/schema.h"
#include "onnx/onnx_pb.h"
#include "passes/build_program.h"
#include "passes/cut_graph.h"
#include "runtime/graph/infer.h"
#include "runtime/import/contrib.h"
#include "runtime/import/expand_function.h"
#include "runtime/import/gradient.h"
#include "runtime/ops/bounded.h"
#include "runtime/ops/op_table.h"
#include "runtime/session/engines.h"
#include "runtime/session/segments/value_ops.h"
#include "tests/ops/cases.h"
#include "tests/support/proposed.h"

namespace onnx_cudnn {
namespace {

constexpr DType kTypesInOrder[] = {
    DType::kF32,        DType::kF16,    DType::kBF16,       DType::kF64,    DType::kI8,
    DType::kI16,        DType::kI32,    DType::kI64,        DType::kU8,     DType::kU16,
    DType::kU32,        DType::kU64,    DType::kBool,       DType::kString, DType::kF8E4M3FN,
    DType::kF8E4M3FNUZ, DType::kF8E5M2, DType::kF8E5M2FNUZ, DType::kF8E8M0, DType::kF4E2M1,
    DType::kI4,         DType::kU4,     DType::kI2,         DType::kU2,     DType::kC64,
    DType::kC128};

using Types = std::vector<DType>;
using OpKey = std::pair<std::string, std::string>;  // domain, name

bool HasAll(const Types& types, DTypeSet set) {
  return std::all_of(std::begin(kTypesInOrder), std::end(kTypesInOrder), [&](DType d) {
    return !set.Has(d) || std::find(types.begin(), types.end(), d) != types.end();
  });
}

// "floats, i32, i64"
std::string NamesOf(Types types) {
  std::vector<std::string> names;
  const auto take = [&](const char* name, DTypeSet set) {
    if (!HasAll(types, set)) return;
    names.emplace_back(name);
    std::erase_if(types, [&](DType d) { return set.Has(d); });
  };
  take("floats", kFloatTypes);
  take("integers", kIntegerTypes);
  take("f8", {DType::kF8E4M3FN, DType::kF8E4M3FNUZ, DType::kF8E5M2, DType::kF8E5M2FNUZ});
  take("packed", {DType::kI4, DType::kU4, DType::kI2, DType::kU2});
  take("complex", {DType::kC64, DType::kC128});
  for (DType d : types) names.emplace_back(NameOf(d));
  return absl::StrJoin(names, ", ");
}

// The versions of each op, oldest first.
std::map<OpKey, std::vector<int>> AllVersions() {
  std::map<OpKey, std::vector<int>> versions;
  for (const onnx::OpSchema& schema : onnx::OpSchemaRegistry::get_all_schemas_with_history())
    versions[{schema.domain(), schema.Name()}].push_back(schema.since_version());
  for (auto& [key, of_op] : versions) std::sort(of_op.begin(), of_op.end());
  return versions;
}

// Whether the schema allows the type for what OpDef::types describes.
bool Allows(const onnx::OpSchema& schema, DType dtype) {
  onnx::TypeProto type;
  type.mutable_tensor_type()->set_elem_type(static_cast<int>(dtype));
  const auto& typed = schema.inputs().empty() ? schema.outputs() : schema.inputs();
  return typed.empty() || typed[0].GetTypes().contains(onnx::Utils::DataTypeUtils::ToType(type));
}

// The elements of `t` in another type, positive and finite; zeros in types that are no numbers.
HostTensor As(DType dtype, const HostTensor& t) {
  if (kNumberTypes.Has(dtype) && (kFixedSizeTypes.Has(t.dtype()))) {
    std::vector<double> values = NumbersOf(t).values;
    for (double& v : values) v = std::isfinite(v) ? std::abs(v) : 1;
    return TensorOf(dtype, t.dims(), values);
  }
  HostTensor zeros = HostTensor::Allocate(dtype, t.dims());
  std::memset(zeros.mutable_raw(), 0, zeros.bytes());
  return zeros;
}

// Whether input `i` is a shape, an axis or an extent, which is constant in a static Graph.
bool IsParameter(const OpCase& c, size_t i) {
  return c.op == "Range" || (i > 0 && (c.op == "Resize" || !kFloatTypes.Has(c.inputs[i].dtype())));
}

// A Graph of one Node: the case with `dtype` for its first input and the others of its type.
// Parameters are constants, the other inputs are those of the Graph.
std::optional<Graph> GraphOf(const OpCase& c, DType dtype, bool first_is_constant) {
  Graph graph;
  std::vector<Value*> inputs;
  const DType given = c.inputs.empty() ? DType::kUndefined : c.inputs[0].dtype();
  const bool keeps = given == dtype || c.inputs.empty();
  if (!keeps && (dtype == DType::kString || given == DType::kString)) return std::nullopt;
  for (size_t i = 0; i < c.inputs.size(); ++i) {
    const HostTensor& t = c.inputs[i];
    if (!t.defined()) {
      inputs.push_back(nullptr);
      continue;
    }
    const bool changes = !keeps && t.dtype() == given;
    const bool is_constant = IsParameter(c, i) || (i == 0 && first_is_constant);
    const Type type = Type::Tensor(changes ? dtype : t.dtype(), t.dims());
    inputs.push_back(is_constant ? &graph.AddConstant(changes ? As(dtype, t) : t)
                                 : &graph.AddInput(absl::StrCat("x", i), type));
  }
  Node& node = graph.AddNode(
      {.op = c.op,
       .inputs = inputs,
       .attrs = c.attrs,
       .outputs = std::vector<std::string>(std::max<size_t>(1, c.expected.size()), "*"),
       .domain = c.domain});
  if (!InferShapes(graph).ok()) return std::nullopt;
  for (Value* v : node.outputs()) graph.AddOutput("y", *v);
  return graph;
}

// With an Identity before each output: `view` refuses graph outputs.
Graph WithInnerResults(const Graph& graph) {
  Graph inner = graph.Clone();
  for (size_t i = 0; i < inner.outputs().size(); ++i) {
    Value& value = *inner.outputs()[i].value;
    Node& end = inner.AddNode({.op = "Identity", .inputs = {&value}});
    inner.SetType(end.output(0), value.type());
    inner.SetOutput(static_cast<int>(i), end.output(0));
  }
  return inner;
}

// Whether an op runs between Programs whatever its shapes, with this type for its first input.
bool RunsBetween(const OpKey& key, DType dtype) {
  if (IsValueOp(key.first, key.second)) return true;
  Graph graph;
  Value& x = graph.AddInput("x", Type::Tensor(dtype, {1}));
  return RunsBetweenPrograms(
      graph.AddNode({.op = key.second, .inputs = {&x}, .domain = key.first}));
}

// What runs an op with one type.
struct Runs {
  bool inferred = false, on_cpu = false;
  std::set<std::string> engines;       // of h200, that propose it
  std::set<std::string> of_bound;      // those of its bounded form (runtime/ops/bounded.h)
  std::set<std::string> of_expansion;  // those of the ops that replace it
  bool folds = false;                  // it is a constant once shapes are bound
  bool between_programs = false;
};

class Trials {
 public:
  Runs Of(const OpDef& op, DType dtype) const {
    Runs runs;
    runs.between_programs = RunsBetween({op.domain, op.type}, dtype);
    const auto is_of = [&](const OpCase& c) {
      return c.op == op.type && c.domain == op.domain && c.error.empty();
    };
    for (const OpCase& c : cases_) {
      if (!is_of(c)) continue;
      if (const auto graph = GraphOf(c, dtype, /*first_is_constant=*/false)) Try(*graph, runs);
      if (!runs.engines.empty()) continue;
      if (const auto graph = GraphOf(c, dtype, /*first_is_constant=*/true)) Try(*graph, runs);
    }
    for (const OpCase& c : data_dependent_) {
      if (!is_of(c)) continue;
      if (auto graph = GraphOf(c, dtype, /*first_is_constant=*/false))
        TryBounded(*std::move(graph), runs);
    }
    return runs;
  }

 private:
  void Try(const Graph& graph, Runs& runs) const {
    runs.inferred = true;
    const Graph inner = WithInnerResults(graph);
    const Node& node = *inner.TopologicalOrder()[0];
    if (!CheckOp(node)) return;
    runs.on_cpu = true;
    AddEngines(inner, node, runs.engines);
    const bool is_constant = node.has_input(0) && node.input(0).is_constant();
    if (runs.engines.empty() && !is_constant) TryToReplace(graph, node.op(), runs);
  }

  void TryBounded(Graph graph, Runs& runs) const {
    Node& node = *graph.TopologicalOrder()[0];
    const std::optional<BoundedForm> form = BoundedFormOf(node);
    if (!form.has_value()) return;
    AddEngines(graph, *ReplaceByBounded(graph, node, *form).bounded, runs.of_bound);
  }

  void AddEngines(const Graph& graph, const Node& node, std::set<std::string>& engines) const {
    for (const Engine* engine : h200_.target.engines) {
      if (engine->name() == "host") continue;
      if (!ProposedBy(*engine, graph, node, h200_.target).candidates.empty())
        engines.emplace(engine->name());
    }
  }

  void TryToReplace(const Graph& graph, const std::string& op, Runs& runs) const {
    const auto program = BuildProgram(graph, {}, h200_.target, {.functions = &kOnnxFunctions});
    if (!program.ok()) return;
    bool folds = true;
    for (const Node* node : (*program)->graph.TopologicalOrder()) {
      if (node->op() == op) return;
      folds &= node->op() == "Identity";
    }
    runs.folds |= folds;
    if (folds) return;
    for (const Partition& partition : (*program)->partitions)
      runs.of_expansion.emplace(partition.chosen.engine->name());
  }

  const std::vector<OpCase> cases_ = Joined({AllCases, ContribCases}),
                            data_dependent_ = DataDependentCases();
  const OwnedTarget h200_ = *MakeTarget("h200");
};

// "cudnn, kernel", "bounded: kernel" or "expanded: gemm, view"
std::string EnginesOf(const Runs& runs) {
  if (!runs.engines.empty()) return absl::StrJoin(runs.engines, ", ");
  if (!runs.of_bound.empty()) return absl::StrCat("bounded: ", absl::StrJoin(runs.of_bound, ", "));
  if (!runs.of_expansion.empty())
    return absl::StrCat("expanded: ", absl::StrJoin(runs.of_expansion, ", "));
  if (runs.folds) return "a constant once shapes are bound";
  return runs.between_programs ? "between Programs" : "host";
}

// "f32, f16: cudnn, kernel; f64: kernel", the types named only where they differ.
std::string OnGpu(const std::vector<std::pair<DType, std::string>>& engines) {
  std::vector<std::pair<std::string, Types>> groups;
  for (const auto& [dtype, names] : engines) {
    auto group =
        std::find_if(groups.begin(), groups.end(), [&](const auto& g) { return g.first == names; });
    if (group == groups.end()) group = groups.insert(group, {names, {}});
    group->second.push_back(dtype);
  }
  if (groups.size() == 1) return groups[0].first;
  return absl::StrJoin(groups, "; ", [](std::string* out, const auto& group) {
    absl::StrAppend(out, NamesOf(group.second), ": ", group.first);
  });
}

std::string RowOf(const OpDef& op, const std::vector<int>& versions, const Trials& trials) {
  const onnx::OpSchema* schema =
      onnx::OpSchemaRegistry::Schema(op.type, op.since.back(), op.domain);
  Types types;
  std::vector<std::pair<DType, std::string>> engines;
  for (DType dtype : kTypesInOrder) {
    if (!op.types.Has(dtype) || (schema != nullptr && !Allows(*schema, dtype))) continue;
    const Runs runs = trials.Of(op, dtype);
    if (runs.inferred && !runs.on_cpu) continue;  // OpDef::check refuses it
    types.push_back(dtype);
    engines.emplace_back(dtype, EnginesOf(runs));
  }
  return absl::StrCat("| ", op.domain, op.domain.empty() ? "" : ".", op.type, " | ",
                      absl::StrJoin(versions, ", "), " | ", NamesOf(types), " | ", OnGpu(engines),
                      " |\n");
}

// Ops without a definition.
struct OtherOps {
  std::vector<std::string> functions, replaced, between, unsupported;
};

bool IsReplacedAtImport(const OpKey& key) {
  onnx::NodeProto node;
  node.set_domain(key.first);
  node.set_op_type(key.second);
  return IsContrib(key.first, key.second) || IsGradient(node) || key == OpKey("", "Constant");
}

std::vector<std::string>& ListFor(const OpKey& key, const onnx::OpSchema* schema, OtherOps& ops) {
  if (IsReplacedAtImport(key)) return ops.replaced;
  if (RunsBetween(key, DType::kF32)) return ops.between;
  const bool is_function = schema->HasFunction() || schema->HasContextDependentFunction();
  return is_function ? ops.functions : ops.unsupported;
}

OtherOps OpsWithoutDefinition(const std::map<OpKey, std::vector<int>>& versions) {
  std::set<OpKey> keys;
  for (const auto& [domain, name] : ContribOps()) keys.emplace(domain, name);
  for (const auto& [key, of_op] : versions) keys.insert(key);
  OtherOps ops;
  for (const OpKey& key : keys) {
    const auto& [domain, name] = key;
    const onnx::OpSchema* schema = onnx::OpSchemaRegistry::Schema(name, domain);
    if (FindOp(name, domain) != nullptr || (schema != nullptr && schema->Deprecated())) continue;
    ListFor(key, schema, ops).push_back(absl::StrCat(domain, domain.empty() ? "" : ".", name));
  }
  return ops;
}

// Nothing for a list that is empty.
std::string Section(const char* title, const char* text, const std::vector<std::string>& ops) {
  if (ops.empty()) return "";
  return absl::StrCat("\n## ", title, "\n\n", text, absl::StrJoin(ops, ", "), ".\n");
}

constexpr std::string_view kHead =
    "<!-- Generated by test_kernels (tests/kernels/operator_table.cc); do not edit. -->\n"
    "# Operators\n\n"
    "What runs each op. The page is made from the definitions of ops, ONNX's schemas and the "
    "rules of the Engines, and a test compares\nthem. Exceptions: [limits.md](limits.md).\n\n"
    "- **Opsets**: the versions of its definition. Import rewrites older ones as "
    "the newest.\n"
    "- **CPU device**: the types of its first input, or output, that it runs. Floats: f32, f16, "
    "bf16, "
    "f64; "
    "integers: of 8 to 64 bits, with and without sign;\n"
    "  f8: f8e4m3fn, f8e4m3fnuz, f8e5m2, f8e5m2fnuz; packed: i4, u4, i2, u2; complex: c64, c128.\n"
    "- **H200**: the Engines that run it in a Program for h200 ([architecture.md]"
    "(architecture.md)). An Engine is listed if it takes at least one of\n"
    "  the case rows in `tests/ops`: it may refuse other forms, and one that is not listed may "
    "take "
    "forms that no row has. `expanded`: other\n"
    "  ops replace it, and these Engines run them; `bounded`: the shape of its output depends on "
    "data, they compute it in memory for the most elements\n"
    "  that it can have, and the Program ends; `host`: the reference, between two transfers; "
    "`between Programs`: on the host, and never part of a Program.\n\n";

}  // namespace

std::string OperatorPage() {
  const std::map<OpKey, std::vector<int>> versions = AllVersions();
  const Trials trials;
  std::string page(kHead);
  page += "| op | opsets | CPU device: types | H200: Engines |\n|---|---|---|---|\n";
  for (const OpDef* op : AllOps()) {
    if (op->domain == kOwnDomain) continue;
    const auto of_op = versions.find({op->domain, op->type});
    page += RowOf(*op, of_op == versions.end() ? op->since : of_op->second, trials);
  }
  const OtherOps other = OpsWithoutDefinition(versions);
  page += Section("Expanded by ONNX's own function", "", other.functions);
  page += Section("Replaced at import",
                  "By other ops, `Constant` by its value. [limits.md](limits.md) says which forms "
                  "are refused.\n\n",
                  other.replaced);
  page += Section("Run between Programs",
                  "The host runs them; the bodies of control flow are Programs of their own. Loops "
                  "whose iterations can be counted, and\nsequences whose lengths and positions are "
                  "known, are resolved while shapes are bound instead.\n\n",
                  other.between);
  page += Section("Not supported", "", other.unsupported);
  return page;
}

}  // namespace onnx_cudnn
