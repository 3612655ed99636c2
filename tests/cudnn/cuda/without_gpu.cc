#include "tests/cudnn/cuda/without_gpu.h"

#include <dlfcn.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <utility>

#include "runtime/cudnn/cuda/cudnn_calls.h"
#include "runtime/cudnn/cuda/cudnn_engine.h"
#include "tests/support/proposed.h"
#include "tests/support/source_file.h"

namespace onnx_cudnn {
namespace {

class Collector final : public CandidateSink {
 public:
  void Add(Candidate candidate) override { candidates.push_back(std::move(candidate)); }
  void No(const Engine&, const Node& node, std::string reason) override {
    ADD_FAILURE() << node.op() << ": " << reason;
  }
  std::vector<Candidate> candidates;
};

}  // namespace

std::vector<Candidate> CandidatesAt(const Engine& engine, const Graph& graph, std::string_view op,
                                    const Target& target) {
  Collector collector;
  engine.Propose(graph, FindNode(graph, op), target, collector);
  return std::move(collector.candidates);
}

Candidate LargestAt(const Engine& engine, const Graph& graph, std::string_view op,
                    const Target& target) {
  const std::vector<Candidate> all = CandidatesAt(engine, graph, op, target);
  return *std::max_element(all.begin(), all.end(), [](const Candidate& a, const Candidate& b) {
    return a.nodes.size() < b.nodes.size();
  });
}

std::string WithoutGpuTest::Properties() {
  std::ifstream file(SourceFile("tests/cudnn/cuda/h200.json"), std::ios::binary);
  return std::string(std::istreambuf_iterator<char>(file), {});
}

void WithoutGpuTest::SetUp() {
  // A later dlopen of libcuda.so.1 returns the library already loaded under that name.
  ASSERT_NE(dlopen(STAND_IN_LIBCUDA, RTLD_NOW | RTLD_GLOBAL), nullptr) << dlerror();
  if (const absl::Status status = LoadCudnn(); !status.ok()) GTEST_SKIP() << status.message();
  absl::StatusOr<std::unique_ptr<Engine>> engine = MakeCudnnEngineFor(Properties());
  ASSERT_TRUE(engine.ok()) << engine.status();
  engine_ = *std::move(engine);
  absl::StatusOr<OwnedTarget> rules = MakeTarget("h200");
  ASSERT_TRUE(rules.ok()) << rules.status();
  rules_ = *std::move(rules);
  target_ = rules_.target;
  target_.engines.clear();
  for (const Engine* e : rules_.target.engines) {
    if (e->name() == "gemm" || e->name() == "kernel") continue;
    target_.engines.push_back(e->name() == "cudnn" ? engine_.get() : e);
  }
}

}  // namespace onnx_cudnn
