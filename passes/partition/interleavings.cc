#include "passes/partition/interleavings.h"

#include <algorithm>
#include <limits>

namespace onnx_cudnn {

Interleavings::Interleavings(const Proposals& proposals) {
  CollectConcats(proposals);
  if (parts_.empty()) return;
  for (const std::vector<Proposal>& at : proposals.at()) {
    for (const Proposal& p : at) CollectMakersAndReaders(p);
  }
}

void Interleavings::CollectConcats(const Proposals& proposals) {
  for (const std::vector<Proposal>& at : proposals.at()) {
    for (const Proposal& p : at) {
      const Node& node = *p.candidate.nodes[0];
      if (p.candidate.nodes.size() > 1 || node.op() != "Concat") continue;
      if (p.candidate.engine->launches()) {
        auto [it, added] = copy_us_.try_emplace(&node, p.candidate.cost.us);
        if (!added) it->second = std::min(it->second, p.candidate.cost.us);
        continue;
      }
      for (size_t i = 0; i < p.boundary.inputs.size(); ++i) {
        const Placement& placement = p.candidate.inputs[i];
        if (!placement.format.has_foreign_lanes()) continue;
        Part& part = parts_[p.boundary.inputs[i]];
        part.placement = &placement;
        part.concat = &node;
      }
    }
  }
}

double Interleavings::Offered::longer_us() const {
  return interleaved.nodes == other.nodes ? std::max(0.0, interleaved.us - other.us) : 0;
}

void Interleavings::Largest::Consider(const Candidate& candidate) {
  const size_t size = candidate.nodes.size();
  if (size < nodes || (size == nodes && us <= candidate.cost.us)) return;
  nodes = size;
  us = candidate.cost.us;
}

void Interleavings::CollectMakersAndReaders(const Proposal& proposal) {
  const Candidate& candidate = proposal.candidate;
  for (size_t i = 0; i < proposal.boundary.outputs.size(); ++i) {
    const auto it = parts_.find(proposal.boundary.outputs[i]);
    if (it == parts_.end()) continue;
    Part& part = it->second;
    const bool is_there = candidate.outputs[i] == *part.placement;
    (is_there ? part.made.interleaved : part.made.other).Consider(candidate);
  }
  for (size_t i = 0; i < proposal.boundary.inputs.size(); ++i) {
    const Value& value = *proposal.boundary.inputs[i];
    const auto it = parts_.find(&value);
    if (it == parts_.end()) continue;
    const bool is_there = candidate.inputs[i] == *it->second.placement;
    for (const Use& use : value.uses()) {
      const auto& nodes = candidate.nodes;
      if (std::find(nodes.begin(), nodes.end(), use.node) == nodes.end()) continue;
      Offered& read = it->second.read[use.node];
      (is_there ? read.interleaved : read.other).Consider(candidate);
    }
  }
}

bool Interleavings::AllRead(const Value& value, const Part& part) {
  return std::all_of(value.uses().begin(), value.uses().end(), [&](const Use& use) {
    const auto it = part.read.find(use.node);
    return it != part.read.end() && it->second.is_possible();
  });
}

bool Interleavings::IsWorthwhile(const Node& concat) const {
  double longer_us = 0;
  int copied = 0;
  for (const Value* v : concat.inputs()) {
    const auto it = parts_.find(v);
    if (it == parts_.end()) return false;
    const Part& part = it->second;
    if (!part.made.is_possible() || !AllRead(*v, part)) {
      ++copied;
      continue;
    }
    longer_us += part.made.longer_us();
    for (const Use& use : v->uses()) {
      if (use.node != &concat) longer_us += part.read.at(use.node).longer_us();
    }
  }
  const auto copy = copy_us_.find(&concat);
  const double copy_us =
      copy == copy_us_.end() ? std::numeric_limits<double>::infinity() : copy->second;
  return copied <= 1 && longer_us < copy_us;
}

const Placement* Interleavings::At(const Value& value) const {
  const auto it = parts_.find(&value);
  if (it == parts_.end()) return nullptr;
  const Part& part = it->second;
  if (!AllRead(value, part) || !IsWorthwhile(*part.concat)) return nullptr;
  // Of nested Concats, the outermost decides how far apart pixels lie.
  const Value& whole = part.concat->output(0);
  return !parts_.contains(&whole) || At(whole) != nullptr ? part.placement : nullptr;
}

}  // namespace onnx_cudnn
