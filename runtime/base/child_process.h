#pragma once

#include <sys/types.h>

#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "runtime/base/file.h"

namespace onnx_cudnn {

// A running program and a pipe from its standard output, or a socket that is its standard input.
// The destructor kills it and waits for it to end.
class ChildProcess {
 public:
  //   arguments  the path of the program, then its arguments
  //   errors     NotFound: it cannot be started, with the system's reason
  static absl::StatusOr<ChildProcess> Start(std::vector<std::string> arguments);
  // With a socket instead of the pipe (frames.h); the program has no standard output.
  static absl::StatusOr<ChildProcess> Connect(std::vector<std::string> arguments);
  ChildProcess(ChildProcess&& other) noexcept
      : pid_(std::exchange(other.pid_, -1)), out_(std::move(other.out_)) {}
  ChildProcess& operator=(ChildProcess&&) = delete;
  ~ChildProcess() { End(absl::ZeroDuration()); }

  int socket() const { return out_.get(); }  // of Connect

  enum class Heard { kBytes, kEnd, kNothing };
  // Appends the program's output to `to`. kNothing: no output until `deadline`.
  Heard Listen(absl::Time deadline, std::string& to);
  // Kills the program if it still runs after `grace`. Returns the status of waitpid, or -1 if
  // unknown; does not wait long for a process that is blocked in a driver.
  int End(absl::Duration grace);

 private:
  ChildProcess(pid_t pid, Descriptor out) : pid_(pid), out_(std::move(out)) {}

  pid_t pid_;
  Descriptor out_;
};

// The status of waitpid in words: "signal 11 (Segmentation fault)"; also accepts -1.
std::string EndInWords(int status);

}  // namespace onnx_cudnn
