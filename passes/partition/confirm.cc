#include "passes/partition/confirm.h"

#include <atomic>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "runtime/base/host_span.h"
#include "runtime/base/progress.h"
#include "runtime/base/status.h"
#include "runtime/base/thread_pool.h"

namespace onnx_cudnn {

absl::StatusOr<bool> Confirmer::Learn(absl::Span<const Candidate* const> wanted) {
  std::vector<const Candidate*> unknown;
  std::vector<std::string> signatures;
  std::vector<std::optional<double>> known_us;
  for (const Candidate* candidate : wanted) {
    std::string signature = Signature(*candidate, target_);
    if (!answers_.try_emplace(signature).second) continue;
    unknown.push_back(candidate);
    known_us.push_back(pricer_ == nullptr ? std::nullopt : pricer_->MeasuredUs(signature));
    signatures.push_back(std::move(signature));
  }
  const HostScope scope("compile");
  const absl::Time start = absl::Now();
  ASSIGN_OR_RETURN(std::vector<Answer> answers, Ask(unknown));
  compile_ms_ += absl::ToDoubleMilliseconds(absl::Now() - start);
  bool is_news = false;
  for (size_t i = 0; i < unknown.size(); ++i) {
    RETURN_IF_ERROR(answers[i].status());
    Choice& choice = *answers[i];
    is_news |= IsNews(*unknown[i], choice, known_us[i]);
    if (choice.is_left_out) {
      answers_.erase(signatures[i]);
      continue;
    }
    if (choice.compiled.step() == nullptr) refused_[signatures[i]] = choice.compiled.reason();
    answers_[signatures[i]] = std::move(choice);
  }
  return is_news;
}

bool Confirmer::IsNews(const Candidate& candidate, const Choice& choice,
                       std::optional<double> known_us) const {
  if (choice.compiled.step() == nullptr) return true;
  return choice.us.has_value() && *choice.us != known_us.value_or(candidate.cost.us);
}

const Choice* Confirmer::Find(const std::string& signature) const {
  const auto found = answers_.find(signature);
  return found == answers_.end() ? nullptr : &found->second;
}

absl::StatusOr<std::vector<Partition>> Confirmer::Confirm(std::vector<Candidate> chosen) {
  std::vector<const Candidate*> wanted;
  for (const Candidate& candidate : chosen) wanted.push_back(&candidate);
  RETURN_IF_ERROR(Learn(wanted).status());
  std::vector<Partition> partitions;
  partitions.reserve(chosen.size());
  for (Candidate& candidate : chosen) {
    const Choice* choice = Find(Signature(candidate, target_));
    if (choice == nullptr) {  // left out
      partitions.push_back({std::move(candidate), {}, nullptr});
      continue;
    }
    if (choice->us.has_value()) {
      candidate.cost.us = *choice->us;
      candidate.cost.from = kMeasured;
    }
    partitions.push_back({std::move(candidate), choice->variant, choice->compiled.step()});
  }
  return partitions;
}

absl::StatusOr<std::vector<Confirmer::Answer>> Confirmer::Ask(
    absl::Span<const Candidate* const> candidates) const {
  std::vector<Answer> answers(candidates.size());
  const auto total = static_cast<int64_t>(candidates.size());
  if (pricer_ != nullptr) {
    RETURN_IF_ERROR(ReportProgress(ProgressStage::kBuilding, 0, total, ""));
    ASSIGN_OR_RETURN(std::vector<Choice> choices, pricer_->Choose(candidates));
    std::move(choices.begin(), choices.end(), answers.begin());
    RETURN_IF_ERROR(ReportProgress(ProgressStage::kBuilding, total, total, ""));
    return answers;
  }
  std::atomic<int64_t> done = 0;
  std::atomic<bool> cancelled = false;
  const auto answer = [&](const Candidate& candidate) -> Answer {
    if (cancelled) return absl::CancelledError();  // the caller's thread has the reason
    // Does nothing on the pool's threads.
    const absl::Status reported =
        ReportProgress(ProgressStage::kBuilding, done, total, candidate.nodes[0]->op());
    if (!reported.ok()) {
      cancelled = true;
      return reported;
    }
    Answer choice = FirstThatCompiles(candidate, target_);
    ++done;
    if (choice.ok()) return choice;
    return Annotate(choice.status(),
                    absl::StrCat(candidate.engine->name(), ": ", Where(*candidate.nodes[0])));
  };
  ThreadPool::Default().ParallelFor(total, 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) answers[i] = answer(*candidates[i]);
  });
  RETURN_IF_ERROR(ReportProgress(ProgressStage::kBuilding, total, total, ""));
  return answers;
}

}  // namespace onnx_cudnn
