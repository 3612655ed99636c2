#include "tests/support/failing_calls.h"

#include <sys/mman.h>

#include <atomic>

namespace onnx_cudnn {
namespace {

std::atomic<int> fail_at = -1, error_number = 0, calls = 0, held = 0;

// Whether this call must fail.
bool Fails() {
  if (calls++ != fail_at) return false;
  errno = error_number;
  return true;
}

int Hold(int fd) {
  if (fd >= 0) ++held;
  return fd;
}

const FileCalls& Real() { return SystemFileCalls(); }

constexpr FileCalls kFailing = {
    .open = [](const char* path, int flags,
               mode_t mode) { return Fails() ? -1 : Hold(Real().open(path, flags, mode)); },
    .openat = [](int folder, const char* path,
                 int flags) { return Fails() ? -1 : Hold(Real().openat(folder, path, flags)); },
    .openat2 =
        [](int folder, const char* path, int flags, uint64_t resolve) {
          return Fails() ? -1 : Hold(Real().openat2(folder, path, flags, resolve));
        },
    .fstat = [](int fd, struct stat* out) { return Fails() ? -1 : Real().fstat(fd, out); },
    .realpath = [](const char* path,
                   char* out) { return Fails() ? nullptr : Real().realpath(path, out); },
    .readlink = [](const char* path, char* out,
                   size_t bytes) { return Fails() ? -1 : Real().readlink(path, out, bytes); },
    .mmap = [](size_t bytes, int fd) -> void* {
      if (Fails()) return MAP_FAILED;
      void* data = Real().mmap(bytes, fd);
      if (data != MAP_FAILED) ++held;
      return data;
    },
    .munmap =
        [](void* data, size_t bytes) {
          const int result = Real().munmap(data, bytes);
          --held;
          return Fails() ? -1 : result;
        },
    .pread = [](int fd, void* to, size_t bytes,
                off_t offset) { return Fails() ? -1 : Real().pread(fd, to, bytes, offset); },
    .write = [](int fd, const void* from,
                size_t bytes) { return Fails() ? -1 : Real().write(fd, from, bytes); },
    .fsync = [](int fd) { return Fails() ? -1 : Real().fsync(fd); },
    .flock = [](int fd, int operation) { return Fails() ? -1 : Real().flock(fd, operation); },
    .close =
        [](int fd) {
          const int result = Real().close(fd);
          --held;
          return Fails() ? -1 : result;
        },
    .rename = [](const char* from,
                 const char* to) { return Fails() ? -1 : Real().rename(from, to); },
    .unlink =
        [](const char* path) {
          const int result = Real().unlink(path);
          return Fails() ? -1 : result;
        },
};

const FileCalls& Reset(int at, int error) {
  fail_at = at;
  error_number = error;
  calls = 0;
  held = 0;
  return kFailing;
}

}  // namespace

FailingCalls::FailingCalls(int at, int error) : scope_(Reset(at, error)) {}
int FailingCalls::count() const { return calls; }
int FailingCalls::open() const { return held; }

}  // namespace onnx_cudnn
