// The Engine `cudnn` with its CUDA half, for an H200 that is not present: cuDNN compiles for the
// properties in h200.json, over a stand-in for the driver (stand_in/) whose calls all fail except
// those that load code.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "gtest/gtest.h"
#include "runtime/session/engines.h"

namespace onnx_cudnn {

// What `engine` proposes at the first Node with that op.
std::vector<Candidate> CandidatesAt(const Engine& engine, const Graph& graph, std::string_view op,
                                    const Target& target);
// The proposal with most Nodes, the first among equals.
Candidate LargestAt(const Engine& engine, const Graph& graph, std::string_view op,
                    const Target& target);

class WithoutGpuTest : public ::testing::Test {
 protected:
  // Skips, with the reason, if there is no cuDNN.
  void SetUp() override;
  static std::string Properties();  // of an H200

  OwnedTarget rules_;  // h200
  std::unique_ptr<Engine> engine_;
  Target target_;  // h200 with engine_ as `cudnn`, and `host` for what that refuses
};

}  // namespace onnx_cudnn
