#include "tests/support/program_text.h"

#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "runtime/graph/conversion.h"

namespace onnx_cudnn {
namespace {

// The ids of conversions depend on the order in which they were inserted.
std::string NodeText(const Node* node) {
  return IsConversion(*node) ? node->op() : absl::StrCat(node->op(), " ", node->id());
}

std::string OperandsText(const std::vector<Placement>& placements,
                         const std::vector<Operand>& operands) {
  std::vector<std::string> texts;
  for (const Placement& placement : placements) texts.push_back(placement.format.ToString());
  for (const Operand& o : operands) {
    texts.push_back(absl::StrCat(static_cast<int>(o.kind), ":", static_cast<int>(o.space), ":",
                                 o.index, ":", o.offset, "+", o.bytes));
  }
  return absl::StrJoin(texts, " ");
}

}  // namespace

std::string ProgramText(const Program& program) {
  std::string text;
  for (const ScheduledStep& s : program.schedule.steps) {
    const Partition& p = program.partitions[s.step];
    const PlacedStep& placed = program.steps[s.step];
    absl::StrAppend(&text, s.step, " on ", s.stream, " after ", absl::StrJoin(s.waits, ","), ": ",
                    p.chosen.engine->name(), " ", p.variant.text, " {",
                    absl::StrJoin(p.chosen.nodes, ", ",
                                  [](std::string* out, const Node* n) { *out += NodeText(n); }),
                    "} ", OperandsText(p.chosen.inputs, placed.in), " -> ",
                    OperandsText(p.chosen.outputs, placed.out), "; workspace ",
                    placed.workspace_offset, "\n");
  }
  return absl::StrCat(text, "arenas ", program.memory.arena_bytes, " ",
                      program.host_memory.arena_bytes, ", streams ", program.schedule.streams,
                      "\n");
}

}  // namespace onnx_cudnn
