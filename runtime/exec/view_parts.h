// Slice and Split whose outputs are contiguous parts of their input, Concat whose inputs are parts
// of its output, contiguous or interleaved (plan/interleaved.h).
#pragma once

#include <vector>

#include "runtime/plan/engine.h"
#include "runtime/plan/step.h"

namespace onnx_cudnn {

// Whether `node` is a Concat, Slice or Split.
bool HasParts(const Node& node);
// Whether there are Formats in which the parts of `node` lie in the whole.
Support CheckHasParts(const Node& node, const Target& target);
// Whether they do in the Formats of `candidate`, whose only Node CheckHasParts accepts.
Support CheckParts(const Candidate& candidate);
// The aliases of a Candidate that CheckParts accepts.
std::vector<Alias> PartAliases(const Candidate& candidate);
// Proposes the Formats in which the parts of a Node that CheckHasParts accepts lie in the whole.
void ProposeParts(const Engine& engine, const Node& node, const Target& target,
                  CandidateSink& sink);

}  // namespace onnx_cudnn
