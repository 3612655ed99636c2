#include "runtime/kernels/common/kernel.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "runtime/plan/known_devices.h"

namespace onnx_cudnn {

#define KERNEL(kernel, name) Kernel kernel##Kernel();
#include "runtime/kernels/kernels.inc"
#undef KERNEL

namespace {

Kernel Named(std::string_view name, Kernel kernel) {
  kernel.name = name;
  return kernel;
}

constexpr int kMostRank = 8;       // per operand; its dims are kernel parameters
constexpr size_t kFirstSteps = 3;  // growth steps that are proposed in addition to the largest

// The Value whose dtype determines the type that the Node works on.
const Value& TypedBy(const Node& node) {
  return node.has_input(0) ? node.input(0) : *node.outputs()[0];
}

Support CheckOperands(const std::vector<const Value*>& values, int fewest_bits) {
  for (const Value* v : values) {
    if (!v->is_static() || BitsOf(v->dtype()) < fewest_bits) {
      return Support::No(absl::StrCat(v->name(), " is ", ToString(v->type()),
                                      ", not a static tensor of whole bytes"));
    }
    if (v->rank() > kMostRank) {
      return Support::No(
          absl::StrCat(v->name(), " has rank ", v->rank(), ", more than ", kMostRank));
    }
  }
  return Support::Yes();
}

Support CheckBoundary(const Kernel& kernel, const Boundary& boundary) {
  if (boundary.outputs.empty()) return Support::No("nobody reads what it writes");
  for (const auto* values : {&boundary.inputs, &boundary.outputs}) {
    if (Support s = CheckOperands(*values, 8); !s) return s;
  }
  return CheckOperands(boundary.constants, kernel.fewest_bits_of_constants);
}

bool IsFor(const Kernel& kernel, const Node& node) {
  return std::find(kernel.ops.begin(), kernel.ops.end(), node.op()) != kernel.ops.end();
}

Support CheckCore(const Kernel& kernel, const Unit& core) {
  if (Support s = CheckBoundary(kernel, core.boundary); !s) return s;
  for (const Node* node : core.nodes) {
    const DType dtype = TypedBy(*node).dtype();
    if (IsFor(kernel, *node) && !kernel.types.Has(dtype)) {
      return Support::No(absl::StrCat("it does not take ", NameOf(dtype)));
    }
  }
  return kernel.takes == nullptr ? Support::Yes() : kernel.takes(core);
}

std::vector<std::vector<const Node*>> CoresAround(const Kernel& kernel, const Node& anchor) {
  if (kernel.cores == nullptr) return {{&anchor}};
  return kernel.cores(anchor);
}

bool HasAll(const std::vector<const Node*>& nodes, const std::vector<const Node*>& part) {
  return std::all_of(part.begin(), part.end(),
                     [&](const Node* node) { return Contains(nodes, node); });
}

// A core, its first steps of growth through readers, the last one, and that one with all its
// producers.
std::vector<std::vector<const Node*>> GrowCore(const Kernel& kernel, const Engine& engine,
                                               const Unit& core, CandidateSink& sink) {
  if (kernel.growth == nullptr) return {core.nodes};
  GrowthOptions readers = kernel.growth(core), producers = readers;
  readers.backward = nullptr;
  producers.forward = nullptr;
  std::vector<std::vector<const Node*>> sets = Grow(engine, core.nodes, readers, sink);
  std::vector<const Node*> largest = sets.back();
  producers.most_added -= std::min(producers.most_added, largest.size() - core.nodes.size());
  if (sets.size() > kFirstSteps + 1) {
    sets.resize(kFirstSteps + 1);
    sets.push_back(largest);
  }
  std::vector<const Node*> whole = Grow(engine, largest, producers, sink).back();
  if (whole.size() > largest.size()) sets.push_back(std::move(whole));
  return sets;
}

int64_t TrafficOf(const Unit& unit, const Candidate& candidate) {
  int64_t written = 0, bytes = 0;
  for (size_t i = 0; i < unit.boundary.outputs.size(); ++i) {
    written += candidate.outputs[i].format.own_bytes(unit.boundary.outputs[i]->dtype());
  }
  for (size_t i = 0; i < unit.boundary.inputs.size(); ++i) {
    const int64_t held = candidate.inputs[i].format.own_bytes(unit.boundary.inputs[i]->dtype());
    bytes += std::min(held, written);
  }
  for (const Value* v : unit.boundary.constants) bytes += std::min(v->bytes(), written);
  return bytes + written;
}

double UsBySpeed(const Speed& speed, const Cost& cost, DType dtype, const DeviceInfo& info) {
  const KernelCalibration& calibration = info.calibration.kernels;
  const double traffic_us =
      static_cast<double>(cost.bytes) / (calibration.traffic.*speed.traffic * info.bytes_per_us);
  const double flops_per_us = calibration.arithmetic.*speed.arithmetic * info.f32_flops_per_us /
                              (dtype == DType::kF64 ? 2 : 1);
  const double arithmetic_us = static_cast<double>(cost.flops) / flops_per_us;
  return std::max(traffic_us, arithmetic_us) +
         speed.launches * (info.launch_us + info.dependent_kernel_us);
}

}  // namespace

Support CheckCapability(const Capability& needs, const DeviceInfo& found) {
  const int capability = needs.compute_capability;
  const bool runs = needs.is_for_it_alone
                        ? found.compute_capability == capability && found.runs_its_own_code
                        : found.compute_capability >= capability;
  if (!runs) {
    return Support::No(absl::StrCat("it needs compute capability ", CapabilityText(capability),
                                    needs.is_for_it_alone ? "a" : " or later", " (", needs.because,
                                    "), ", found.name, " has ",
                                    CapabilityText(found.compute_capability)));
  }
  if (needs.shared_bytes <= found.shared_bytes_per_block) return Support::Yes();
  return Support::No(absl::StrCat("it needs ", needs.shared_bytes,
                                  " bytes of shared memory a block, ", found.name, " has ",
                                  found.shared_bytes_per_block));
}

Support CheckOnDevice(const Kernel& kernel, const Unit& unit, const DeviceInfo& info) {
  if (Support s = CheckCapability(kernel.needs, info); !s) return s;
  return kernel.fits == nullptr ? Support::Yes() : kernel.fits(unit, info);
}

Unit UnitOf(std::vector<const Node*> nodes) {
  Boundary boundary = BoundaryOf(nodes);
  return {std::move(nodes), std::move(boundary)};
}

const std::vector<Kernel>& AllKernels() {
  static const auto& kernels = *new std::vector<Kernel>{
#define KERNEL(kernel, name) Named(#name, kernel##Kernel()),
#include "runtime/kernels/kernels.inc"
#undef KERNEL
  };
  return kernels;
}

std::vector<Unit> UnitsAround(const Kernel& kernel, const Engine& engine, const Node& anchor,
                              CandidateSink& sink, Support& why_not) {
  std::vector<Unit> units;
  for (std::vector<const Node*>& nodes : CoresAround(kernel, anchor)) {
    const Unit core = UnitOf(std::move(nodes));
    if (Support s = CheckCore(kernel, core); !s) {
      why_not = std::move(s);
      continue;
    }
    for (std::vector<const Node*>& set : GrowCore(kernel, engine, core, sink)) {
      Unit unit = UnitOf(std::move(set));
      if (CheckBoundary(kernel, unit.boundary)) units.push_back(std::move(unit));
    }
  }
  return units;
}

Support CheckUnit(const Kernel& kernel, const Unit& unit) {
  if (Support s = CheckBoundary(kernel, unit.boundary); !s) return s;
  Support no = Support::No("its nodes are not what it starts from");
  for (const Node* anchor : unit.nodes) {
    if (!IsFor(kernel, *anchor)) continue;
    for (std::vector<const Node*>& nodes : CoresAround(kernel, *anchor)) {
      if (!HasAll(unit.nodes, nodes)) continue;
      const Unit core = UnitOf(std::move(nodes));
      no = CheckCore(kernel, core);
      if (!no) continue;
      if (core.nodes.size() == unit.nodes.size()) return Support::Yes();
      no = kernel.growth == nullptr ? Support::No("it runs one node at a time")
                                    : CheckGrown(unit.nodes, core.nodes, kernel.growth(core));
      if (no) return no;
    }
  }
  return no;
}

bool IsBeyondFit(const Kernel& kernel, const Unit& unit, const DeviceInfo& info) {
  return kernel.beyond_fit != nullptr && kernel.beyond_fit(unit, info);
}

Cost PriceOf(const Kernel& kernel, const Unit& unit, const Candidate& candidate,
             const Target& target) {
  Cost cost = Roofline(candidate, target);
  if (kernel.speed.reads_what_it_writes) cost.bytes = TrafficOf(unit, candidate);
  cost.us = kernel.us != nullptr
                ? kernel.us(unit, cost, target)
                : UsBySpeed(kernel.speed, cost, TypedBy(*unit.nodes[0]).dtype(), target.info);
  if (IsBeyondFit(kernel, unit, target.info)) {
    cost.us *= target.info.calibration.kernels.beyond_fit;
  }
  return cost;
}

}  // namespace onnx_cudnn
