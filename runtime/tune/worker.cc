#include "runtime/tune/worker.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <iterator>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "runtime/base/printable.h"
#include "runtime/base/status.h"

namespace onnx_cudnn {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kMostRestarts = 3;
// From the end of a worker's output to its own end, and from SIGKILL to that.
constexpr absl::Duration kGrace = absl::Seconds(5);
constexpr absl::Duration kCancelLook = absl::Milliseconds(100);
// A line is a signature and some words; what is longer is none.
constexpr size_t kMostLineBytes = size_t{1} << 20;

struct SpawnActions {
  SpawnActions() { posix_spawn_file_actions_init(&actions); }
  ~SpawnActions() { posix_spawn_file_actions_destroy(&actions); }
  posix_spawn_file_actions_t actions;
};

struct SpawnAttributes {
  // Whatever the calling thread blocks or the caller ignores is no concern of the worker.
  SpawnAttributes() {
    posix_spawnattr_init(&attributes);
    sigset_t set;
    sigemptyset(&set);
    posix_spawnattr_setsigmask(&attributes, &set);
    sigfillset(&set);
    posix_spawnattr_setsigdefault(&attributes, &set);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  }
  ~SpawnAttributes() { posix_spawnattr_destroy(&attributes); }
  posix_spawnattr_t attributes;
};

// A running program and the pipe from its standard output. Killed and waited for when this goes.
class Child {
 public:
  // NotFound: it cannot be started, with the system's reason.
  static absl::StatusOr<Child> Start(std::vector<std::string> arguments);
  Child(Child&& other) noexcept
      : pid_(std::exchange(other.pid_, -1)), out_(std::move(other.out_)) {}
  Child& operator=(Child&&) = delete;
  ~Child() { End(absl::ZeroDuration()); }

  enum class Heard { kBytes, kEnd, kNothing };
  // Appends what it wrote. kNothing: not a byte until `deadline`.
  Heard Listen(absl::Time deadline, std::string& to);
  // Kills it, if it still runs after `grace`, and returns waitpid's status; -1: unknown. Returns
  // soon, though a driver may hold on to the process.
  int End(absl::Duration grace);

 private:
  Child(pid_t pid, Descriptor out) : pid_(pid), out_(std::move(out)) {}

