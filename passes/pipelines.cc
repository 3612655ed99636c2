#include "passes/pipelines.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "passes/rewrite/rewrites.h"

namespace onnx_cudnn {
namespace {

struct Row {
  std::string_view name;
  std::unique_ptr<Pass> (*make)();
};

// Every pass, sorted by name.
constexpr Row kPasses[] = {
    {"cancel-transposes", CancelTransposes},
    {"dead-code", DeadCode},
    {"eliminate-identity", EliminateIdentity},
    {"fold-batch-norm", FoldBatchNorm},
    {"fold-bias", FoldBias},
    {"fold-constants", FoldConstants},
    {"inline-constant-if", InlineConstantIf},
    {"own-outputs", OwnOutputs},
};

// Folding may make a condition constant, and an inlined branch may hold more to fold.
constexpr std::string_view kClean[] = {
    "eliminate-identity", "fold-constants",    "inline-constant-if", "fold-constants",
    "eliminate-identity", "cancel-transposes", "dead-code"};

// A bias may stand before a BatchNormalization or after it.
constexpr std::string_view kMoveArithmetic[] = {"fold-bias", "fold-batch-norm", "fold-bias",
                                                "dead-code"};

const Row* FindPass(std::string_view name) {
  for (const Row& row : kPasses) {
    if (row.name == name) return &row;
  }
  return nullptr;
}

void Append(absl::Span<const std::string_view> names, std::vector<std::unique_ptr<Pass>>& passes) {
  for (std::string_view name : names) passes.push_back(FindPass(name)->make());
}

}  // namespace

std::vector<std::unique_ptr<Pass>> MakePipeline(int level) {
  std::vector<std::unique_ptr<Pass>> passes;
  if (level <= 0) Append({"dead-code"}, passes);
  if (level >= 1) Append(kClean, passes);
  if (level >= 2) Append(kMoveArithmetic, passes);
  return passes;
}

absl::StatusOr<std::vector<std::unique_ptr<Pass>>> MakePasses(absl::Span<const std::string> names) {
  std::vector<std::unique_ptr<Pass>> passes;
  for (const std::string& name : names) {
    const Row* row = FindPass(name);
    if (row == nullptr) {
      return absl::InvalidArgumentError(absl::StrCat(
          "no pass is called \"", name, "\"; there are: ", absl::StrJoin(PassNames(), ", ")));
    }
    passes.push_back(row->make());
  }
  return passes;
}

std::vector<std::string> PassNames() {
  std::vector<std::string> names;
  for (const Row& row : kPasses) names.emplace_back(row.name);
  return names;
}

}  // namespace onnx_cudnn
