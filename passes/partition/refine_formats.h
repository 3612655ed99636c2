#pragma once

#include <vector>

#include "passes/partition/proposals.h"

namespace onnx_cudnn {

// Gives Candidates of one Node that is no anchor other Formats of `proposals`, in the same
// memories, where that saves at least half a launch by the prices: FixedPlacements goes from
// producers to consumers, so that a Split may keep the Format of its input although a Reformat of
// each output follows.
void RefineFormats(const Stretch& stretch, const Proposals& proposals,
                   std::vector<Candidate>& cover);

}  // namespace onnx_cudnn
