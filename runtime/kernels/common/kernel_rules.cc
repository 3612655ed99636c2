#include "runtime/kernels/common/kernel_rules.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "runtime/graph/custom_op.h"
#include "runtime/kernels/common/kernel.h"
#include "runtime/kernels/common/pitched.h"
#include "runtime/kernels/move/conversion.h"
#include "runtime/ops/op_table.h"
#include "runtime/plan/reference_step.h"

namespace onnx_cudnn {
namespace {

constexpr Rule kNoTf32 = {"its products of f32 are tf32, which --precision strict leaves out",
                          "--precision tf32"};

using KernelList = std::vector<const Kernel*>;

using KernelsByOp = std::map<std::string_view, KernelList>;

const KernelList& KernelsFor(const Node& node) {
  static const KernelsByOp& by_op = *[] {
    auto* map = new KernelsByOp;
    for (const Kernel& kernel : AllKernels()) {
      for (const std::string_view op : kernel.ops) (*map)[op].push_back(&kernel);
    }
    return map;
  }();
  static const KernelList& none = *new KernelList;
  auto it = by_op.find(node.op());
  // A user's op may have the name of one of ONNX's.
  return it == by_op.end() || FindCustomOp(node) != nullptr ? none : it->second;
}

// The kernels for any of the Nodes, without duplicates.
KernelList KernelsFor(const std::vector<const Node*>& nodes) {
  KernelList kernels;
  for (const Node* node : nodes) {
    for (const Kernel* kernel : KernelsFor(*node)) {
      if (std::find(kernels.begin(), kernels.end(), kernel) == kernels.end()) {
        kernels.push_back(kernel);
      }
    }
  }
  return kernels;
}

std::vector<Placement> OnDevice(const std::vector<Format>& formats) {
  std::vector<Placement> placements;
  for (const Format& format : formats) placements.push_back({format, Space::kDevice});
  return placements;
}

Support CheckSpaces(const Boundary& boundary, const Candidate& candidate) {
  const auto in_host = [](const Placement& p) { return p.space != Space::kDevice; };
  for (size_t i = 0; i < candidate.inputs.size(); ++i) {
    if (!in_host(candidate.inputs[i])) continue;
    return Support::No(absl::StrCat(boundary.inputs[i]->name(), " is in host memory"));
  }
  for (size_t i = 0; i < candidate.outputs.size(); ++i) {
    if (!in_host(candidate.outputs[i])) continue;
    return Support::No(absl::StrCat(boundary.outputs[i]->name(), " is in host memory"));
  }
  return Support::Yes();
}

Support CheckNumerics(const Kernel& kernel, const Unit& unit, const Target& target) {
  const bool is_tf32 =
      kernel.multiplies_f32_in_tf32 && unit.boundary.outputs[0]->dtype() == DType::kF32;
  const bool is_left_out = is_tf32 && !target.numerics.tf32;
  return is_left_out ? Support::No(std::string(kNoTf32.says)) : Support::Yes();
}

// Reports a Unit that CheckNumerics excluded.
void SayNotFused(const Engine& engine, const Unit& unit, CandidateSink& sink) {
  for (const Node* node : unit.nodes) {
    for (const Value* v : node->inputs()) {
      if (v == nullptr || !Contains(unit.nodes, v->producer())) continue;
      sink.NotFused(engine, *v, *node, kNoTf32);
    }
  }
}

// Removes Units that do not fit the device; a refusal if none is left.
Support RemoveTooLarge(const Kernel& kernel, const DeviceInfo& info, std::vector<Unit>& units) {
  if (units.empty() || kernel.fits == nullptr) return Support::Yes();
  Support why_not = Support::Yes();
  std::erase_if(units, [&](const Unit& unit) {
    Support s = kernel.fits(unit, info);
    const bool fits{s};
    if (!fits) why_not = std::move(s);
    return !fits;
  });
  return units.empty() ? why_not : Support::Yes();
}

std::string FormatsText(const Candidate& candidate) {
  const auto add = [](std::string* out, const Placement& p) {
    absl::StrAppend(out, "(", p.format.ToString(), ")");
  };
  return absl::StrCat(absl::StrJoin(candidate.inputs, " ", add), " to ",
                      absl::StrJoin(candidate.outputs, " ", add));
}

Support CheckBy(const Kernel& kernel, const Unit& unit, const Candidate& candidate,
                const Target& target) {
  if (Support s = CheckUnit(kernel, unit); !s) return s;
  if (Support s = CheckNumerics(kernel, unit, target); !s) return s;
  if (Support s = CheckOnDevice(kernel, unit, target.info); !s) return s;
  if (Support s = CheckSpaces(unit.boundary, candidate); !s) return s;
  for (const Formats& formats : kernel.formats(unit, target)) {
    if (LiesWithPitches(kernel, unit, candidate, formats)) return Support::Yes();
  }
  return Support::No(absl::StrCat("its operands may not lie as ", FormatsText(candidate)));
}

// A kernel that supports a Candidate, and its cost.
struct Taker {
  const Kernel* kernel;
  bool beyond_fit;
  Cost cost;
};

// Cheapest first; those outside their fitted range last.
std::vector<Taker> TakersOf(const Candidate& candidate, const Target& target) {
  const Unit unit = UnitOf(candidate.nodes);
  std::vector<Taker> takers;
  for (const Kernel* kernel : KernelsFor(candidate.nodes)) {
    if (!CheckBy(*kernel, unit, candidate, target)) continue;
    takers.push_back({kernel, IsBeyondFit(*kernel, unit, target.info),
                      PriceOf(*kernel, unit, candidate, target)});
  }
  std::stable_sort(takers.begin(), takers.end(), [](const Taker& a, const Taker& b) {
    return std::tie(a.beyond_fit, a.cost.us) < std::tie(b.beyond_fit, b.cost.us);
  });
  return takers;
}

// The proposals of the kernels around one anchor. A Candidate that two kernels can run occurs once,
// at the lower price; a price within the fitted range takes precedence.
class Offers {
 public:
  Offers(const Engine& engine, const Target& target) : engine_(engine), target_(target) {}

