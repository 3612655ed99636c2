#pragma once

#include <compare>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "onnx_cudnn/model_value.h"
#include "passes/cut_graph.h"
#include "passes/shape_buckets/pad_lengths.h"
#include "runtime/session/pool_maker.h"
#include "runtime/session/program_builder.h"
#include "runtime/session/program_table.h"
#include "runtime/session/segments/sub_model.h"

namespace onnx_cudnn {

// How a SubModel runs for inputs of certain types: its segment as a Program, its Nodes, its rest.
// Immutable.
struct SegmentPlan {
  struct Node {
    GraphCut::Part part;
    bool is_first_elements = false;  // runs nothing but reads a size (runtime/ops/bounded.h)
    bool reads_count = false;        // the first of those that read the same size
    std::map<std::string, std::shared_ptr<const SubModel>, std::less<>> bodies;
  };

  Graph segment;  // static, which `pool` runs
  // Whose Graph is `segment`; nullopt: it has exact shapes.
  std::optional<PaddedGraph> padded;
  std::vector<std::string> reasons;                  // of the cut: WhyCut
  std::shared_ptr<ExecutorPool> pool;                // nullptr: the segment is empty
  std::vector<int> segment_inputs, segment_outputs;  // slots
  std::vector<Space> output_spaces;                  // parallel to segment_outputs
  std::vector<Node> nodes;
  std::shared_ptr<const SubModel> rest;  // nullptr: there is none
  std::vector<int> rest_inputs, rest_outputs;
  std::vector<int> outputs;
  std::map<int, Tensor> constants;  // by slot
  int slots = 0;
};

// What a SegmentPlan is built for.
struct SegmentKey {
  int64_t sub_model = 0;
  std::vector<std::pair<DType, Dims>> inputs;  // kUndefined: no tensor
  std::map<int, std::string> values;           // of inputs that decide shapes, by position
  bool is_padded = false;                      // the dims are buckets
  auto operator<=>(const SegmentKey&) const = default;
};

// Builds the Program of a segment, by a builder over its Graph, as SessionTuning::BuildSegment.
using BuildSegment = std::function<absl::StatusOr<std::shared_ptr<const Program>>(
    const ProgramBuilder& builder, const ProgramKey& key, double bind_ms)>;

// Builds SegmentPlans. Thread-safe.
class SegmentPlanner {
 public:
  // The references must outlive it.
  //   builder  of the model's Programs
  SegmentPlanner(const ProgramBuilder& builder, const PoolMaker& pools, BuildSegment build)
      : builder_(builder), pools_(pools), build_(std::move(build)) {}

  //   input_types  parallel to the inputs
  //   errors       those of CutGraph and of building a Program
  absl::StatusOr<std::shared_ptr<SegmentPlan>> Build(const SubModel& model,
                                                     absl::Span<const Type> input_types,
                                                     const SegmentKey& key) const;
  // The same with found sizes padded to buckets.
  //   key     of the exact dims
  //   errors  Unimplemented: they cannot be padded
  absl::StatusOr<std::shared_ptr<SegmentPlan>> BuildPadded(const SubModel& model,
                                                           const SegmentKey& key) const;

 private:
  absl::StatusOr<std::shared_ptr<ExecutorPool>> BuildPool(const Graph& segment,
                                                          double bind_ms) const;

  const ProgramBuilder& builder_;
  const PoolMaker& pools_;
  const BuildSegment build_;
};

}  // namespace onnx_cudnn
