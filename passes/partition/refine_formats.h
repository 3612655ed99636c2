#pragma once

#include <vector>

#include "passes/partition/proposals.h"

namespace onnx_cudnn {

// Gives Candidates of one Node that is no anchor other Formats of `proposals`, in the same
// memories, where the cover is faster by the prices with them: FixedPlacements goes from producers
// to consumers, so that a Split may keep the Format of its input although a Reformat of each output
// follows.
void RefineFormats(const Stretch& stretch, const Proposals& proposals,
                   std::vector<Candidate>& cover);

}  // namespace onnx_cudnn
