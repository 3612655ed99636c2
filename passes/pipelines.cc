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
    {"cancel-reshapes", CancelReshapes},
    {"cancel-transposes", CancelTransposes},
    {"clone-cheap", CloneCheap},
    {"common-subexpressions", CommonSubexpressions},
    {"dead-code", DeadCode},
    {"decompose", Decompose},
    {"eliminate-identity", EliminateIdentity},
    {"fold-batch-norm", FoldBatchNorm},
    {"fold-bias", FoldBias},
    {"fold-constant-chains", FoldConstantChains},
    {"fold-constants", FoldConstants},
    {"fold-pad", FoldPad},
    {"fold-scale", FoldScale},
    {"fuse-activations", FuseActivations},
    {"fuse-attention", FuseAttention},
    {"fuse-layer-norm", FuseLayerNorm},
    {"fuse-projections", FuseProjections},
    {"gather-rows", GatherRows},
    {"inline-constant-if", InlineConstantIf},
    {"lower-attention", LowerAttention},
    {"lower-batch-norm", LowerBatchNorm},
    {"lower-einsum", LowerEinsum},
    {"lower-patch-conv", LowerPatchConv},
    {"lower-precision-bf16", LowerPrecisionBf16},
    {"lower-precision-fp16", LowerPrecisionFp16},
    {"merge-indices", MergeIndices},
    {"merge-slices", MergeSlices},
    {"own-outputs", OwnOutputs},
    {"pool-means", PoolMeans},
    {"simplify-arithmetic", SimplifyArithmetic},
    {"sink-transposes", SinkTransposes},
    {"slice-gathers", SliceGathers},
    {"split-pad", SplitPad},
};

// Folding may make a condition constant, and an inlined branch may contain more to fold.
constexpr std::string_view kClean[] = {
    "eliminate-identity", "fold-constants",      "inline-constant-if",    "fold-constants",
    "eliminate-identity", "simplify-arithmetic", "slice-gathers",         "merge-slices",
    "cancel-transposes",  "cancel-reshapes",     "common-subexpressions", "dead-code"};

// Einsums become products first, which other passes then find; what that adds is cleaned up at
// once. Patterns of exporters are fused next, before fold-scale moves their factors into the
// following product; sink-transposes takes away what stands between a product and its factor.
// lower-patch-conv comes when biases and factors are in the weights; its moves then cancel.
// fold-bias and fold-scale run twice: a bias or a factor may precede or follow a
// BatchNormalization. clone-cheap is last, because common-subexpressions would merge its copies.
constexpr std::string_view kMoveArithmetic[] = {"lower-einsum",      "fold-constants",
                                                "cancel-transposes", "cancel-reshapes",
                                                "fuse-layer-norm",   "pool-means",
                                                "fuse-activations",  "sink-transposes",
                                                "cancel-transposes", "fold-constant-chains",
                                                "fold-pad",          "fold-bias",
                                                "fold-scale",        "fold-batch-norm",
                                                "fold-bias",         "fold-scale",
                                                "lower-batch-norm",  "lower-patch-conv",
                                                "cancel-reshapes",   "cancel-transposes",
                                                "cancel-reshapes",   "dead-code",
                                                "clone-cheap"};

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

std::vector<std::unique_ptr<Pass>> MakePipeline(int level, DType products) {
  std::vector<std::unique_ptr<Pass>> passes;
  if (level <= 0) Append({"dead-code"}, passes);
  if (level >= 1) Append(kClean, passes);
  if (level >= 2) Append(kMoveArithmetic, passes);
  if (products == DType::kF16) Append({"lower-precision-fp16"}, passes);
  if (products == DType::kBF16) Append({"lower-precision-bf16"}, passes);
  if (level >= 2) Append({"split-pad"}, passes);  // after the types of products are decided
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
