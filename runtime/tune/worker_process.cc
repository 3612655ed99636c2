#include "runtime/tune/worker_process.h"

#include <sys/wait.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <memory>
#include <string_view>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "runtime/base/child_process.h"
#include "runtime/base/printable.h"
#include "runtime/base/progress.h"
#include "runtime/base/status.h"
#include "runtime/tune/plan_cache.h"
#include "runtime/tune/worker_lines.h"

namespace onnx_cudnn {
namespace {

constexpr int kMostRestarts = 3;
// Time from the end of a worker's output to its end.
constexpr absl::Duration kGrace = absl::Seconds(5);
constexpr absl::Duration kCancelLook = absl::Milliseconds(100);
// A message is a signature and a few words; anything longer is invalid.
constexpr size_t kMostLineBytes = size_t{1} << 20;

// The messages of one worker.
class Conversation {
 public:
  explicit Conversation(const WorkerRequest& request) : request_(request) {}

  enum class Ending { kClosed, kQuiet, kCancelled };
  Ending Hear(ChildProcess& child);

  bool done() const { return done_; }
  bool tried_any() const { return tried_any_; }
  const std::map<int64_t, FailedVariant>& being_tried() const { return being_tried_; }
  int64_t signatures() const { return signatures_; }
  const std::string& error() const { return error_; }
  std::vector<std::string>& notes() { return notes_; }

 private:
  bool Take(std::string_view text);  // false: not a line of the protocol

  const WorkerRequest& request_;
  bool done_ = false, tried_any_ = false, noted_nonsense_ = false;
  std::map<int64_t, FailedVariant> being_tried_;
  int64_t signatures_ = 0;
  std::string error_;
  std::vector<std::string> notes_;
};

Conversation::Ending Conversation::Hear(ChildProcess& child) {
  std::string text;
  absl::Time last_line = absl::Now();
  while (!done_) {
    const double limit_s = being_tried_.empty() ? request_.patience_s : request_.quiet_s;
    const bool stopped = request_.cancel != nullptr && *request_.cancel;
    if (stopped || !CheckCancelled().ok()) return Ending::kCancelled;
    const absl::Time quiet = last_line + absl::Seconds(limit_s);
    const ChildProcess::Heard heard =
        child.Listen(std::min(quiet, absl::Now() + kCancelLook), text);
    if (heard == ChildProcess::Heard::kNothing && absl::Now() < quiet) continue;
    if (heard == ChildProcess::Heard::kNothing) return Ending::kQuiet;
    if (heard == ChildProcess::Heard::kEnd) return Ending::kClosed;
    size_t begin = 0;
    for (size_t end; !done_ && (end = text.find('\n', begin)) != text.npos; begin = end + 1) {
      if (Take(std::string_view(text).substr(begin, end - begin))) last_line = absl::Now();
    }
    text.erase(0, begin);
    if (text.size() > kMostLineBytes) text.clear();
  }
  return Ending::kClosed;
}

bool Conversation::Take(std::string_view text) {
  WorkerLine line = ParseWorkerLine(text);
  switch (line.kind) {
    case WorkerLine::Kind::kTrying:
      tried_any_ = true;
      being_tried_[line.id] = std::move(line.variant);
      return true;
    case WorkerLine::Kind::kTried:
      return being_tried_.erase(line.id) > 0;
    case WorkerLine::Kind::kProgress:
      signatures_ = line.done;
      if (request_.progress) request_.progress(line.done, line.total);
      return true;
    case WorkerLine::Kind::kNote:
      notes_.push_back(std::move(line.text));
      return true;
    case WorkerLine::Kind::kDone:
      done_ = true;
      return true;
    case WorkerLine::Kind::kError:
      error_ = std::move(line.text);
      return true;
    case WorkerLine::Kind::kNone:
      break;
  }
  if (!noted_nonsense_) {
    notes_.push_back(absl::StrCat("the worker program wrote what is no line of its protocol: \"",
                                  Printable(text.substr(0, 60)), "\""));
  }
  noted_nonsense_ = true;
  return false;
}

absl::Status PutFailed(const std::string& plan_cache, FailedVariant failed) {
  ASSIGN_OR_RETURN(const std::unique_ptr<PlanCache> cache, PlanCache::Open(plan_cache));
  cache->PutFailed(std::move(failed));
  return cache->Save();
}

// Runs one worker after the other, until nothing is left to do.
class Measuring {
 public:
  explicit Measuring(const WorkerRequest& request) : request_(request) {}

