#include "runtime/session/compiled_model.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "runtime/base/sha1.h"
#include "runtime/base/status.h"
#include "runtime/import/onnx_loader.h"

namespace onnx_cudnn {
namespace {

// Sources that lie in the model's message, and not in a part, are named by their bytes.
constexpr int64_t kMostNamedBytes = 256;
constexpr std::string_view kFormPrefix = "form ";  // of the names of parts

}  // namespace

std::string CoverKey(std::string_view shapes, const SessionOptions& options) {
  Sha1 pins;
  pins.Update(options.pins);
  return absl::StrCat(absl::CEscape(shapes), "; ",
                      options.partitioner == PartitionerChoice::kCost ? "cost" : "greedy", ", ",
                      options.streams, " streams",
                      options.pins.empty() ? "" : absl::StrCat(", pins ", pins.HexDigest()));
}

absl::StatusOr<std::shared_ptr<const CompiledModel>> CompiledModel::Create(
    std::shared_ptr<const PartsFile> file) {
  ASSIGN_OR_RETURN(const std::string_view text, file->Read(kFactsPart));
  absl::StatusOr<CompiledFacts> facts = FactsFromText(text);
  if (!facts.ok()) return Annotate(facts.status(), file->name());
  return std::shared_ptr<const CompiledModel>(
      new CompiledModel(std::move(file), *std::move(facts)));
}

absl::StatusOr<Graph> CompiledModel::Model() const { return LoadModelPart(file_, kModelPart); }

absl::StatusOr<Graph> CompiledModel::Optimized() const {
  return LoadModelPart(file_, kOptimizedPart);
}

absl::StatusOr<PlanFile> CompiledModel::Plans() const {
  if (!file_->Has(kPlansPart)) return PlanFile();
  ASSIGN_OR_RETURN(const std::string_view text, file_->Read(kPlansPart));
  return ParsePlanFile(text, file_->name());
}

absl::StatusOr<std::string_view> CompiledModel::Cover(std::string_view key) const {
  if (!file_->Has(kPartitionsPart)) return std::string_view();
  ASSIGN_OR_RETURN(std::string_view text, file_->Read(kPartitionsPart));
  const bool is_it = absl::ConsumePrefix(&text, key) && absl::ConsumePrefix(&text, "\n");
  return is_it ? text : std::string_view();
}

std::string CompiledModel::OtherEngines(const Target& target) const {
  for (const std::string& made : facts_.engines) {
    const std::pair<std::string_view, std::string_view> engine =
        absl::StrSplit(made, absl::MaxSplits(' ', 1));
    const auto found = std::find_if(target.engines.begin(), target.engines.end(),
                                    [&](const Engine* e) { return e->name() == engine.first; });
    const std::string here = found == target.engines.end() ? "missing" : (*found)->version();
    if (here == engine.second) continue;
    return absl::StrFormat("compiled with plans of %s, which is %s here: they are not used", made,
                           here);
  }
  return "";
}

std::optional<std::string> CompiledModel::FormPart(const ConstantUse& use) const {
  std::string key = absl::StrCat(use.derived->recipe.size(), "'", use.derived->recipe, "'",
                                 use.derived->to.ToString());
  for (const HostTensor& source : use.sources) {
    const std::optional<std::string_view> part = file_->PartAt(source.raw());
    if (!part.has_value() && source.bytes() > kMostNamedBytes) return std::nullopt;
    const std::string_view bytes(static_cast<const char*>(source.raw()), source.bytes());
    absl::StrAppend(&key, " ", ToString(Type::Tensor(source.dtype(), source.dims())), " ",
                    part.has_value() ? std::string(*part) : absl::BytesToHexString(bytes));
  }
  Sha1 hash;
  hash.Update(key);
  return absl::StrCat(kFormPrefix, hash.HexDigest());
}

bool CompiledModel::HoldsSources(const ConstantUse& use) const {
  return std::all_of(use.sources.begin(), use.sources.end(), [&](const HostTensor& source) {
    return file_->PartAt(source.raw()).has_value();
  });
}

absl::StatusOr<HostTensor> CompiledModel::Find(const ConstantUse& use) const {
  const std::optional<std::string> part = FormPart(use);
  if (!part.has_value() || !file_->Has(*part)) return HostTensor();
  return Form(*part);
}

absl::StatusOr<HostTensor> CompiledModel::Form(std::string_view part) const {
  ASSIGN_OR_RETURN(const std::string_view bytes, file_->Read(part));
  return HostTensor::Borrow(DType::kU8, {static_cast<int64_t>(bytes.size())}, bytes.data(), file_);
}

absl::Status CompiledModel::ForEach(
    absl::FunctionRef<absl::Status(const HostTensor& form)> body) const {
  for (const std::string_view part : file_->parts()) {
    if (!absl::StartsWith(part, kFormPrefix)) continue;
    ASSIGN_OR_RETURN(const HostTensor form, Form(part));
    RETURN_IF_ERROR(body(form));
  }
  return absl::OkStatus();
}

}  // namespace onnx_cudnn
