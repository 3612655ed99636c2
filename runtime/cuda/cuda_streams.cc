#include "runtime/cuda/cuda_streams.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/strings/str_cat.h"
#include "runtime/base/status.h"
#include "runtime/cuda/capture_mutex.h"
#include "runtime/cuda/handles.h"
#include "runtime/cuda/host_call.h"
#include "runtime/cuda/launch.h"
#include "runtime/cuda/probe.h"

namespace onnx_cudnn {
namespace {

constexpr int64_t kMostPitch = (int64_t{1} << 31) - 1;  // cudaDevAttrMaxPitch

using HostCalls = std::vector<std::unique_ptr<HostCall>>;

// Only the capturing thread may not make calls that would break the capture; other threads run,
// copy and launch meanwhile.
constexpr cudaStreamCaptureMode kCaptureMode = cudaStreamCaptureModeThreadLocal;

// An instantiated graph and the data that its host functions read.
struct Recording final : CapturedGraph {
  CudaGraphExec graph;
  HostCalls host_calls;
};

// Does not take CaptureMutex: captures create events too, and event creation does not disturb them.
absl::StatusOr<CudaEvent> MakeEvent(unsigned flags) {
  cudaEvent_t event = nullptr;
  RETURN_IF_ERROR(CUDA_STATUS(cudaEventCreateWithFlags, &event, flags));
  return CudaEvent(event);
}

absl::StatusOr<CudaStream> MakeStream() {
  const OutsideCaptures lock;
  cudaStream_t stream = nullptr;
  RETURN_IF_ERROR(CUDA_STATUS(cudaStreamCreateWithFlags, &stream, cudaStreamNonBlocking));
  return CudaStream(stream);
}

// The first failure: `first`, or `next` if `first` is OK.
absl::Status First(absl::Status first, absl::Status next) { return first.ok() ? next : first; }

class CudaStreams final : public StreamSet {
 public:
  explicit CudaStreams(std::vector<CudaStream> streams) : streams_(std::move(streams)) {}
  ~CudaStreams() override {
    const OnCudaDevice own(ordinal_);
    if (is_capturing_) EndCapture().status().IgnoreError();
    if (!host_calls_.empty()) Synchronize().IgnoreError();  // they still have to be called
  }

  absl::Status Launch(int stream, const Step& step, const LaunchArgs& args,
                      absl::Span<const absl::Span<std::byte>>) override {
    LaunchArgs here = args;
    here.stream = Ref(stream);
    return step.Launch(here);
  }

  absl::Status LaunchOnHost(int stream, const Step& step, const LaunchArgs& args,
                            absl::Span<const absl::Span<std::byte>>) override {
    HostCalls& calls = is_capturing_ ? captured_host_calls_ : host_calls_;
    calls.push_back(std::make_unique<HostCall>(step, args, host_failure_));
    return CUDA_STATUS(cudaLaunchHostFunc, Native(stream), HostCall::Run, calls.back().get());
  }

  absl::Status Copy(int stream, void* to, const void* from, int64_t bytes) override {
    return CopyAsync(to, from, bytes, Ref(stream));
  }

  absl::Status CopyBox(int stream, const BoxCopy& box) override {
    const bool is_one_row = box.rows * box.planes == 1;
    if (is_one_row || std::max(box.to_row_bytes, box.from_row_bytes) > kMostPitch) {
      return StreamSet::CopyBox(stream, box);
    }
    return CopyBoxAsync(box, Ref(stream));
  }

  absl::Status Clear(int stream, void* to, int64_t bytes) override {
    return FillAsync(to, 0, bytes, Ref(stream));
  }

  absl::StatusOr<int> Record(int stream) override {
    ASSIGN_OR_RETURN(const int event, NextEvent());
    RETURN_IF_ERROR(CUDA_STATUS(cudaEventRecord, events_[event].get(), Native(stream)));
    return event;
  }

  absl::Status Wait(int stream, int event) override {
    if (event < 0 || event >= used_events_) {
      return absl::InternalError(
          absl::StrCat("wait for event ", event, ", ", used_events_, " were recorded"));
    }
    return WaitFor(Native(stream), events_[event]);
  }

