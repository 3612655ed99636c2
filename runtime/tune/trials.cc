#include "runtime/tune/trials.h"

#include <atomic>
#include <memory>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "runtime/base/status.h"

namespace onnx_cudnn {
namespace {

std::string Words(const FailedVariant& failed) {
  return absl::StrCat(failed.how, " when it was tuned on ", failed.date,
                      failed.why.empty() ? "" : ": ", failed.why);
}

}  // namespace

std::string Today() { return absl::FormatTime("%Y-%m-%d", absl::Now(), absl::UTCTimeZone()); }

std::string Trials::Against(const Variant& variant) const {
  for (const FailedVariant& failed : known_) {
    if (failed.variant == variant.text && failed.how != kRefused) return Words(failed);
  }
  return "";
}

std::string Trials::Refusal() const {
  for (const FailedVariant& failed : known_) {
    if (failed.how == kRefused) return Words(failed);
  }
  return "";
}

absl::StatusOr<Compiled> Trials::Compile(const Variant& variant) const {
  if (std::string against = Against(variant); !against.empty()) {
    return Compiled::No(absl::StrCat(variant.text, " ", against));
  }
  Compiled compiled = Compiled::No("");
  RETURN_IF_ERROR(Try(variant, [&]() -> absl::Status {
    ASSIGN_OR_RETURN(compiled, candidate_.engine->Compile(candidate_, variant, target_));
    return absl::OkStatus();
  }));
  return compiled;
}

absl::StatusOr<Compiled> Trials::Load(const PlanEntry& entry) const {
  const Variant variant{entry.variant};
  if (entry.saved.empty() || !Against(variant).empty()) return Compile(variant);
  std::shared_ptr<const Step> step;
  RETURN_IF_ERROR(Try(variant, [&]() -> absl::Status {
    absl::StatusOr<std::shared_ptr<const Step>> loaded =
        candidate_.engine->Load(entry.saved, candidate_, target_);
    if (loaded.ok()) step = *std::move(loaded);
    return absl::OkStatus();
  }));
  return step == nullptr ? Compile(variant) : Compiled::As(std::move(step));
}

absl::Status Trials::Try(const Variant& variant, absl::FunctionRef<absl::Status()> body) const {
  static std::atomic<int64_t> next_id = 0;
  const int64_t id = next_id++;
  if (observer_.trying) observer_.trying(id, Failed(variant, "", ""));
  const absl::Status status = body();
  if (observer_.tried && !absl::IsFailedPrecondition(status)) observer_.tried(id);
  return status;
}

FailedVariant Trials::Failed(const Variant& variant, std::string_view how, std::string why) const {
  return {.device = target_.info.name,
          .signature = signature_,
          .engine = std::string(candidate_.engine->name()),
          .variant = variant.text,
          .how = std::string(how),
          .why = std::move(why),
          .engine_version = candidate_.engine->version(),
          .date = Today()};
}

}  // namespace onnx_cudnn