  void Add(const Kernel& kernel, const Unit& unit) {
    const bool beyond_fit = IsBeyondFit(kernel, unit, target_.info);
    for (const Formats& plain : kernel.formats(unit, target_)) {
      for (const Formats& formats : WithPitches(kernel, unit, plain)) {
        Candidate candidate{.nodes = unit.nodes,
                            .engine = &engine_,
                            .inputs = OnDevice(formats.inputs),
                            .outputs = OnDevice(formats.outputs),
                            .beyond_fit = beyond_fit};
        candidate.cost = PriceOf(kernel, unit, candidate, target_);
        Keep(std::move(candidate));
      }
    }
  }

  std::vector<Candidate>& candidates() { return candidates_; }

 private:
  void Keep(Candidate candidate) {
    for (Candidate& other : candidates_) {
      if (other.nodes != candidate.nodes || other.inputs != candidate.inputs ||
          other.outputs != candidate.outputs) {
        continue;
      }
      const auto rank = [](const Candidate& c) { return std::pair(c.beyond_fit, c.cost.us); };
      if (rank(candidate) < rank(other)) other = std::move(candidate);
      return;
    }
    candidates_.push_back(std::move(candidate));
  }

  const Engine& engine_;
  const Target& target_;
  std::vector<Candidate> candidates_;
};

}  // namespace

void KernelRules::Propose(const Graph&, const Node& anchor, const Target& target,
                          CandidateSink& sink) const {
  if (IsConversion(anchor)) {
    return sink.No(*this, anchor, "its formats are chosen with the partitions around it");
  }
  const KernelList& kernels = KernelsFor(anchor);
  if (kernels.empty()) return sink.No(*this, anchor, "no kernel is written for it");
  if (Support s = CheckOp(anchor); !s) return sink.No(*this, anchor, s.reason());
  Offers offers(*this, target);
  for (const Kernel* kernel : kernels) {
    Support why_not = CheckCapability(kernel->needs, target.info);
    std::vector<Unit> units;
    if (why_not) units = UnitsAround(*kernel, *this, anchor, sink, why_not);
    if (!units.empty()) why_not = CheckNumerics(*kernel, units[0], target);
    if (why_not) why_not = RemoveTooLarge(*kernel, target.info, units);
    if (!why_not) {
      sink.No(*this, anchor, absl::StrCat(kernel->name, ": ", why_not.reason()));
      for (const Unit& unit : units) SayNotFused(*this, unit, sink);
      continue;
    }
    for (const Unit& unit : units) offers.Add(*kernel, unit);
  }
  for (Candidate& candidate : offers.candidates()) sink.Add(std::move(candidate));
}

Support KernelRules::Check(const Graph&, const Candidate& candidate, const Target& target) const {
  if (IsConversion(*candidate.nodes[0])) return CheckConversion(candidate);
  for (const Node* node : candidate.nodes) {
    if (Support s = CheckOp(*node); !s) return s;
  }
  const Unit unit = UnitOf(candidate.nodes);
  if (unit.boundary.inputs.size() != candidate.inputs.size() ||
      unit.boundary.outputs.size() != candidate.outputs.size()) {
    return Support::No("its placements are not those of its operands");
  }
  std::vector<std::string> reasons;
  for (const Kernel* kernel : KernelsFor(candidate.nodes)) {
    const Support support = CheckBy(*kernel, unit, candidate, target);
    if (support) return support;
    reasons.push_back(absl::StrCat(kernel->name, ": ", support.reason()));
  }
  if (reasons.empty()) return Support::No("no kernel is written for it");
  return Support::No(absl::StrJoin(reasons, "; "));
}

Cost KernelRules::Price(const Candidate& candidate, const Target& target) const {
  if (IsConversion(*candidate.nodes[0])) return PriceOfConversion(candidate, target);
  const std::vector<Taker> takers = TakersOf(candidate, target);
  return takers.empty() ? Roofline(candidate, target) : takers[0].cost;
}

absl::StatusOr<std::vector<Variant>> KernelRules::Variants(const Candidate& candidate,
                                                           const Target& target) const {
  if (IsConversion(*candidate.nodes[0])) return std::vector<Variant>{{.text = "conversion"}};
  std::vector<Variant> variants;
  for (const Kernel* kernel : KernelsThatTake(candidate, target)) {
    variants.push_back({.text = std::string(kernel->name)});
  }
  return variants;
}

absl::StatusOr<Compiled> KernelRules::Compile(const Candidate& candidate, const Variant&,
                                              const Target&) const {
  return CompileReference(candidate);
}

std::vector<const Kernel*> KernelRules::KernelsThatTake(const Candidate& candidate,
                                                        const Target& target) const {
  std::vector<const Kernel*> kernels;
  for (const Taker& taker : TakersOf(candidate, target)) kernels.push_back(taker.kernel);
  return kernels;
}

std::unique_ptr<Engine> MakeKernelRules() { return std::make_unique<KernelRules>(); }

}  // namespace onnx_cudnn
