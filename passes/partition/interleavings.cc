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

void Interleavings::Maker::Consider(const Candidate& candidate) {
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
    (is_there ? part.interleaved : part.other).Consider(candidate);
  }
  for (size_t i = 0; i < proposal.boundary.inputs.size(); ++i) {
    const auto it = parts_.find(proposal.boundary.inputs[i]);
    if (it == parts_.end() || candidate.inputs[i] != *it->second.placement) continue;
    it->second.readers.insert(candidate.nodes.begin(), candidate.nodes.end());
  }
}

bool Interleavings::AllRead(const Value& value, const Part& part) {
  return std::all_of(value.uses().begin(), value.uses().end(),
                     [&](const Use& use) { return part.readers.contains(use.node); });
}

bool Interleavings::IsWorthwhile(const Node& concat) const {
  double longer_us = 0;
  int copied = 0;
  for (const Value* v : concat.inputs()) {
    const auto it = parts_.find(v);
    if (it == parts_.end()) return false;
    const Maker &interleaved = it->second.interleaved, &other = it->second.other;
    const bool is_made = interleaved.nodes > 0 && interleaved.nodes >= other.nodes;
    if (!is_made || !AllRead(*v, it->second)) {
      ++copied;
    } else if (interleaved.nodes == other.nodes) {
      longer_us += std::max(0.0, interleaved.us - other.us);
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
