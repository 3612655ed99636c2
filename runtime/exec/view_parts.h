// Slice and Split whose outputs are parts of their input's bytes, Concat whose inputs are parts of
// its output's.
#pragma once

#include <vector>

#include "runtime/plan/engine.h"
#include "runtime/plan/step.h"

namespace onnx_cudnn {

// Whether `node` is a Concat, Slice or Split.
bool HasParts(const Node& node);
// Whether the parts of such a Node can lie in the whole in some Formats.
Support CheckHasParts(const Node& node, const Target& target);
// Whether they do in those of `candidate`, one such Node that CheckHasParts takes.
Support CheckParts(const Candidate& candidate);
// How they alias in a Candidate that CheckParts takes.
std::vector<Alias> PartAliases(const Candidate& candidate);
// Adds the Formats in which the parts of a Node that CheckHasParts takes lie in the whole.
void ProposeParts(const Engine& engine, const Node& node, const Target& target,
                  CandidateSink& sink);

}  // namespace onnx_cudnn
