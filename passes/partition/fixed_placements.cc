#include "passes/partition/fixed_placements.h"

#include <algorithm>
#include <tuple>

namespace onnx_cudnn {
namespace {

constexpr int kProducer = -2;  // a voter that is not an anchor
constexpr int kOutside = -3;
constexpr int kConsumers = -4;

bool IsConv(const Node* node) {
  return node != nullptr && node->domain().empty() &&
         (node->op() == "Conv" || node->op() == "ConvTranspose");
}

bool TouchesConv(const Value& value) {
  const auto feeds_conv = [](const Use& use) { return use.index == 0 && IsConv(use.node); };
  return IsConv(value.producer()) ||
         std::any_of(value.uses().begin(), value.uses().end(), feeds_conv);
}

bool IsChannelsLast(const Placement& placement, const Value& value) {
  const absl::Span<const Format::Axis> axes = placement.format.axes();
  return !axes.empty() && axes.back().dim == 1 && axes.back().block == 1 &&
         placement.format != Format::RowMajor(value.dims());
}

bool IsPlain(const Placement& placement, const Value& value) {
  return placement.space == Space::kDevice && placement.format == Format::RowMajor(value.dims());
}

const Placement* FindPlacement(const std::map<const Value*, Placement>& placements,
                               const Value& value) {
  auto it = placements.find(&value);
  return it == placements.end() ? nullptr : &it->second;
}

}  // namespace

FixedPlacements::FixedPlacements(const Stretch& stretch, const Proposals& proposals,
                                 const Interleavings* interleavings)
    : stretch_(stretch), proposals_(proposals), interleavings_(interleavings) {
  CollectOffers();
  for (const auto& [value, placement] : stretch.produced) fixed_[value] = placement;
  for (const Node* node : stretch.nodes) {
    for (const Value* v : node->outputs()) {
      if (v != nullptr && v->is_static()) Fix(*v);
    }
  }
}

void FixedPlacements::Vote(Offers& offers, const Placement& placement, int voter, int votes) {
  auto it = std::find_if(offers.begin(), offers.end(),
                         [&](const Offer& o) { return o.placement == placement; });
  if (it == offers.end()) it = offers.insert(it, {placement});
  if (it->last_voter == voter) return;
  it->last_voter = voter;
  it->votes += votes;
}

void FixedPlacements::CollectOffers() {
  for (size_t anchor = 0; anchor < proposals_.at().size(); ++anchor) {
    for (const Proposal& p : proposals_.at()[anchor]) {
      for (size_t i = 0; i < p.boundary.inputs.size(); ++i) {
        Vote(wanted_[p.boundary.inputs[i]], p.candidate.inputs[i], static_cast<int>(anchor));
      }
      for (const Value* v : p.boundary.outputs) makers_[v].push_back(&p);
    }
  }
}

// Unless the Value lies in a Concat, its producers vote for the Placements that follow from those
// fixed earlier.
void FixedPlacements::Fix(const Value& value) {
  const Placement* interleaved = interleavings_ == nullptr ? nullptr : interleavings_->At(value);
  if (interleaved != nullptr) {
    fixed_[&value] = *interleaved;
    return;
  }
  Offers offers;
  for (const Proposal* p : makers_[&value]) {
    const std::vector<const Value*>& in = p->boundary.inputs;
    bool agrees = true;
    for (size_t i = 0; i < in.size(); ++i) agrees &= Agrees(*in[i], p->candidate.inputs[i]);
    const auto& out = p->boundary.outputs;
    const size_t at = std::find(out.begin(), out.end(), &value) - out.begin();
    if (agrees) Vote(offers, p->candidate.outputs[at], kProducer);
  }
  if (const Placement* outside = FindPlacement(stretch_.demanded, value)) {
    Vote(offers, *outside, kOutside);
  }
  for (const Offer& wanted : wanted_[&value]) {
    Vote(offers, wanted.placement, kConsumers, wanted.votes);
  }
  const bool conv = TouchesConv(value);
  const Offer* best = nullptr;
  const auto rank = [&](const Offer& o) {
    return std::make_tuple(conv && IsChannelsLast(o.placement, value), o.votes,
                           IsPlain(o.placement, value));
  };
  for (const Offer& offer : offers) {
    if (best == nullptr || rank(offer) > rank(*best)) best = &offer;
  }
  if (best != nullptr) fixed_[&value] = best->placement;
}

bool FixedPlacements::IsBorder(const Value& value) const {
  return stretch_.produced.contains(&value) || stretch_.demanded.contains(&value);
}

bool FixedPlacements::Agrees(const Value& value, const Placement& placement) const {
  if (IsBorder(value)) return true;
  auto it = fixed_.find(&value);
  return it == fixed_.end() || it->second == placement;
}

int FixedPlacements::Disagreements(const Proposal& proposal) const {
  int count = 0;
  for (size_t i = 0; i < proposal.boundary.inputs.size(); ++i) {
    count += !Agrees(*proposal.boundary.inputs[i], proposal.candidate.inputs[i]);
  }
  for (size_t i = 0; i < proposal.boundary.outputs.size(); ++i) {
    count += !Agrees(*proposal.boundary.outputs[i], proposal.candidate.outputs[i]);
  }
  return count;
}

double FixedPlacements::BorderUs(const Proposal& proposal) const {
  double us = 0;
  const auto add = [&](const Value& value, const Placement& placement,
                       const std::map<const Value*, Placement>& border) {
    const Placement* there = FindPlacement(border, value);
    if (there == nullptr || *there == placement) return;
    us += ReformatUs(value, *there, placement, stretch_.target.info);
  };
  for (size_t i = 0; i < proposal.boundary.inputs.size(); ++i) {
    add(*proposal.boundary.inputs[i], proposal.candidate.inputs[i], stretch_.produced);
  }
  for (size_t i = 0; i < proposal.boundary.outputs.size(); ++i) {
    add(*proposal.boundary.outputs[i], proposal.candidate.outputs[i], stretch_.demanded);
  }
  return us;
}

}  // namespace onnx_cudnn
