#include "runtime/import/choose_opset.h"

#include <iterator>
#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/import/downgrade.h"

namespace onnx_cudnn {
namespace {

// Takes later opsets until `graph` can be written.
void Raise(const Graph& graph, OpsetChoice& choice) {
  for (const Node* node : graph.TopologicalOrder()) {
    while (node->domain().empty() && choice.opset < kNewestOpset) {
      Graph constants;
      const auto older = Downgrade(*node, choice.opset, constants);
      if (older.ok()) break;
      choice.reason = absl::StrCat(Where(*node), ": ", older.status().message());
      ++choice.opset;
    }
    for (const auto& [name, body] : node->bodies()) Raise(*body, choice);
  }
  for (const auto& [name, value] : graph.outputs()) {
    while (value->producer() == nullptr && choice.opset < kNewestOpset) {
      const Support takes = CheckIdentity(value->type(), choice.opset);
      if (takes) break;
      choice.reason = absl::StrCat("output \"", name, "\": ", takes.reason());
      ++choice.opset;
    }
  }
}

}  // namespace

OpsetChoice ChooseOpset(const Graph& graph, int least) {
  OpsetChoice choice{.opset = least};
  // An op may have a form before an opset and none in it.
  for (int before = -1; before != choice.opset;) {
    before = choice.opset;
    Raise(graph, choice);
  }
  return choice;
}

int IrVersionOf(int opset) {
  // The first opset of each version, newest first, as ONNX's releases paired them.
  constexpr std::pair<int, int> kFirst[] = {{28, 14}, {25, 13}, {24, 12}, {23, 11}, {21, 10},
                                            {19, 9},  {15, 8},  {12, 7},  {11, 6},  {10, 5}};
  for (const auto& [first, version] : kFirst) {
    if (opset >= first) return version;
  }
  return 4;
}

}  // namespace onnx_cudnn
