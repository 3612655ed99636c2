#include "runtime/kernels/common/layouts.h"
#include "runtime/ops/operands.h"

namespace onnx_cudnn {
namespace {

std::vector<Format> Choices(const std::vector<const Value*>& operand) {
  if (operand.empty()) return {};
  std::vector<Format> choices = {InLayout(*operand[0], Layout::kRowMajor)};
  Format last = InLayout(*operand[0], Layout::kChannelsLast);
  if (last != choices[0]) choices.push_back(std::move(last));
  return choices;
}

// Every input layout with every output layout: for the kernel they only change the permutation.
std::vector<Formats> EachWithEach(const Unit& unit, const Target&) {
  std::vector<Formats> found;
  for (const Format& to : Choices(unit.boundary.outputs)) {
    for (const Format& from : Choices(unit.boundary.inputs)) found.push_back({{from}, {to}});
    if (unit.boundary.inputs.empty()) found.push_back({{}, {to}});
  }
  return found;
}

}  // namespace

// Transpose of any type of whole bytes, from row-major or channels-last to either. Uses tiles of 64
// × 64 in shared memory, so that both sides access 16 bytes at once; if the innermost axis stays
// innermost, copies runs of it directly.
Kernel TransposeKernel() {
  return {.ops = {"Transpose"}, .types = kMovableTypes, .formats = EachWithEach};
}

}  // namespace onnx_cudnn
