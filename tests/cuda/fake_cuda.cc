#include "tests/cuda/fake_cuda.h"

#include <cuda.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include "runtime/cuda/probe.h"

namespace onnx_cudnn {
namespace {

using Work = std::function<void()>;

struct FakeGraph {
  std::vector<Work> work;
};

struct FakeStream {
  bool captures = false;
  int enqueued = 0;  // in this capture
  int joined = 0;    // up to where the capture's first stream waits for it
};

struct FakeMemory {
  size_t bytes = 0;
  int device = 0;
};

struct FakeEvent {
  bool was_recorded = false;
  FakeStream* captured = nullptr;  // recorded there in a capture that goes on
  int enqueued = 0;
  int launches = -1;  // when a graph recorded it last
};

struct State {
  FakeCudaOptions options;
  int calls = 0;
  std::string failed_call;
  std::set<int> lost;  // ordinals
  std::map<void*, FakeMemory> device;
  std::map<void*, size_t> pinned;
  std::set<FakeStream*> streams;
  std::set<FakeEvent*> events;
  std::set<FakeGraph*> graphs;  // and instances
  std::map<const void*, std::pair<cudaMemoryType, int>> foreign;
  FakeStream* origin = nullptr;  // of the capture that goes on
  std::unique_ptr<FakeGraph> capture;
  bool is_invalid = false;
  int launches = 0;
  cudaLaunchConfig_t last_launch = {};
  std::array<cudaLaunchAttribute, 3> last_attributes = {};
  int shared_bytes_allowed = 0;
  int multiprocessors = 100;
  std::set<int> contexts;                    // by ordinals
  std::set<std::pair<int, int>> reached;     // {GPU, the one whose memory it may read}
  int direct_copies = 0, staged_copies = 0;  // from GPU to GPU
  FakeStream callers;
};

State* state = nullptr;
std::recursive_mutex mutex;  // of what calls on several threads change
thread_local int current_device = 0;
// {(ordinal, function): bytes}; as in a driver, of the process.
std::map<std::pair<int, const void*>, int> shared_bytes_of;

bool LosesDevice(cudaError_t error) {
  return error == cudaErrorIllegalAddress || error == cudaErrorLaunchFailure;
}

#define LOCK() const std::lock_guard<std::recursive_mutex> lock(mutex)

// The error that this call returns; cudaSuccess if it is to work.
cudaError_t Count(const char* name) {
  LOCK();
  if (state->lost.contains(current_device)) return state->options.error;
  if (state->calls++ != state->options.fail_at) return cudaSuccess;
  state->failed_call = name;
  if (LosesDevice(state->options.error)) state->lost.insert(current_device);
  return state->options.error;
}

// For use in functions named like those of the runtime.
#define COUNT() \
  if (const cudaError_t error = Count(__func__); error != cudaSuccess) return error

FakeStream* ToFake(cudaStream_t stream) { return reinterpret_cast<FakeStream*>(stream); }
FakeEvent* ToFake(cudaEvent_t event) { return reinterpret_cast<FakeEvent*>(event); }
FakeGraph* ToFake(cudaGraph_t graph) { return reinterpret_cast<FakeGraph*>(graph); }
FakeGraph* ToFake(cudaGraphExec_t graph) { return reinterpret_cast<FakeGraph*>(graph); }

// A call that is not allowed while a thread captures.
cudaError_t Disturb() {
  if (state->capture == nullptr) return cudaSuccess;
  state->is_invalid = true;
  return cudaErrorStreamCaptureUnsupported;
}

#define DISTURBS() \
  if (const cudaError_t error = Disturb(); error != cudaSuccess) return error

cudaError_t Enqueue(cudaStream_t stream, Work work) {
  FakeStream& fake = *ToFake(stream);
  if (!fake.captures) {
    work();
    return cudaSuccess;
  }
  if (state->is_invalid) return cudaErrorStreamCaptureInvalidated;
  ++fake.enqueued;
  state->capture->work.push_back(std::move(work));
  return cudaSuccess;
}

cudaError_t Record(cudaEvent_t event, cudaStream_t stream) {
  FakeStream& fake = *ToFake(stream);
  *ToFake(event) = {
      .was_recorded = true, .captured = fake.captures ? &fake : nullptr, .enqueued = fake.enqueued};
  return cudaSuccess;
}

int64_t HeldBytes(int device) {
  int64_t bytes = 0;
  for (const auto& [data, memory] : state->device) {
    if (memory.device == device) bytes += static_cast<int64_t>(memory.bytes);
  }
  return bytes;
}

namespace fake {

cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int) {
  COUNT();
  if (attribute == cudaDevAttrMultiProcessorCount) {
    *value = state->multiprocessors;
  } else if (attribute == cudaDevAttrClockRate || attribute == cudaDevAttrMemoryClockRate) {
    *value = state->options.clock_khz;
  } else {
    *value = 1000;
  }
  return cudaSuccess;
}

cudaError_t cudaDeviceCanAccessPeer(int* can, int, int) {
  COUNT();
  *can = state->options.has_peers ? 1 : 0;
  return cudaSuccess;
}

cudaError_t cudaDeviceEnablePeerAccess(int peer, unsigned) {
  COUNT();
  DISTURBS();
  if (!state->options.has_peers) return cudaErrorPeerAccessUnsupported;
  const bool is_new = state->reached.insert({current_device, peer}).second;
  return is_new ? cudaSuccess : cudaErrorPeerAccessAlreadyEnabled;
}

cudaError_t cudaDriverGetVersion(int* version) {
  COUNT();
  *version = state->options.driver;
  return cudaSuccess;
}

cudaError_t cudaRuntimeGetVersion(int* version) {
  COUNT();
  *version = state->options.runtime;
  return cudaSuccess;
}

cudaError_t cudaGetDeviceCount(int* count) {
  COUNT();
  *count = state->options.devices;
  return *count > 0 ? cudaSuccess : cudaErrorNoDevice;
}

cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int) {
  COUNT();
  *properties = {};
  std::strcpy(properties->name, state->options.product);
  properties->major = state->options.compute_capability / 10;
  properties->minor = state->options.compute_capability % 10;
  properties->multiProcessorCount = state->multiprocessors;
  properties->totalGlobalMem = static_cast<size_t>(state->options.memory_bytes);
  return cudaSuccess;
}

cudaError_t cudaSetDevice(int device) {
  LOCK();
  const int before = std::exchange(current_device, device);
  const cudaError_t error = Count(__func__);
  if (error == cudaSuccess) {
    state->contexts.insert(device);
  } else if (!state->lost.contains(device)) {
    current_device = before;
  }
  return error;
}

cudaError_t cudaGetDevice(int* device) {
  COUNT();
  *device = current_device;
  return cudaSuccess;
}

cudaError_t cudaGetLastError() { return cudaSuccess; }

cudaError_t cudaMemGetInfo(size_t* free_bytes, size_t* all_bytes) {
  LOCK();
  *all_bytes = static_cast<size_t>(state->options.memory_bytes);
  *free_bytes = *all_bytes - static_cast<size_t>(HeldBytes(current_device));
  return cudaSuccess;
}

cudaError_t cudaMalloc(void** data, size_t bytes) {
  LOCK();
  COUNT();
  DISTURBS();
  if (HeldBytes(current_device) + static_cast<int64_t>(bytes) > state->options.memory_bytes) {
    return cudaErrorMemoryAllocation;
  }
  *data = std::aligned_alloc(256, bytes);
  state->device[*data] = {.bytes = bytes, .device = current_device};
  return cudaSuccess;
}

cudaError_t cudaHostAlloc(void** data, size_t bytes, unsigned) {
  LOCK();
  COUNT();
  DISTURBS();
  *data = std::aligned_alloc(256, bytes);
  state->pinned[*data] = bytes;
  return cudaSuccess;
}

cudaError_t cudaFree(void* data) {
  LOCK();
  DISTURBS();
  if (state->device.erase(data) == 0) return cudaErrorInvalidValue;
  std::free(data);
  COUNT();
  return cudaSuccess;
}

cudaError_t cudaFreeHost(void* data) {
  LOCK();
  DISTURBS();
  if (state->pinned.erase(data) == 0) return cudaErrorInvalidValue;
  std::free(data);
  COUNT();
  return cudaSuccess;
}

cudaError_t cudaPointerGetAttributes(cudaPointerAttributes* attributes, const void* data) {
  LOCK();
  COUNT();
  *attributes = {};
  attributes->type = cudaMemoryTypeUnregistered;
  if (auto it = state->foreign.find(data); it != state->foreign.end()) {
    std::tie(attributes->type, attributes->device) = it->second;
  } else if (auto own = state->device.find(const_cast<void*>(data)); own != state->device.end()) {
    attributes->type = cudaMemoryTypeDevice;
    attributes->device = own->second.device;
  } else if (state->pinned.contains(const_cast<void*>(data))) {
    attributes->type = cudaMemoryTypeHost;
  }
  return cudaSuccess;
}

cudaError_t cudaMemcpy3DAsync(const cudaMemcpy3DParms* parameters, cudaStream_t stream) {
  COUNT();
  return Enqueue(stream, [p = *parameters] {
    const auto row = [](const cudaPitchedPtr& at, size_t plane, size_t row) {
      return static_cast<char*>(at.ptr) + (plane * at.ysize + row) * at.pitch;
    };
    for (size_t plane = 0; plane < p.extent.depth; ++plane) {
      for (size_t y = 0; y < p.extent.height; ++y) {
        std::memcpy(row(p.dstPtr, plane, y), row(p.srcPtr, plane, y), p.extent.width);
      }
    }
  });
}

cudaError_t cudaMemcpyAsync(void* to, const void* from, size_t bytes, cudaMemcpyKind,
                            cudaStream_t stream) {
  COUNT();
  return Enqueue(stream, [=] { std::memcpy(to, from, bytes); });
}

cudaError_t cudaMemcpyPeerAsync(void* to, int to_device, const void* from, int from_device,
                                size_t bytes, cudaStream_t stream) {
  COUNT();
  const auto is_there = [](const void* data, int device) {
    const auto memory = state->device.find(const_cast<void*>(data));
    return memory != state->device.end() && memory->second.device == device;
  };
  if (!is_there(to, to_device) || !is_there(from, from_device)) return cudaErrorInvalidValue;
  ++(state->reached.contains({to_device, from_device}) ? state->direct_copies
                                                       : state->staged_copies);
  return Enqueue(stream, [=] { std::memcpy(to, from, bytes); });
}

cudaError_t cudaMemsetAsync(void* data, int value, size_t bytes, cudaStream_t stream) {
  COUNT();
  return Enqueue(stream, [=] { std::memset(data, value, bytes); });
}

cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned) {
  LOCK();
  COUNT();
  *stream = reinterpret_cast<cudaStream_t>(*state->streams.insert(new FakeStream).first);
  return cudaSuccess;
}

