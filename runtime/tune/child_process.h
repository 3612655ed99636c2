#pragma once

#include <sys/types.h>

#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "runtime/base/file.h"

namespace onnx_cudnn {

// A running program and the pipe from its standard output. The destructor kills it and waits for
// its end.
class ChildProcess {
 public:
  //   arguments  the program's path first
  //   errors     NotFound: it cannot be started, with the system's reason
  static absl::StatusOr<ChildProcess> Start(std::vector<std::string> arguments);
  ChildProcess(ChildProcess&& other) noexcept
      : pid_(std::exchange(other.pid_, -1)), out_(std::move(other.out_)) {}
  ChildProcess& operator=(ChildProcess&&) = delete;
  ~ChildProcess() { End(absl::ZeroDuration()); }

  enum class Heard { kBytes, kEnd, kNothing };
  // Appends what it wrote. kNothing: not a byte until `deadline`.
  Heard Listen(absl::Time deadline, std::string& to);
  // Kills it if it still runs after `grace`. Returns waitpid's status, or -1 where that is unknown;
  // does not wait long for a process that a driver holds.
  int End(absl::Duration grace);

 private:
  ChildProcess(pid_t pid, Descriptor out) : pid_(pid), out_(std::move(out)) {}

  pid_t pid_;
  Descriptor out_;
};

// "signal 11 (Segmentation fault)" of waitpid's status, or -1.
std::string EndInWords(int status);

}  // namespace onnx_cudnn
