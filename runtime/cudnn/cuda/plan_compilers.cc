#include "runtime/cudnn/cuda/plan_compilers.h"

#include <poll.h>
#include <unistd.h>

#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "runtime/base/frames.h"
#include "runtime/base/status.h"
#include "runtime/cudnn/cuda/cudnn_calls.h"
#include "runtime/cudnn/cuda/graph_text.h"
#include "runtime/cudnn/cuda/handles.h"

namespace onnx_cudnn {
namespace {

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

// Ends the process when the socket closes: a plan may never be finished.
void EndWith(int socket) {
  pollfd watched{.fd = socket, .events = POLLRDHUP, .revents = 0};
  while (poll(&watched, 1, -1) <= 0) continue;
  _exit(0);
}

}  // namespace

PlanCompilers::PlanCompilers(const std::vector<std::string>& command, int processes) {
  absl::MutexLock lock(mutex_);
  for (int i = 0; i < processes; ++i) {
    absl::StatusOr<ChildProcess> process = ChildProcess::Connect(command);
    if (process.ok()) free_.push_back(*std::move(process));
  }
  running_ = static_cast<int>(free_.size());
}

absl::StatusOr<std::string> PlanCompilers::Compile(const CudnnGraph& graph,
                                                   std::string_view engine) {
  ASSIGN_OR_RETURN(const std::string answer, Ask(absl::StrCat(engine, "\n", ToText(graph))));
  std::string_view text = answer;
  if (absl::ConsumePrefix(&text, kPlan)) return std::string(text);
  if (absl::ConsumePrefix(&text, kRefused)) return absl::UnimplementedError(text);
  absl::ConsumePrefix(&text, kFailed);
  return absl::UnavailableError(text);
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

// A process that does not answer is ended, and others go on.
absl::StatusOr<std::string> PlanCompilers::Ask(const std::string& request) {
  std::optional<ChildProcess> process = Take();
  if (!process.has_value()) return absl::UnavailableError("no process compiles plans");
  const absl::Status sent = SendFrame(process->socket(), request);
  absl::StatusOr<std::string> answer =
      sent.ok() ? ReceiveFrame(process->socket()) : absl::StatusOr<std::string>(sent);
  absl::MutexLock lock(mutex_);
  if (answer.ok()) {
    free_.push_back(*std::move(process));
    return answer;
  }
  --running_;
  return absl::UnavailableError(answer.status().message());
}

void ServePlans(int socket, const PlanBuilder& build) {
  std::thread(EndWith, socket).detach();
  for (;;) {
    const absl::StatusOr<std::string> request = ReceiveFrame(socket);
    if (!request.ok() || !SendFrame(socket, Answer(Saved(*request, build))).ok()) return;
  }
}

absl::Status ServePlansFor(int ordinal, int socket) {
  RETURN_IF_ERROR(LoadCudnn());
  ASSIGN_OR_RETURN(const std::unique_ptr<CudnnHandles> handles, CudnnHandles::Open(ordinal));
  ASSIGN_OR_RETURN(const std::string properties, DevicePropertiesOf(ordinal));
  ASSIGN_OR_RETURN(const CudnnHandles::Lease handle, handles->TakeOrMake());
  ServePlans(socket, [&](const CudnnGraph& graph, std::string_view engine) {
    return BuildPlan(graph, engine, {.handle = handle.get(), .properties = properties});
  });
  return absl::OkStatus();
}

}  // namespace onnx_cudnn