  // Launches a kernel without programmatic dependent launch, so that the next kernel waits for it.
  absl::Status Barrier(int stream) override {
    return LaunchKernel({.function = ProbeKernel()}, nullptr, Ref(stream));
  }

  absl::Status Synchronize() override {
    absl::Status status = DeviceIsLost() ? LostStatus("an earlier call said so") : absl::OkStatus();
    for (const CudaStream& stream : streams_) {
      if (DeviceIsLost()) break;
      status = First(status, CUDA_STATUS(cudaStreamSynchronize, stream.get()));
    }
    used_events_ = 0;
    host_calls_.clear();
    return First(status, host_failure_->Take());
  }

  absl::Status BeginCapture() override ABSL_NO_THREAD_SAFETY_ANALYSIS {
    LockForCapture();
    return BeginLocked();
  }

  absl::Status BeginCaptureAtOnce() override ABSL_NO_THREAD_SAFETY_ANALYSIS {
    if (CaptureMutex().try_lock()) return BeginLocked();
    return absl::UnavailableError("another thread allocates, compiles or captures");
  }

  bool CanCaptureNow() const override {
    if (!CaptureMutex().try_lock()) return false;
    CaptureMutex().unlock();
    return true;
  }

  absl::StatusOr<std::unique_ptr<CapturedGraph>> EndCapture() override
      ABSL_NO_THREAD_SAFETY_ANALYSIS {
    if (!is_capturing_) return absl::InternalError("nothing is being captured");
    const absl::Status joined = JoinToFirst();
    cudaGraph_t raw = nullptr;
    const absl::Status ended = CUDA_STATUS(cudaStreamEndCapture, Native(0), &raw);
    is_capturing_ = false;
    used_events_ = events_before_capture_;
    CaptureMutex().unlock();
    const CudaGraph graph(raw);
    auto recording = std::make_unique<Recording>();
    recording->host_calls = std::exchange(captured_host_calls_, {});
    RETURN_IF_ERROR(joined);
    RETURN_IF_ERROR(ended);
    cudaGraphExec_t instance = nullptr;
    const OutsideCaptures lock;
    RETURN_IF_ERROR(CUDA_STATUS(cudaGraphInstantiate, &instance, graph.get(), /*flags=*/0));
    recording->graph = CudaGraphExec(instance);
    return recording;
  }

  absl::Status Replay(const CapturedGraph& graph) override {
    return CUDA_STATUS(cudaGraphLaunch, static_cast<const Recording&>(graph).graph.get(),
                       Native(0));
  }

  absl::StatusOr<std::vector<double>> TimeReplays(const CapturedGraph& graph,
                                                  int replays) override {
    RETURN_IF_ERROR(Synchronize());
    std::vector<CudaEvent> ends;  // of the previous replay
    for (int i = 0; i <= replays; ++i) {
      ASSIGN_OR_RETURN(CudaEvent end, MakeEvent(cudaEventDefault));
      ends.push_back(std::move(end));
    }
    RETURN_IF_ERROR(CUDA_STATUS(cudaEventRecord, ends[0].get(), Native(0)));
    for (int i = 1; i <= replays; ++i) {
      RETURN_IF_ERROR(Replay(graph));
      RETURN_IF_ERROR(CUDA_STATUS(cudaEventRecord, ends[i].get(), Native(0)));
    }
    RETURN_IF_ERROR(Synchronize());
    std::vector<double> times;
    for (int i = 1; i <= replays; ++i) {
      float ms = 0;
      RETURN_IF_ERROR(CUDA_STATUS(cudaEventElapsedTime, &ms, ends[i - 1].get(), ends[i].get()));
      times.push_back(ms);
    }
    return times;
  }

  // In a capture an external record is a node of the graph, and no dependency of the capture.
  absl::Status Mark(int stream, int mark) override {
    while (mark >= static_cast<int>(marks_.size())) {
      ASSIGN_OR_RETURN(CudaEvent event, MakeEvent(cudaEventDefault));
      marks_.push_back(std::move(event));
    }
    return CUDA_STATUS(cudaEventRecordWithFlags, marks_[mark].get(), Native(stream),
                       is_capturing_ ? cudaEventRecordExternal : cudaEventRecordDefault);
  }

