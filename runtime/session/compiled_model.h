// A compiled model (docs/compiled-models.md): a file of parts with a model, what it becomes for one
// device, and what a Session would otherwise compute when it starts.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "runtime/base/parts_file.h"
#include "runtime/exec/constant_store.h"
#include "runtime/graph/graph.h"
#include "runtime/session/compiled_facts.h"
#include "runtime/tune/plan_cache.h"

namespace onnx_cudnn {

// Names of parts. The model that it was made from is kModelPart; weights have names of their own.
inline constexpr char kFactsPart[] = "about";
inline constexpr char kOptimizedPart[] = "optimized";  // the model after the passes
inline constexpr char kPlansPart[] = "plans";          // as in a plan cache
// Of one Program, where `plans` has none: a line that CoverKey makes, then CoverForAnyHost.
inline constexpr char kPartitionsPart[] = "partitions";

// What decides which partitions a search without measurements ends with, in one line.
//   shapes   ShapesIn of the Program's inputs
//   options  resolved for the device
std::string CoverKey(std::string_view shapes, const SessionOptions& options);

// Thread-safe.
class CompiledModel final : public StoredForms {
 public:
  // errors  those of parts_file.h; InvalidArgument: a part is missing
  static absl::StatusOr<std::shared_ptr<const CompiledModel>> Create(
      std::shared_ptr<const PartsFile> file);

  const CompiledFacts& facts() const { return facts_; }
  absl::StatusOr<Graph> Model() const;      // as its file has it
  absl::StatusOr<Graph> Optimized() const;  // facts().not_optimized is empty
  absl::StatusOr<PlanFile> Plans() const;   // none: there are no entries
  // The cover for this key, valid as long as this object. Empty: there is none.
  absl::StatusOr<std::string_view> Cover(std::string_view key) const;
  // Which engines of `target` are of other versions than those that the plans are for, in one line;
  // empty: none.
  std::string OtherEngines(const Target& target) const;

  // The name of the part for the form of `use`, as bytes; nullopt: its sources are no weights of
  // the file.
  std::optional<std::string> FormPart(const ConstantUse& use) const;
  bool HoldsSources(const ConstantUse& use) const override;
  absl::StatusOr<HostTensor> Find(const ConstantUse& use) const override;
  absl::Status ForEach(absl::FunctionRef<absl::Status(const HostTensor& form)> body) const override;

  const PartsFile& file() const { return *file_; }

 private:
  absl::StatusOr<HostTensor> Form(std::string_view part) const;
  CompiledModel(std::shared_ptr<const PartsFile> file, CompiledFacts facts)
      : file_(std::move(file)), facts_(std::move(facts)) {}

  const std::shared_ptr<const PartsFile> file_;
  const CompiledFacts facts_;
};

}  // namespace onnx_cudnn
