#include "runtime/base/child_process.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/time/clock.h"
#include "runtime/base/status.h"

namespace onnx_cudnn {
namespace {

// Time from SIGKILL to the end of the process.
constexpr absl::Duration kAfterKill = absl::Seconds(5);

struct SpawnActions {
  SpawnActions() { posix_spawn_file_actions_init(&actions); }
  ~SpawnActions() { posix_spawn_file_actions_destroy(&actions); }
  posix_spawn_file_actions_t actions;
};

struct SpawnAttributes {
  // The program starts with no signal blocked or ignored, regardless of this process.
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

absl::Status Failed(std::string_view what) {
  return absl::NotFoundError(absl::StrCat(what, ": ", std::strerror(errno)));
}

// `end` becomes the program's standard input or output, whichever `standard` is; the other one is
// /dev/null.
absl::StatusOr<pid_t> Spawn(std::vector<std::string> arguments, const Descriptor& end,
                            int standard) {
  const int other = standard == STDIN_FILENO ? STDOUT_FILENO : STDIN_FILENO;
  SpawnActions files;
  posix_spawn_file_actions_adddup2(&files.actions, end.get(), standard);
  posix_spawn_file_actions_addopen(&files.actions, other, "/dev/null", O_RDWR, 0);
  posix_spawn_file_actions_addclosefrom_np(&files.actions, STDERR_FILENO + 1);
  const SpawnAttributes signals;
  std::vector<char*> argv;
  for (std::string& argument : arguments) argv.push_back(argument.data());
  argv.push_back(nullptr);
  pid_t pid;
  const int error =
      posix_spawn(&pid, argv[0], &files.actions, &signals.attributes, argv.data(), environ);
  if (error != 0) return absl::NotFoundError(std::strerror(error));
  return pid;
}

}  // namespace

absl::StatusOr<ChildProcess> ChildProcess::Start(std::vector<std::string> arguments) {
  int fds[2];
  if (pipe2(fds, O_CLOEXEC) != 0) return Failed("no pipe");
  Descriptor read(fds[0]), write(fds[1]);
  ASSIGN_OR_RETURN(const pid_t pid, Spawn(std::move(arguments), write, STDOUT_FILENO));
  return ChildProcess(pid, std::move(read));
}

absl::StatusOr<ChildProcess> ChildProcess::Connect(std::vector<std::string> arguments) {
  int fds[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds) != 0) return Failed("no socket");
  Descriptor here(fds[0]), there(fds[1]);
  ASSIGN_OR_RETURN(const pid_t pid, Spawn(std::move(arguments), there, STDIN_FILENO));
  return ChildProcess(pid, std::move(here));
}

ChildProcess::Heard ChildProcess::Listen(absl::Time deadline, std::string& to) {
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

int ChildProcess::End(absl::Duration grace) {
  if (pid_ <= 0) return -1;
  absl::Time deadline = absl::Now() + grace;
  bool killed = false;
  int status = -1;
  for (;;) {
    const pid_t ended = waitpid(pid_, &status, WNOHANG);
    if (ended == pid_) break;
    // The caller waits for all children, or ignores them; or a driver blocks the dead process.
    if ((ended < 0 && errno != EINTR) || (killed && absl::Now() >= deadline)) {
      status = -1;
      break;
    }
    if (!killed && absl::Now() >= deadline) {
      kill(pid_, SIGKILL);
      killed = true;
      deadline = absl::Now() + kAfterKill;
    }
    absl::SleepFor(absl::Milliseconds(1));
  }
  pid_ = -1;
  return status;
}

std::string EndInWords(int status) {
  if (status == -1) return "it ended";
  if (WIFSIGNALED(status)) {
    return absl::StrFormat("signal %d (%s)", WTERMSIG(status), strsignal(WTERMSIG(status)));
  }
  return absl::StrCat("it ended with code ", WEXITSTATUS(status));
}

}  // namespace onnx_cudnn
