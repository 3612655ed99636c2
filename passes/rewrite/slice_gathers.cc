// A Gather of one constant index takes a part as a Slice does, which Engines read in place where it
// is contiguous or an operand has strides.
#include "passes/rewrite/rewrites.h"
#include "runtime/ops/checks.h"

namespace onnx_cudnn {
namespace {

class SliceGathersPass final : public OpPass {
 public:
  SliceGathersPass() : OpPass("slice-gathers", {"Gather"}) {}

  absl::StatusOr<Match> Visit(Graph& graph, Node& gather) override {
    Value& x = gather.input(0);
    const Value& index = gather.input(1);
    // Elements of shapes are Gathers too, which other passes look for.
    if (!kFloatTypes.Has(x.dtype()) || x.is_constant() || !x.type().ranked || x.rank() < 2) {
      return Match::None();
    }
    if (!index.is_constant() || index.rank() > 1 || index.elements() != 1) return Match::None();
    const absl::StatusOr<std::vector<int64_t>> at = ToInts(index.constant());
    const int64_t axis = NormalizedAxis(gather.attrs().Int("axis", 0), x.rank());
    if (!at.ok() || axis < 0 || axis >= x.rank()) return Match::None();
    const int64_t extent = x.dim(static_cast<int>(axis));
    if (extent < 0) return Match::No(gather, "the extent of its axis is not known");
    const int64_t first = (*at)[0] < 0 ? (*at)[0] + extent : (*at)[0];
    if (first < 0 || first >= extent) return Match::No(gather, "its index is out of range");
    Replace(graph, gather, x, axis, first);
    return Match::Changed();
  }

 private:
  static void Replace(Graph& graph, Node& gather, Value& x, int64_t axis, int64_t first) {
    const auto ints = [&](int64_t n, std::string_view name) -> Value* {
      return &graph.AddConstant(HostTensor::Ints({n}), name);
    };
    const bool keeps_axis = gather.input(1).rank() == 1;
    Node& slice = graph.AddNode(
        {.op = "Slice",
         .inputs = {&x, ints(first, "begin"), ints(first + 1, "end"), ints(axis, "axis")},
         .name = gather.name()});
    Type type = x.type();
    type.dims[axis] = {.value = 1};
    graph.SetType(slice.output(0), type);
    Value* y = &slice.output(0);
    if (!keeps_axis) {
      Node& squeeze = graph.AddNode({.op = "Squeeze", .inputs = {y, ints(axis, "axes")}});
      graph.SetType(squeeze.output(0), gather.output(0).type());
      y = &squeeze.output(0);
    }
    graph.ReplaceAllUses(gather.output(0), *y);
  }
};

}  // namespace

std::unique_ptr<Pass> SliceGathers() { return std::make_unique<SliceGathersPass>(); }

}  // namespace onnx_cudnn