  absl::StatusOr<WorkerReport> Run() {
    bool goes_on = true;
    for (int restarts = 0; goes_on; ++restarts) {
      ASSIGN_OR_RETURN(goes_on, RunOne(restarts));
    }
    return std::move(report_);
  }

 private:
  double spent_s() const { return absl::ToDoubleSeconds(absl::Now() - start_); }
  // Returns whether another worker should continue.
  absl::StatusOr<bool> RunOne(int restarts);
  absl::StatusOr<bool> EndedEarly(const Conversation& conversation, bool hung, int status,
                                  int restarts);
  absl::Status NoteSuspects(const std::map<int64_t, FailedVariant>& suspects, bool hung,
                            const std::string& end);
  void Note(std::string note) { report_.notes.push_back(std::move(note)); }

  const WorkerRequest& request_;
  const absl::Time start_ = absl::Now();
  bool one_at_a_time_ = false;
  WorkerReport report_;
};

absl::StatusOr<bool> Measuring::RunOne(int restarts) {
  absl::StatusOr<ChildProcess> child =
      ChildProcess::Start({request_.program, request_.job, request_.plan_cache,
                           absl::StrFormat("%.3f", request_.budget_s - spent_s()),
                           one_at_a_time_ ? "one-at-a-time" : "parallel"});
  report_.seconds = spent_s();
  if (!child.ok()) {
    Note(absl::StrCat("the worker program ", request_.program,
                      " cannot be started: ", child.status().message()));
    report_.served = restarts > 0;
    return false;
  }
  Conversation conversation(request_);
  const Conversation::Ending ending = conversation.Hear(*child);
  const bool hung = ending == Conversation::Ending::kQuiet;
  const bool cancelled = ending == Conversation::Ending::kCancelled;
  const bool ends_itself = !hung && !cancelled && !conversation.done();
  const int status = child->End(ends_itself ? kGrace : absl::ZeroDuration());
  report_.seconds = spent_s();
  report_.signatures += conversation.signatures();
  std::move(conversation.notes().begin(), conversation.notes().end(),
            std::back_inserter(report_.notes));
  if (!conversation.done() && !cancelled) {
    return EndedEarly(conversation, hung, status, restarts);
  }
  report_.served = true;
  return false;
}

absl::StatusOr<bool> Measuring::EndedEarly(const Conversation& conversation, bool hung, int status,
                                           int restarts) {
  const bool has_error = !conversation.error().empty();
  const std::string end = hung        ? "it said nothing more"
                          : has_error ? conversation.error()
                                      : EndInWords(status);
  if (!conversation.tried_any()) {
    Note(absl::StrCat("the worker program tried nothing: ", end));
    report_.gave_up = report_.served = hung || (status != -1 && WIFSIGNALED(status));
    return false;
  }
  report_.served = true;
  // It ended by itself with an error message.
  if (conversation.being_tried().empty() && has_error) {
    Note(absl::StrCat("the worker program: ", end));
    return false;
  }
  RETURN_IF_ERROR(NoteSuspects(conversation.being_tried(), hung, end));
  report_.gave_up = restarts == kMostRestarts;
  if (report_.gave_up) {
    Note(absl::StrFormat("after %d worker programs that ended early no more is measured",
                         restarts + 1));
  }
  return !report_.gave_up && spent_s() < request_.budget_s;
}

absl::Status Measuring::NoteSuspects(const std::map<int64_t, FailedVariant>& suspects, bool hung,
                                     const std::string& end) {
  if (suspects.size() != 1) {
    Note(absl::StrFormat("a worker program ended while %d variants were being tried: %s",
                         suspects.size(), end));
    one_at_a_time_ = true;
    return absl::OkStatus();
  }
  FailedVariant failed = suspects.begin()->second;
  failed.how = hung ? kHung : kCrashed;
  failed.why = hung ? "" : end;
  failed.date = Today();
  Note(absl::StrCat(failed.engine, " ", failed.variant, ": ", failed.how, ": ", end));
  return PutFailed(request_.plan_cache, std::move(failed));
}

}  // namespace

absl::StatusOr<WorkerReport> MeasureInWorker(const WorkerRequest& request) {
  return Measuring(request).Run();
}

}  // namespace onnx_cudnn