  pid_t pid_;
  Descriptor out_;
};

absl::StatusOr<Child> Child::Start(std::vector<std::string> arguments) {
  int fds[2];
  if (pipe2(fds, O_CLOEXEC) != 0) {
    return absl::NotFoundError(absl::StrCat("no pipe: ", std::strerror(errno)));
  }
  Descriptor read(fds[0]), write(fds[1]);
  SpawnActions files;
  posix_spawn_file_actions_adddup2(&files.actions, write.get(), STDOUT_FILENO);
  posix_spawn_file_actions_addopen(&files.actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addclosefrom_np(&files.actions, STDERR_FILENO + 1);
  const SpawnAttributes signals;
  std::vector<char*> argv;
  for (std::string& argument : arguments) argv.push_back(argument.data());
  argv.push_back(nullptr);
  pid_t pid;
  const int error =
      posix_spawn(&pid, argv[0], &files.actions, &signals.attributes, argv.data(), environ);
  if (error != 0) return absl::NotFoundError(std::strerror(error));
  return Child(pid, std::move(read));
}

Child::Heard Child::Listen(absl::Time deadline, std::string& to) {
  for (;;) {
    const absl::Duration left = deadline - absl::Now();
    if (left <= absl::ZeroDuration()) return Heard::kNothing;
    pollfd watched{.fd = out_.get(), .events = POLLIN, .revents = 0};
    const int ready = poll(&watched, 1, static_cast<int>(absl::ToInt64Milliseconds(left)) + 1);
    if (ready == 0 || (ready < 0 && errno == EINTR)) continue;
    char bytes[4096];
    const ssize_t n = ready < 0 ? -1 : ::read(out_.get(), bytes, sizeof(bytes));
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return Heard::kEnd;
    to.append(bytes, static_cast<size_t>(n));
    return Heard::kBytes;
  }
}

int Child::End(absl::Duration grace) {
  if (pid_ <= 0) return -1;
  absl::Time deadline = absl::Now() + grace;
  bool killed = false;
  int status = -1;
  for (;;) {
    const pid_t ended = waitpid(pid_, &status, WNOHANG);
    if (ended == pid_) break;
    // The caller waits for all children, or for none; or a driver holds the dead process.
    if ((ended < 0 && errno != EINTR) || (killed && absl::Now() >= deadline)) {
      status = -1;
      break;
    }
    if (!killed && absl::Now() >= deadline) {
      kill(pid_, SIGKILL);
      killed = true;
      deadline = absl::Now() + kGrace;
    }
    absl::SleepFor(absl::Milliseconds(1));
  }
  pid_ = -1;
  return status;
}

std::string TextAt(const Json& json, const char* name) {
  const auto it = json.find(name);
  return it != json.end() && it->is_string() ? it->get<std::string>() : "";
}

int64_t NumberOf(const Json& json) {
  return json.is_number_integer() ? json.get<int64_t>() : int64_t{0};
}

// What one worker said.
class Conversation {
 public:
  explicit Conversation(const WorkerRequest& request) : request_(request) {}

  enum class Ending { kClosed, kQuiet, kCancelled };
  Ending Hear(Child& child);

  bool done() const { return done_; }
  bool tried_any() const { return tried_any_; }
  const std::map<int64_t, FailedVariant>& being_tried() const { return being_tried_; }
  int64_t signatures() const { return signatures_; }
  const std::string& error() const { return error_; }
  std::vector<std::string>& notes() { return notes_; }

 private:
  bool Take(std::string_view line);  // false: it is no line of ours
  bool TakeTrial(int64_t id, const Json& json);

  const WorkerRequest& request_;
  bool done_ = false, tried_any_ = false, noted_nonsense_ = false;
  std::map<int64_t, FailedVariant> being_tried_;
  int64_t signatures_ = 0;
  std::string error_;
  std::vector<std::string> notes_;
};

Conversation::Ending Conversation::Hear(Child& child) {
  std::string text;
  absl::Time last_line = absl::Now();
  while (!done_) {
    const double limit_s = being_tried_.empty() ? request_.patience_s : request_.quiet_s;
    if (request_.cancel != nullptr && *request_.cancel) return Ending::kCancelled;
    const absl::Time quiet = last_line + absl::Seconds(limit_s);
    const Child::Heard heard = child.Listen(std::min(quiet, absl::Now() + kCancelLook), text);
    if (heard == Child::Heard::kNothing && absl::Now() < quiet) continue;
    if (heard == Child::Heard::kNothing) return Ending::kQuiet;
    if (heard == Child::Heard::kEnd) return Ending::kClosed;
    size_t begin = 0;
    for (size_t end; !done_ && (end = text.find('\n', begin)) != text.npos; begin = end + 1) {
      if (Take(std::string_view(text).substr(begin, end - begin))) last_line = absl::Now();
    }
    text.erase(0, begin);
    if (text.size() > kMostLineBytes) text.clear();
  }
  return Ending::kClosed;
}

bool Conversation::Take(std::string_view line) {
  const Json json = Json::parse(line, /*cb=*/nullptr, /*allow_exceptions=*/false);
  if (json.is_object() && !json.empty()) {
    const std::string& what = json.begin().key();
    const Json& value = json.begin().value();
    if (what == "trying" && value.is_number_integer()) return TakeTrial(NumberOf(value), json);
    if (what == "tried" && value.is_number_integer()) return being_tried_.erase(NumberOf(value));
    if (what == "progress" && value.is_array() && value.size() == 2) {
      signatures_ = NumberOf(value[0]);
      if (request_.progress) request_.progress(signatures_, NumberOf(value[1]));
      return true;
    }
    if (what == "note" && value.is_string()) {
      notes_.push_back(value.get<std::string>());
      return true;
    }
    if (what == "done") return done_ = true;
    if (what == "error" && value.is_string()) {
      error_ = value.get<std::string>();
      return true;
    }
  }
  if (!noted_nonsense_) {
    notes_.push_back(absl::StrCat("the worker program wrote what is no line of its protocol: \"",
                                  Printable(line.substr(0, 60)), "\""));
  }
  noted_nonsense_ = true;
  return false;
}

bool Conversation::TakeTrial(int64_t id, const Json& json) {
  tried_any_ = true;
  being_tried_[id] = {.device = TextAt(json, "device"),
                      .signature = TextAt(json, "signature"),
                      .engine = TextAt(json, "engine"),
                      .variant = TextAt(json, "variant"),
                      .engine_version = TextAt(json, "version")};
  return true;
}

// "signal 11 (Segmentation fault)"
std::string EndInWords(int status) {
  if (status == -1) return "it ended";
  if (WIFSIGNALED(status)) {
    return absl::StrFormat("signal %d (%s)", WTERMSIG(status), strsignal(WTERMSIG(status)));
  }
  return absl::StrCat("it ended with code ", WEXITSTATUS(status));
}

absl::Status PutFailed(const std::string& plan_cache, FailedVariant failed) {
  ASSIGN_OR_RETURN(const std::unique_ptr<PlanCache> cache, PlanCache::Open(plan_cache));
  cache->PutFailed(std::move(failed));
  return cache->Save();
}

}  // namespace

absl::StatusOr<WorkerReport> MeasureInWorker(const WorkerRequest& request) {
  WorkerReport report;
  const absl::Time start = absl::Now();
  const auto spent_s = [&] { return absl::ToDoubleSeconds(absl::Now() - start); };
  bool one_at_a_time = false;
  for (int starts = 0;; ++starts) {
    absl::StatusOr<Child> child =
        Child::Start({request.program, request.job, request.plan_cache,
                      absl::StrFormat("%.3f", request.budget_s - spent_s()),
                      one_at_a_time ? "one-at-a-time" : "parallel"});
    report.seconds = spent_s();
    if (!child.ok()) {
      report.notes.push_back(absl::StrCat("the worker program ", request.program,
                                          " cannot be started: ", child.status().message()));
      report.served = starts > 0;
      return report;
    }
    Conversation conversation(request);
    const Conversation::Ending ending = conversation.Hear(*child);
    const bool hung = ending == Conversation::Ending::kQuiet;
    const bool cancelled = ending == Conversation::Ending::kCancelled;
    const bool dies = !hung && !cancelled && !conversation.done();
    const int status = child->End(dies ? kGrace : absl::ZeroDuration());
    report.seconds = spent_s();
    report.signatures += conversation.signatures();
    std::move(conversation.notes().begin(), conversation.notes().end(),
              std::back_inserter(report.notes));
    if (conversation.done() || cancelled) {
      report.served = true;
      return report;
    }
    const std::string end = hung                            ? "it said nothing more"
                            : !conversation.error().empty() ? conversation.error()
                                                            : EndInWords(status);
    const auto& suspects = conversation.being_tried();
    if (!conversation.tried_any()) {
      report.notes.push_back(absl::StrCat("the worker program tried nothing: ", end));
      report.gave_up = report.served = hung || (status != -1 && WIFSIGNALED(status));
      return report;
    }
    report.served = true;
    if (suspects.empty() && !conversation.error().empty()) {  // it ended itself, in good order
      report.notes.push_back(absl::StrCat("the worker program: ", end));
      return report;
    }
    if (suspects.size() == 1) {
      FailedVariant failed = suspects.begin()->second;
      failed.how = hung ? kHung : kCrashed;
      failed.why = hung ? "" : end;
      failed.date = Today();
      report.notes.push_back(
          absl::StrCat(failed.engine, " ", failed.variant, ": ", failed.how, ": ", end));
      RETURN_IF_ERROR(PutFailed(request.plan_cache, std::move(failed)));
    } else {
      report.notes.push_back(absl::StrFormat(
          "a worker program ended while %d variants were being tried: %s", suspects.size(), end));
      one_at_a_time = true;
    }
    report.gave_up = starts == kMostRestarts;
    if (report.gave_up) {
      report.notes.push_back(absl::StrFormat(
          "after %d worker programs that ended early no more is measured", starts + 1));
      return report;
    }
    if (spent_s() >= request.budget_s) return report;
  }
}

TuneObserver WorkerLines::Observer() {
  return {.trying =
              [this](int64_t id, const FailedVariant& what) {
                Write(Json{{"trying", id},
                           {"device", what.device},
                           {"signature", what.signature},
                           {"engine", what.engine},
                           {"variant", what.variant},
                           {"version", what.engine_version}}
                          .dump(-1, ' ', false, Json::error_handler_t::replace));
              },
          .tried = [this](int64_t id) { Write(absl::StrFormat(R"({"tried": %d})", id)); },
          .progress =
              [this](int64_t done, int64_t total) {
                Write(absl::StrFormat(R"({"progress": [%d, %d]})", done, total));
              }};
}

void WorkerLines::Done(const TunerStats& stats) {
  for (const std::string& note : stats.notes) {
    Write(Json{{"note", note}}.dump(-1, ' ', false, Json::error_handler_t::replace));
  }
  Write(R"({"done": true})");
}

void WorkerLines::Error(std::string_view message) {
  Write(Json{{"error", message}}.dump(-1, ' ', false, Json::error_handler_t::replace));
}

void WorkerLines::Write(std::string_view line) {
  const std::string text = absl::StrCat(line, "\n");
  absl::MutexLock lock(mutex_);
  for (size_t at = 0; at < text.size();) {
    const ssize_t n = ::write(fd_.get(), text.data() + at, text.size() - at);
    if (n < 0 && errno != EINTR) return;
    if (n > 0) at += static_cast<size_t>(n);
  }
}

}  // namespace onnx_cudnn