cudaError_t cudaStreamDestroy(cudaStream_t stream) {
  LOCK();
  if (state->streams.erase(ToFake(stream)) == 0) return cudaErrorInvalidResourceHandle;
  delete ToFake(stream);
  COUNT();
  return cudaSuccess;
}

cudaError_t cudaStreamSynchronize(cudaStream_t) {
  COUNT();
  DISTURBS();
  return cudaSuccess;
}

// Waiting for an event of the capture takes a stream into it.
cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned) {
  COUNT();
  const FakeEvent& fake = *ToFake(event);
  if (!fake.was_recorded) return cudaErrorInvalidResourceHandle;
  if (fake.captured == nullptr) return cudaSuccess;
  FakeStream& waits = *ToFake(stream);
  if (!waits.captures) waits = {.captures = true, .enqueued = 0, .joined = 0};
  if (&waits == state->origin) fake.captured->joined = fake.enqueued;
  if (&waits != state->origin) ++waits.enqueued;
  return cudaSuccess;
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned) {
  LOCK();
  COUNT();
  *event = reinterpret_cast<cudaEvent_t>(*state->events.insert(new FakeEvent).first);
  return cudaSuccess;
}

cudaError_t cudaEventDestroy(cudaEvent_t event) {
  LOCK();
  if (state->events.erase(ToFake(event)) == 0) return cudaErrorInvalidResourceHandle;
  delete ToFake(event);
  COUNT();
  return cudaSuccess;
}

cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
  COUNT();
  return Record(event, stream);
}

cudaError_t cudaEventRecordWithFlags(cudaEvent_t event, cudaStream_t stream, unsigned flags) {
  COUNT();
  if (flags == cudaEventRecordDefault) return Record(event, stream);
  if (!ToFake(stream)->captures) return cudaErrorInvalidValue;
  return Enqueue(stream,
                 [=] { *ToFake(event) = {.was_recorded = true, .launches = state->launches}; });
}

// Between events that graphs recorded a launch takes a millisecond.
cudaError_t cudaEventElapsedTime(float* ms, cudaEvent_t start, cudaEvent_t end) {
  COUNT();
  const FakeEvent &from = *ToFake(start), &to = *ToFake(end);
  if (!from.was_recorded || !to.was_recorded) return cudaErrorInvalidResourceHandle;
  const bool in_graphs = from.launches >= 0 && to.launches >= 0;
  *ms = in_graphs ? static_cast<float>(to.launches - from.launches) : 0.5f;
  return cudaSuccess;
}

cudaError_t cudaStreamBeginCapture(cudaStream_t stream, cudaStreamCaptureMode) {
  COUNT();
  if (state->capture != nullptr) return cudaErrorIllegalState;
  state->capture = std::make_unique<FakeGraph>();
  state->is_invalid = false;
  state->origin = ToFake(stream);
  *state->origin = {.captures = true, .enqueued = 0, .joined = 0};
  return cudaSuccess;
}

