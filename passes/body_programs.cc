#include "passes/body_programs.h"

#include <algorithm>
#include <limits>
#include <vector>

#include "passes/rewrite/utils/engine_offers.h"
#include "runtime/ops/checks.h"
#include "runtime/ops/op_table.h"

namespace onnx_cudnn {
namespace {

std::vector<const Value*> OperandsOf(const Node& node) {
  std::vector<const Value*> operands(node.inputs().begin(), node.inputs().end());
  operands.insert(operands.end(), node.outputs().begin(), node.outputs().end());
  std::erase(operands, nullptr);
  return operands;
}

bool IsOfNumbers(const Node& node) {
  const std::vector<const Value*> operands = OperandsOf(node);
  return std::all_of(operands.begin(), operands.end(),
                     [](const Value* v) { return v->is_static() && BitsOf(v->dtype()) > 0; });
}

int64_t IterationsOf(const Node& node) {
  if (node.op() != "Scan") return 1;
  const int64_t scans = node.attrs().Int("num_scan_inputs", 1);
  const auto own = static_cast<int64_t>(node.inputs().size()) - node.captures();
  const Value& first = node.input(static_cast<int>(own - scans));
  const std::vector<int64_t> axes = node.attrs().Ints("scan_input_axes");
  return first.dim(static_cast<int>(NormalizedAxis(axes.empty() ? 0 : axes[0], first.rank())));
}

class BodyPrices {
 public:
  explicit BodyPrices(const BuildOptions& options)
      : target_(*options.body_target),
        options_{.limits = options.limits,
                 .functions = options.functions,
                 .disabled_passes = options.disabled_passes} {}

  // By the reference, with copies of what the device computes and reads, one after the other in
  // each direction.
  double OnHost(const Graph& graph, const Node& node) const {
    int64_t bytes = 0;
    for (const Value* v : OperandsOf(node)) bytes += v->is_constant() ? 0 : v->bytes();
    return OffersOf("host", graph, node, target_).alone_us + target_.info.bus_us +
           TransferUs(bytes, target_.info);
  }

  // The host waits for the Program before, reads a condition, and starts the body's and the one
  // behind it.
  double BoundariesUs() const { return 3 * target_.info.host_us + TransferUs(1, target_.info); }

  // As Programs: the most expensive body, since the condition is unknown.
  double OfBodies(const Node& node) const {
    double us = 0;
    for (const auto& [name, body] : node.bodies()) us = std::max(us, OfBody(*body));
    // A captured Program has its inputs at addresses of its own, to which each Run copies them.
    for (const Value* v : node.inputs()) {
      if (v == nullptr || v->is_constant()) continue;
      us += static_cast<double>(2 * v->bytes()) / target_.info.bytes_per_us;
    }
    return us * static_cast<double>(IterationsOf(node));
  }

 private:
  double OfBody(const Graph& body) const {
    const absl::StatusOr<Graph> bound = BindShapes(body, {}, options_, &target_);
    if (!bound.ok()) return std::numeric_limits<double>::infinity();
    // An output's memory takes the host about as long as a launch.
    double us =
        BoundariesUs() + static_cast<double>(body.outputs().size()) * target_.info.launch_us;
    for (const Node* node : bound->TopologicalOrder()) {
      const double there =
          node->bodies().empty() ? OffersAt(*bound, *node, target_).alone_us : OfBodies(*node);
      us += std::min(there, OnHost(*bound, *node));
    }
    return us;
  }

  const Target& target_;
  const BuildOptions options_;
};

}  // namespace

bool RunsFasterAsPrograms(const Graph& graph, const Node& node, const BuildOptions& options) {
  const bool may_be = options.body_target != nullptr &&
                      options.body_target->info.compute_capability > 0 && node.domain().empty() &&
                      (node.op() == "If" || node.op() == "Scan");
  if (!may_be || !IsOfNumbers(node) || !CheckOp(node)) return false;
  const BodyPrices prices(options);
  const double on_host = prices.OnHost(graph, node);
  const int64_t iterations = IterationsOf(node);
  // Most need no pricing of bodies, which binds them.
  const double least = static_cast<double>(iterations) * prices.BoundariesUs();
  return iterations > 0 && least < on_host && prices.OfBodies(node) < on_host;
}

}  // namespace onnx_cudnn