  absl::StatusOr<double> MsBetween(int from, int to) override {
    if (std::max(from, to) >= static_cast<int>(marks_.size())) {
      return absl::InternalError(absl::StrCat("mark ", std::max(from, to), " was not reached"));
    }
    float ms = 0;
    RETURN_IF_ERROR(CUDA_STATUS(cudaEventElapsedTime, &ms, marks_[from].get(), marks_[to].get()));
    return ms;
  }

  absl::Status Fork(void* callers_stream) override {
    ASSIGN_OR_RETURN(const int event, NextEvent());
    RETURN_IF_ERROR(CUDA_STATUS(cudaEventRecord, events_[event].get(),
                                static_cast<cudaStream_t>(callers_stream)));
    for (const CudaStream& stream : streams_) {
      RETURN_IF_ERROR(WaitFor(stream.get(), events_[event]));
    }
    return absl::OkStatus();
  }

  absl::Status Join(void* callers_stream) override {
    for (int s = 0; s < count(); ++s) {
      ASSIGN_OR_RETURN(const int event, Record(s));
      RETURN_IF_ERROR(WaitFor(static_cast<cudaStream_t>(callers_stream), events_[event]));
    }
    return absl::OkStatus();
  }

 private:
  // Begins a capture that holds CaptureMutex; releases it where none begins.
  absl::Status BeginLocked() ABSL_NO_THREAD_SAFETY_ANALYSIS {
    const absl::Status begun = CUDA_STATUS(cudaStreamBeginCapture, Native(0), kCaptureMode);
    if (!begun.ok()) {
      CaptureMutex().unlock();
      return begun;
    }
    is_capturing_ = true;
    events_before_capture_ = used_events_;
    const absl::Status forked = ForkFromFirst();
    if (!forked.ok()) EndCapture().status().IgnoreError();
    return forked;
  }

  int count() const { return static_cast<int>(streams_.size()); }
  cudaStream_t Native(int stream) const { return streams_[stream].get(); }
  StreamRef Ref(int stream) const { return {.index = stream, .native = Native(stream)}; }

  static absl::Status WaitFor(cudaStream_t stream, const CudaEvent& event) {
    return CUDA_STATUS(cudaStreamWaitEvent, stream, event.get(), /*flags=*/0);
  }

  absl::StatusOr<int> NextEvent() {
    if (used_events_ == static_cast<int>(events_.size())) {
      ASSIGN_OR_RETURN(CudaEvent event, MakeEvent(cudaEventDisableTiming));
      events_.push_back(std::move(event));
    }
    return used_events_++;
  }

  // All work captured on other streams must fork from the first stream and join it again.
  absl::Status ForkFromFirst() {
    if (count() == 1) return absl::OkStatus();
    ASSIGN_OR_RETURN(const int begun, Record(0));
    for (int s = 1; s < count(); ++s) RETURN_IF_ERROR(Wait(s, begun));
    return absl::OkStatus();
  }
  absl::Status JoinToFirst() {
    for (int s = 1; s < count(); ++s) {
      ASSIGN_OR_RETURN(const int ended, Record(s));
      RETURN_IF_ERROR(Wait(0, ended));
    }
    return absl::OkStatus();
  }

  const int ordinal_ = NotedDevice();
  const std::vector<CudaStream> streams_;
  std::vector<CudaEvent> events_;
  int used_events_ = 0;  // since the streams were last synchronized
  std::vector<CudaEvent> marks_;
  const std::shared_ptr<HostFailure> host_failure_ = std::make_shared<HostFailure>();
  HostCalls host_calls_;
  bool is_capturing_ = false;
  int events_before_capture_ = 0;
  HostCalls captured_host_calls_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<StreamSet>> MakeCudaStreams(int count) {
  std::vector<CudaStream> streams;
  for (int i = 0; i < count; ++i) {
    ASSIGN_OR_RETURN(CudaStream stream, MakeStream());
    streams.push_back(std::move(stream));
  }
  return std::make_unique<CudaStreams>(std::move(streams));
}

}  // namespace onnx_cudnn
