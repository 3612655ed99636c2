// One Graph for many lengths: symbolic dims of inputs are padded to buckets, so that a Program of
// static shapes serves every length up to them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "passes/build_program.h"
#include "passes/shape_buckets/affine.h"
#include "runtime/graph/graph.h"
#include "runtime/ops/bounded.h"

namespace onnx_cudnn {

// Which symbols of input dims are padded. A dim of 1 never is: it may be one that broadcasts.
struct BucketChoice {
  bool all = false;
  std::vector<std::string> symbols;

  bool Has(const std::string& symbol) const;
};

// The smallest bucket that holds `length`: 16, 24, 32, 48, 64, 96 …
int64_t BucketOf(int64_t length);
// `dims` (parallel to the inputs, of `types`) with the buckets of those that are padded; of a
// length that is one more than another one, the bucket of that and 1.
std::vector<Dims> BucketDims(absl::Span<const Type> types, absl::Span<const Dims> dims,
                             const BucketChoice& choice);
std::vector<Dims> BucketDims(const Graph& graph, absl::Span<const Dims> dims,
                             const BucketChoice& choice);

// The dim of an input that is a length.
struct LengthSource {
  int input = 0, axis = 0;
};

struct PaddedGraph {
  // Its dims are numbers: those for lengths as long as their buckets. Inputs: those of the model,
  // whose padding must be zero, then for each length an i64[] with its number. Outputs: those of
  // the model, with padding behind their extents.
  Graph graph;
  std::vector<LengthSource> lengths;
  std::vector<std::vector<Affine>> input_extents, output_extents;  // by input or output, by axis
  std::vector<Affine> conditions;  // numbers that may not be negative
};

// Pads `graph` for inputs of `dims`.
//   options  input_values, functions and limits
//   errors   Unimplemented: no dim is padded, or the op that cannot be; those of shape inference
absl::StatusOr<PaddedGraph> PadLengths(const Graph& graph, absl::Span<const Dims> dims,
                                       const BucketChoice& choice, const BuildOptions& options);

struct UnpaddedNodes {
  absl::flat_hash_set<const Node*> nodes;  // those that cannot be padded, and all behind them
  // Those of them whose elements are computed nonetheless, by these forms.
  absl::flat_hash_map<const Node*, BoundedForm> bounded;
  // Those of them that run between Programs whatever their shapes, with exact inputs.
  absl::flat_hash_set<const Node*> alone;
  std::vector<std::string> reasons;  // of each other one that is not behind them
};

// What keeps PadLengths from padding `graph`: without these Nodes it would. Errors as there, but
// for ops.
absl::StatusOr<UnpaddedNodes> FindUnpadded(const Graph& graph, absl::Span<const Dims> dims,
                                           const BucketChoice& choice, const BuildOptions& options);

// The lengths in inputs of `dims`.
//   errors  FailedPrecondition: `padded` does not hold for them
absl::StatusOr<std::vector<int64_t>> LengthsOf(const PaddedGraph& padded,
                                               absl::Span<const Dims> dims);

}  // namespace onnx_cudnn