// Ends the capture, whether it succeeds or fails.
cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t* graph) {
  if (state->origin != ToFake(stream)) return cudaErrorStreamCaptureUnmatched;
  bool is_joined = true;
  for (FakeStream* s : state->streams) {
    is_joined = is_joined && (s == state->origin || s->joined == s->enqueued);
    *s = {};
  }
  for (FakeEvent* event : state->events) event->captured = nullptr;
  std::unique_ptr<FakeGraph> captured = std::move(state->capture);
  state->origin = nullptr;
  COUNT();
  if (state->is_invalid) return cudaErrorStreamCaptureInvalidated;
  if (!is_joined) return cudaErrorStreamCaptureUnjoined;
  *graph = reinterpret_cast<cudaGraph_t>(*state->graphs.insert(captured.release()).first);
  return cudaSuccess;
}

cudaError_t cudaGraphInstantiate(cudaGraphExec_t* out, cudaGraph_t graph, unsigned long long) {
  COUNT();
  auto* instance = new FakeGraph(*ToFake(graph));
  *out = reinterpret_cast<cudaGraphExec_t>(*state->graphs.insert(instance).first);
  return cudaSuccess;
}

cudaError_t cudaGraphDestroy(cudaGraph_t graph) {
  if (state->graphs.erase(ToFake(graph)) == 0) return cudaErrorInvalidValue;
  delete ToFake(graph);
  COUNT();
  return cudaSuccess;
}

cudaError_t cudaGraphExecDestroy(cudaGraphExec_t graph) {
  if (state->graphs.erase(ToFake(graph)) == 0) return cudaErrorInvalidValue;
  delete ToFake(graph);
  COUNT();
  return cudaSuccess;
}

cudaError_t cudaGraphLaunch(cudaGraphExec_t graph, cudaStream_t) {
  COUNT();
  for (const Work& work : ToFake(graph)->work) work();
  return cudaSuccess;
}

cudaError_t cudaLaunchHostFunc(cudaStream_t stream, cudaHostFn_t function, void* data) {
  COUNT();
  return Enqueue(stream, [=] {
    ++state->launches;
    function(data);
  });
}

// A launch with copies of its configuration and parameter.
struct Launched {
  alignas(64) std::byte parameter[4096];
  cudaLaunchConfig_t config;
  std::array<cudaLaunchAttribute, 3> attributes;
};

cudaError_t EnqueueKernel(const cudaLaunchConfig_t& config, const void* function,
                          const void* parameter) {
  auto launched = std::make_shared<Launched>();
  std::memcpy(launched->parameter, parameter, sizeof(launched->parameter));
  launched->config = config;
  std::copy(config.attrs, config.attrs + config.numAttrs, launched->attributes.begin());
  launched->config.attrs = launched->attributes.data();
  return Enqueue(config.stream, [=] {
    ++state->launches;
    state->options.run_kernel(launched->config, function, launched->parameter);
  });
}

cudaError_t cudaLaunchKernelExC(const cudaLaunchConfig_t* config, const void* function,
                                void** arguments) {
  COUNT();
  const auto allowed = shared_bytes_of.find({current_device, function});
  const int most = allowed == shared_bytes_of.end() ? 48 << 10 : allowed->second;
  if (config->dynamicSmemBytes > static_cast<size_t>(most)) return cudaErrorInvalidValue;
  state->last_launch = *config;
  std::copy(config->attrs, config->attrs + config->numAttrs, state->last_attributes.begin());
  if (arguments == nullptr) return Enqueue(config->stream, [] { ++state->launches; });
  if (state->options.run_kernel) return EnqueueKernel(*config, function, arguments[0]);
  void* argument = *static_cast<void**>(arguments[0]);
  return Enqueue(config->stream, [=] {
    ++state->launches;
    reinterpret_cast<FakeKernel>(const_cast<void*>(function))(argument);
  });
}

