// Scan with a body of static types: the body runs once per slice, with its ops' references.
#include <algorithm>
#include <vector>

#include "absl/strings/str_cat.h"
#include "runtime/base/status.h"
#include "runtime/ops/body.h"
#include "runtime/ops/checks.h"
#include "runtime/ops/evaluate.h"
#include "runtime/ops/operands.h"
#include "runtime/ops/strided_copy.h"

namespace onnx_cudnn {
namespace {

// Inputs: states, then scanned tensors, then captures. Outputs: the final states, then the stacked
// slices.
struct ScanForm {
  const Graph* body;
  int64_t states, scans, collected;
};

ScanForm FormOf(const Node& node) {
  const Graph& body = *node.bodies().find("body")->second;
  const int64_t scans = node.attrs().Int("num_scan_inputs", 0);
  const int64_t states = static_cast<int64_t>(node.inputs().size()) - node.captures() - scans;
  return {&body, states, scans, static_cast<int64_t>(body.outputs().size()) - states};
}

// Element `i` of an optional list attribute.
int64_t At(const Node& node, std::string_view attribute, int64_t i) {
  const std::vector<int64_t> list = node.attrs().Ints(attribute);
  return i < static_cast<int64_t>(list.size()) ? list[i] : 0;
}

Support CheckMovable(const Value& value) {
  if (value.is_static() && kMovableTypes.Has(value.dtype())) return Support::Yes();
  return Support::No(absl::StrCat(value.name(), " of the body is ", ToString(value.type()),
                                  "; a static shape is needed"));
}

// Checks that `whole` consists of slices of the type of the body's `slice`.
Support CheckSlices(const Node& node, const Value& whole, const Value& slice, std::string_view axes,
                    int64_t i) {
  if (whole.dtype() != slice.dtype() || whole.rank() != slice.rank() + 1)
    return Support::No(absl::StrCat(whole.name(), " is ", ToString(whole.type()), ", no stack of ",
                                    ToString(slice.type())));
  return CheckAxis(At(node, axes, i), whole.rank());
}

Support CheckSame(const Value& a, const Value& b) {
  if (a.type() == b.type()) return Support::Yes();
  return Support::No(absl::StrCat("the state ", a.name(), " changes its type from ",
                                  ToString(a.type()), " to ", ToString(b.type())));
}

Support CheckValuesOf(const Node& node, const ScanForm& form) {
  const Graph& body = *form.body;
  for (const Value* v : body.inputs()) {
    if (Support s = CheckMovable(*v); !s) return s;
  }
  for (const GraphOutput& output : body.outputs()) {
    if (Support s = CheckMovable(*output.value); !s) return s;
  }
  for (int64_t i = 0; i < form.states; ++i) {
    if (Support s = CheckSame(node.input(i), *body.inputs()[i]); !s) return s;
    if (Support s = CheckSame(*body.inputs()[i], *body.outputs()[i].value); !s) return s;
  }
  for (int64_t i = 0; i < form.scans; ++i) {
    const int64_t at = form.states + i;
    if (Support s = CheckSlices(node, node.input(at), *body.inputs()[at], "scan_input_axes", i); !s)
      return s;
  }
  for (int64_t i = 0; i < form.collected; ++i) {
    const int64_t at = form.states + i;
    if (!node.has_output(at)) continue;
    if (Support s =
            CheckSlices(node, node.output(at), *body.outputs()[at].value, "scan_output_axes", i);
        !s)
      return s;
  }
  return Support::Yes();
}

Support CheckScan(const Node& node) {
  const auto body = node.bodies().find("body");
  if (body == node.bodies().end()) return Support::No("there is no body");
  const ScanForm form = FormOf(node);
  const bool fits = form.scans >= 1 && form.states >= 0 && form.collected >= 0 &&
                    body->second->inputs().size() == node.inputs().size() &&
                    node.outputs().size() <= body->second->outputs().size();
  if (!fits) return Support::No("the body's inputs and outputs do not match the node's");
  if (std::find(node.inputs().begin(), node.inputs().end(), nullptr) != node.inputs().end())
    return Support::No("an input is absent");
  if (Support s = CheckValuesOf(node, form); !s) return s;
  return CheckBodyOps(*form.body, "body");
}

// Slices of a tensor along one axis, from the first or, if reversed, the last.
struct Slices {
  AxisView view;
  bool reversed;

  Slices(const Node& node, absl::Span<const int64_t> dims, std::string_view axes,
         std::string_view directions, int64_t i)
      : view(ViewAround(dims, NormalizedAxis(At(node, axes, i), dims.size()))),
        reversed(At(node, directions, i) == 1) {}

