// The GPU support of this build: with_cuda.cc in builds with CUDA, without_cuda.cc in others.
#pragma once

#include <functional>
#include <future>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "runtime/base/not_copyable.h"
#include "runtime/exec/device.h"
#include "runtime/session/engines.h"

namespace onnx_cudnn {

// Is told what a GPU is before it is open; may be empty.
using OnDeviceInfo = std::function<void(const DeviceInfo&)>;

// Opens a GPU, by its ordinal among those visible to this process.
//   on_info  called when its properties are known, before its context is created
//   errors   FailedPrecondition, one line: what was found, what is needed, what to do
absl::StatusOr<std::unique_ptr<Device>> OpenGpu(int ordinal = 0, const OnDeviceInfo& on_info = {});

// Processes that compile cuDNN's plans.
struct CompilerProcesses {
  std::vector<std::string> command;  // a program, with its arguments, that calls CompilePlans
  int most = 0;                      // fewer where the GPU has less memory for their contexts
};

struct GpuSetup {
  CompilerProcesses compilers;
  // false: a cuDNN handle, which takes tens of milliseconds, is created where a Step needs one.
  bool expects_cudnn = true;
};

// Begins to open the libraries of the Engines on a thread of its own: no context is needed for it.
// MakeGpuTarget waits for that; the destructor of the result, too.
std::future<void> OpenGpuLibraries();

// The Target of `gpu`, which OpenGpu(ordinal) returned, with the Engines' CUDA halves. An Engine
// whose library is missing is left out and named in the note.
//   errors  the failure of a library call
absl::StatusOr<OwnedTarget> MakeGpuTarget(const Device& gpu, int ordinal = 0,
                                          const GpuSetup& setup = {});

// Compiles cuDNN plans that a process which called MakeGpuTarget asks for over `socket`, until that
// is closed.
//   errors  those of opening the GPU and cuDNN
absl::Status CompilePlans(int ordinal, int socket);

// Leaves the calling thread its current GPU: when this goes, the GPU that was current before is so
// again, if the process uses it.
class KeepCurrentGpu : NotCopyable {
 public:
  // Does nothing if not `uses_gpu`.
  explicit KeepCurrentGpu(bool uses_gpu);
  ~KeepCurrentGpu();

 private:
  int before_;
};

}  // namespace onnx_cudnn