cudaError_t cudaFuncGetAttributes(cudaFuncAttributes* attributes, const void*) {
  COUNT();
  *attributes = {};
  attributes->ptxVersion = state->options.code_capability;
  return state->options.has_code ? cudaSuccess : cudaErrorNoKernelImageForDevice;
}

cudaError_t cudaFuncSetAttribute(const void* function, cudaFuncAttribute attribute, int value) {
  COUNT();
  if (attribute == cudaFuncAttributeMaxDynamicSharedMemorySize) {
    state->shared_bytes_allowed = value;
    shared_bytes_of[{current_device, function}] = value;
  }
  return cudaSuccess;
}

CUresult GetPrimaryContextState(CUdevice device, unsigned* flags, int* is_active) {
  *flags = 0;
  *is_active = state->contexts.contains(device) ? 1 : 0;
  return CUDA_SUCCESS;
}

void* FindDriverFunction(std::string_view symbol) {
  if (symbol == "cuTensorMapEncodeIm2col") return state->options.encode_im2col;
  if (symbol == "cuTensorMapEncodeTiled") return state->options.encode_tensor_map;
  if (symbol != "cuDevicePrimaryCtxGetState") return nullptr;
  return reinterpret_cast<void*>(GetPrimaryContextState);
}

cudaError_t cudaGetDriverEntryPointByVersion(const char* symbol, void** function, unsigned,
                                             unsigned long long,
                                             cudaDriverEntryPointQueryResult* result) {
  COUNT();
  *function = FindDriverFunction(symbol);
  *result = *function == nullptr ? cudaDriverEntryPointSymbolNotFound : cudaDriverEntryPointSuccess;
  return cudaSuccess;
}

}  // namespace fake

constexpr CudaCalls kFake = {
#define CALL(name, parameters) .name = fake::name,
#include "runtime/cuda/cuda_calls.inc"
#undef CALL
};

const CudaCalls& Start(const FakeCudaOptions& options) {
  state = new State{.options = options};
  current_device = 0;
  return kFake;
}

}  // namespace

FakeCuda::FakeCuda(const FakeCudaOptions& options) : scope_(Start(options)) {}

// Releases what could not be released because the device was lost.
FakeCuda::~FakeCuda() {
  for (const auto& [data, memory] : state->device) std::free(data);
  for (const auto& [data, bytes] : state->pinned) std::free(data);
  for (FakeStream* stream : state->streams) delete stream;
  for (FakeEvent* event : state->events) delete event;
  for (FakeGraph* graph : state->graphs) delete graph;
  delete std::exchange(state, nullptr);
}

int FakeCuda::calls() const { return state->calls; }
std::string FakeCuda::failed_call() const { return state->failed_call; }
int FakeCuda::held() const {
  return static_cast<int>(state->device.size() + state->pinned.size() + state->streams.size() +
                          state->events.size() + state->graphs.size());
}
int64_t FakeCuda::held_bytes(int ordinal) const { return HeldBytes(ordinal); }
int FakeCuda::direct_copies() const { return state->direct_copies; }
int FakeCuda::staged_copies() const { return state->staged_copies; }
int FakeCuda::launches() const { return state->launches; }
cudaLaunchConfig_t FakeCuda::last_launch() const { return state->last_launch; }
cudaLaunchAttribute FakeCuda::last_attribute(int i) const { return state->last_attributes[i]; }
int FakeCuda::shared_bytes_allowed() const { return state->shared_bytes_allowed; }
void* FakeCuda::callers_stream() { return &state->callers; }
void FakeCuda::LoseDevice(int ordinal) {
  state->options.error = cudaErrorIllegalAddress;
  state->lost.insert(ordinal);
}

void FakeCuda::SetMultiprocessors(int count) { state->multiprocessors = count; }
void FakeCuda::SetPointer(const void* data, cudaMemoryType type, int device) {
  state->foreign[data] = {type, device};
}

}  // namespace onnx_cudnn
