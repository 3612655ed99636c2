#include "runtime/base/calls.h"

#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>

namespace onnx_cudnn {
namespace {

// A direct system call, because libc 2.35 has no wrapper.
int OpenAt2(int folder, const char* path, int flags, uint64_t resolve) {
  open_how how = {};
  how.flags = static_cast<uint64_t>(flags);
  how.resolve = resolve;
  return static_cast<int>(syscall(SYS_openat2, folder, path, &how, sizeof(how)));
}

constexpr FileCalls kSystem = {
    .open = [](const char* path, int flags, mode_t mode) { return open(path, flags, mode); },
    .openat = [](int folder, const char* path, int flags) { return openat(folder, path, flags); },
    .openat2 = OpenAt2,
    .fstat = [](int fd, struct stat* out) { return fstat(fd, out); },
    .realpath = [](const char* path, char* out) { return realpath(path, out); },
    .readlink = [](const char* path, char* out,
                   size_t bytes) { return readlink(path, out, bytes); },
    .mmap = [](size_t bytes,
               int fd) { return mmap(nullptr, bytes, PROT_READ, MAP_PRIVATE, fd, 0); },
    .munmap = [](void* data, size_t bytes) { return munmap(data, bytes); },
    .pread = [](int fd, void* to, size_t bytes,
                off_t offset) { return pread(fd, to, bytes, offset); },
    .write = [](int fd, const void* from, size_t bytes) { return write(fd, from, bytes); },
    .fsync = [](int fd) { return fsync(fd); },
    .flock = [](int fd, int operation) { return flock(fd, operation); },
    .close = [](int fd) { return close(fd); },
    .rename = [](const char* from, const char* to) { return rename(from, to); },
    .unlink = [](const char* path) { return unlink(path); },
};

std::atomic<const FileCalls*> current{&kSystem};

}  // namespace

const FileCalls& SystemFileCalls() { return kSystem; }
const FileCalls& Files() { return *current.load(std::memory_order_acquire); }

const FileCalls* Exchange(const FileCalls* calls) { return current.exchange(calls); }

}  // namespace onnx_cudnn
