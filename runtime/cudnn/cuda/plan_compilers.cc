#include "runtime/cudnn/cuda/plan_compilers.h"

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "runtime/base/frames.h"
#include "runtime/base/status.h"
#include "runtime/cudnn/cuda/cudnn_calls.h"
#include "runtime/cudnn/cuda/graph_text.h"
#include "runtime/cudnn/cuda/handles.h"

namespace onnx_cudnn {
namespace {

// How long a process may take to open the GPU and cuDNN. A caller waits meanwhile, and what is
// silent for longer (WorkerRequest::quiet_s) counts as hung.
constexpr absl::Duration kOpening = absl::Seconds(8);
constexpr absl::Duration kLook = absl::Milliseconds(2);

// A request is the engine, a line feed, the graph. An answer starts with one of these.
constexpr std::string_view kPlan = "plan ", kRefused = "refused ", kFailed = "failed ";

absl::StatusOr<std::string> Saved(std::string_view request, const PlanBuilder& build) {
  const size_t line = request.find('\n');
  if (line == request.npos) return absl::InvalidArgumentError("a request without a graph");
  ASSIGN_OR_RETURN(const CudnnGraph graph, ParseCudnnGraph(request.substr(line + 1)));
  ASSIGN_OR_RETURN(const std::unique_ptr<CudnnPlan> plan, build(graph, request.substr(0, line)));
  return plan->Save();
}

std::string Answer(const absl::StatusOr<std::string>& saved) {
  if (saved.ok()) return absl::StrCat(kPlan, *saved);
  return absl::StrCat(absl::IsUnimplemented(saved.status()) ? kRefused : kFailed,
                      saved.status().message());
}

void EndWith(int socket) {
  pollfd watched{.fd = socket, .events = POLLRDHUP, .revents = 0};
  while (poll(&watched, 1, -1) <= 0) continue;
  _exit(0);
}

bool HasText(int socket, absl::Duration wait) {
  pollfd watched{.fd = socket, .events = POLLIN, .revents = 0};
  return poll(&watched, 1, static_cast<int>(absl::ToInt64Milliseconds(wait))) > 0;
}

}  // namespace

PlanCompilers::PlanCompilers(const std::vector<std::string>& command, int processes) {
  std::vector<ChildProcess> opening;
  for (int i = 0; i < processes; ++i) {
    absl::StatusOr<ChildProcess> process = ChildProcess::Connect(command);
    if (process.ok()) opening.push_back(*std::move(process));
  }
  {
    absl::MutexLock lock(mutex_);
    running_ = static_cast<int>(opening.size());
  }
  ready_ = std::thread(
      [this, opening = std::move(opening)]() mutable { AwaitReady(std::move(opening)); });
}

// All processes end at once, then each is waited for.
PlanCompilers::~PlanCompilers() {
  {
    absl::MutexLock lock(mutex_);
    ends_ = true;
  }
  ready_.join();
  absl::MutexLock lock(mutex_);
  for (const ChildProcess& process : free_) shutdown(process.socket(), SHUT_RDWR);
  free_.clear();
}

int PlanCompilers::running() const {
  absl::MutexLock lock(mutex_);
  return running_;
}

void PlanCompilers::AwaitReady(std::vector<ChildProcess> opening) {
  const absl::Time latest = absl::Now() + kOpening;
  const auto goes_on = [&] {
    absl::MutexLock lock(mutex_);
    return !opening.empty() && !ends_ && absl::Now() < latest;
  };
  while (goes_on()) {
    std::vector<ChildProcess> still;
    for (ChildProcess& process : opening) {
      if (!HasText(process.socket(), kLook)) {
        still.push_back(std::move(process));
        continue;
      }
      const bool is_ready = ReceiveFrame(process.socket()).ok();
      absl::MutexLock lock(mutex_);
      if (is_ready) {
        free_.push_back(std::move(process));
      } else {
        --running_;
      }
    }
    opening.swap(still);
  }
  absl::MutexLock lock(mutex_);
  running_ -= static_cast<int>(opening.size());
}

absl::StatusOr<std::string> PlanCompilers::Compile(const CudnnGraph& graph,
                                                   std::string_view engine) {
  std::optional<ChildProcess> process = Take();
  if (!process.has_value()) return absl::UnavailableError("no process compiles plans");
  const absl::Status sent = SendFrame(process->socket(), absl::StrCat(engine, "\n", ToText(graph)));
  const absl::StatusOr<std::string> answer =
      sent.ok() ? ReceiveFrame(process->socket()) : absl::StatusOr<std::string>(sent);
  std::string_view text = answer.ok() ? std::string_view(*answer) : "";
  const bool has_plan = absl::ConsumePrefix(&text, kPlan);
  const bool is_refused = !has_plan && absl::ConsumePrefix(&text, kRefused);
  {
    absl::MutexLock lock(mutex_);
    if (has_plan || is_refused) {
      free_.push_back(*std::move(process));
    } else {
      --running_;  // it fails whatever it is asked, or is gone
    }
  }
  if (has_plan) return std::string(text);
  if (is_refused) return absl::UnimplementedError(text);
  if (answer.ok()) return absl::UnavailableError(absl::StripPrefix(text, kFailed));
  return absl::ResourceExhaustedError("the process that compiled the plan ended");
}

// nullopt: none runs any more.
std::optional<ChildProcess> PlanCompilers::Take() {
  absl::MutexLock lock(mutex_);
  const auto is_decided = [this]() ABSL_SHARED_LOCKS_REQUIRED(mutex_) {
    return running_ == 0 || !free_.empty();
  };
  mutex_.Await(absl::Condition(&is_decided));
  if (free_.empty()) return std::nullopt;
  std::optional<ChildProcess> process(std::move(free_.back()));
  free_.pop_back();
  return process;
}

void ServePlans(int socket, const PlanBuilder& build) {
  if (!SendFrame(socket, "").ok()) return;
  for (;;) {
    const absl::StatusOr<std::string> request = ReceiveFrame(socket);
    if (!request.ok() || !SendFrame(socket, Answer(Saved(*request, build))).ok()) return;
  }
}

absl::Status ServePlansFor(int ordinal, int socket) {
  std::thread(EndWith, socket).detach();
  RETURN_IF_ERROR(LoadCudnn());
  CudnnHandles handles(ordinal);
  RETURN_IF_ERROR(handles.Create());
  ASSIGN_OR_RETURN(const std::string properties, DevicePropertiesOf(ordinal));
  ASSIGN_OR_RETURN(const CudnnHandles::Lease handle, handles.TakeOrMake());
  ServePlans(socket, [&](const CudnnGraph& graph, std::string_view engine) {
    return BuildPlan(graph, engine, {.handle = handle.get(), .properties = properties});
  });
  return absl::OkStatus();
}

}  // namespace onnx_cudnn
