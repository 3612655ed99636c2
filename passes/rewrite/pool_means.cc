// Rewrites a mean over all pixels as GlobalAveragePool, which lower-precision and the Engines
// support.
#include <algorithm>

#include "passes/rewrite/rewrites.h"
#include "passes/rewrite/utils/moments.h"

namespace onnx_cudnn {
namespace {

constexpr DTypeSet kTypes = {DType::kF32, DType::kF16, DType::kBF16};
constexpr int kFirstSpatial = 2;
// Images and volumes only: at rank 3 it may be the mean over the features of a token.
constexpr int kLeastRank = 4, kMostRank = 5;

class PoolMeansPass final : public OpPass {
 public:
  PoolMeansPass() : OpPass("pool-means", {"ReduceMean"}) {}
  absl::StatusOr<Match> Visit(Graph& graph, Node& mean) override {
    Value& x = mean.input(0);
    if (!kTypes.Has(x.dtype()) || x.rank() < kLeastRank || x.rank() > kMostRank) {
      return Match::None();
    }
    if (FirstAveragedAxis(mean) != kFirstSpatial) {
      return Match::No(mean, "it does not average all spatial axes and keep them");
    }
    const std::vector<Dim>& dims = x.type().dims;
    if (std::any_of(dims.begin() + kFirstSpatial, dims.end(),
                    [](const Dim& dim) { return dim.value == 0; })) {
      return Match::No(mean, "there are no pixels");
    }
    // lower-precision would also lower the pooling.
    if (Squared(x.producer()) != nullptr) {
      return Match::No(mean, "a mean of squares needs the range of f32");
    }
    Node& pool = graph.AddNode({.op = "GlobalAveragePool",
                                .inputs = {&x},
                                .outputs = {mean.output(0).name()},
                                .name = mean.name()});
    graph.SetType(pool.output(0), mean.output(0).type());
    graph.ReplaceAllUses(mean.output(0), pool.output(0));
    return Match::Changed();
  }
};

}  // namespace

std::unique_ptr<Pass> PoolMeans() { return std::make_unique<PoolMeansPass>(); }

}  // namespace onnx_cudnn