  // The offset of slice `step` in elements.
  int64_t First(int64_t step) const {
    return (reversed ? view.extent - 1 - step : step) * view.inner;
  }
  int64_t stride() const { return view.extent * view.inner; }
};

class Scanner {
 public:
  explicit Scanner(const ReferenceArgs& args) : args_(args), form_(FormOf(args.node)) {}

  absl::Status Run() {
    ASSIGN_OR_RETURN(const int64_t steps, Steps());
    std::vector<HostTensor> states;
    for (int64_t i = 0; i < form_.states; ++i) states.push_back(Borrowed(args_.in[i]));
    for (int64_t step = 0; step < steps; ++step) {
      std::vector<HostTensor> inputs = states;
      for (int64_t i = 0; i < form_.scans; ++i) inputs.push_back(Slice(i, step));
      for (const TensorRef& in : args_.in.last(args_.node.captures()))
        inputs.push_back(Borrowed(in));
      ASSIGN_OR_RETURN(const std::vector<HostTensor> results, Evaluate(*form_.body, inputs));
      states.assign(results.begin(), results.begin() + form_.states);
      for (int64_t i = 0; i < form_.collected; ++i) Collect(i, step, results[form_.states + i]);
    }
    for (int64_t i = 0; i < form_.states; ++i) {
      if (args_.has_out(i))
        CopyBytes(states[i].raw(), args_.out[i].data, args_.out[i].bytes(), args_.threads);
    }
    return absl::OkStatus();
  }

 private:
  Slices InputSlices(int64_t i) const {
    return {args_.node, args_.in[form_.states + i].dims, "scan_input_axes", "scan_input_directions",
            i};
  }
  Slices OutputSlices(int64_t i) const {
    return {args_.node, args_.out[form_.states + i].dims, "scan_output_axes",
            "scan_output_directions", i};
  }

  // The common extent of the scanned axes.
  absl::StatusOr<int64_t> Steps() const {
    const int64_t steps = InputSlices(0).view.extent;
    for (int64_t i = 0; i < form_.scans + form_.collected; ++i) {
      const int64_t output = i - form_.scans;
      if (output >= 0 && !args_.has_out(form_.states + output)) continue;
      const int64_t extent =
          output < 0 ? InputSlices(i).view.extent : OutputSlices(output).view.extent;
      if (extent != steps)
        return absl::InvalidArgumentError(
            absl::StrCat("a scanned axis has ", extent, " slices, the first one ", steps));
    }
    return steps;
  }

  HostTensor Slice(int64_t i, int64_t step) const {
    const TensorRef& in = args_.in[form_.states + i];
    const Slices slices = InputSlices(i);
    HostTensor slice =
        HostTensor::Allocate(in.dtype, form_.body->inputs()[form_.states + i]->dims());
    const int bytes = ElementBytes(in.dtype);
    StridedCopy(
        static_cast<const char*>(in.data) + slices.First(step) * bytes, slice.mutable_raw(), bytes,
        {{slices.view.outer, slices.stride(), slices.view.inner}, {slices.view.inner, 1, 1}},
        args_.threads);
    return slice;
  }

  void Collect(int64_t i, int64_t step, const HostTensor& slice) const {
    if (!args_.has_out(form_.states + i)) return;
    const MutableTensorRef& out = args_.out[form_.states + i];
    const Slices slices = OutputSlices(i);
    const int bytes = ElementBytes(out.dtype);
    StridedCopy(
        slice.raw(), static_cast<char*>(out.data) + slices.First(step) * bytes, bytes,
        {{slices.view.outer, slices.view.inner, slices.stride()}, {slices.view.inner, 1, 1}},
        args_.threads);
  }

  const ReferenceArgs& args_;
  ScanForm form_;
};

absl::Status ReferenceScan(const ReferenceArgs& args) { return Scanner(args).Run(); }

Cost ScanCost(const Node& node) {
  const ScanForm form = FormOf(node);
  const Value& first = node.input(static_cast<int>(form.states));
  const int64_t axis = NormalizedAxis(At(node, "scan_input_axes", 0), first.rank());
  const int64_t iterations = first.dim(static_cast<int>(axis));
  const Cost iteration = CostOfBody(*form.body);
  return {.us = static_cast<double>(iterations) * iteration.us,
          .flops = iterations * iteration.flops,
          .bytes = IoBytes(node) + iterations * iteration.bytes,
          .blas_flops = iterations * iteration.blas_flops,
          .calls = 1 + iterations * iteration.calls};
}

}  // namespace

OpDef ScanOp() {
  return {.types = kMovableTypes, .check = CheckScan, .reference = ReferenceScan, .cost = ScanCost};
}

}  // namespace onnx_cudnn
