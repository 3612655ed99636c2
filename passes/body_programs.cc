#include "passes/body_programs.h"

#include <algorithm>
#include <limits>
#include <vector>

#include "passes/rewrite/utils/engine_offers.h"
#include "runtime/graph/deciding_inputs.h"
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

// Whether it takes or gives more than scalars, shapes, indices and conditions.
bool IsWork(const Node& node) {
  const std::vector<const Value*> operands = OperandsOf(node);
  return std::any_of(operands.begin(), operands.end(), [](const Value* v) {
    const bool may_be_size = (kIntegerTypes.Has(v->dtype()) || v->dtype() == DType::kBool) &&
                             v->rank() <= 1 && v->bytes() <= kMostDecidingBytes;
    return v->elements() > 1 && !may_be_size;
  });
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

  struct Price {
    double us = 0;
    bool has_work = false;  // that an Engine other than `host` takes
  };

  // By the reference, with copies of what the device computes and reads.
  double OnHost(const Graph& graph, const Node& node) const {
    double us = OffersOf("host", graph, node, target_).alone_us;
    for (const Value* v : OperandsOf(node)) {
      if (!v->is_constant()) us += TransferUs(v->bytes(), target_.info);
    }
    return us;
  }

  // As Programs: the most expensive body, since the condition is unknown.
  Price OfBodies(const Node& node) const {
    Price most;
    for (const auto& [name, body] : node.bodies()) {
      const Price price = OfBody(*body);
      most.us = std::max(most.us, price.us);
      most.has_work |= price.has_work;
    }
    // A captured Program has its inputs at addresses of its own, to which each Run copies them.
    for (const Value* v : node.inputs()) {
      if (v == nullptr || v->is_constant()) continue;
      most.us += static_cast<double>(2 * v->bytes()) / target_.info.bytes_per_us;
    }
    most.us *= static_cast<double>(IterationsOf(node));
    return most;
  }

 private:
  Price OfBody(const Graph& body) const {
    const DeviceInfo& info = target_.info;
    // The host waits for the Program before, reads a condition, and starts the next one.
    Price price{.us = 2 * info.host_us + TransferUs(1, info)};
    const absl::StatusOr<Graph> bound = BindShapes(body, {}, options_, &target_);
    if (!bound.ok()) return {.us = std::numeric_limits<double>::infinity()};
    for (const Node* node : bound->TopologicalOrder()) {
      const Price there = node->bodies().empty() ? OnDevice(*bound, *node) : OfBodies(*node);
      price.us += std::min(there.us, OnHost(*bound, *node));
      price.has_work |= there.has_work;
    }
    return price;
  }

  Price OnDevice(const Graph& graph, const Node& node) const {
    const EngineOffers offers = OffersAt(graph, node, target_);
    return {.us = offers.alone_us, .has_work = offers.any && IsWork(node)};
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
  const BodyPrices::Price bodies = prices.OfBodies(node);
  return bodies.has_work && bodies.us < prices.OnHost(graph, node);
}

}  // namespace onnx_cudnn
