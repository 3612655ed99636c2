// The one table of system calls that touch files. Everything in the project reaches files through
// it, so that a test can make the N-th call fail.
#pragma once

#include <sys/stat.h>
#include <sys/types.h>

#include <cstddef>
#include <cstdint>

namespace onnx_cudnn {

// Each entry answers as the system call of its name: a negative number (nullptr for realpath,
// MAP_FAILED for mmap) and errno on failure.
struct FileCalls {
  int (*open)(const char* path, int flags, mode_t mode);
  int (*openat)(int folder, const char* path, int flags);
  int (*openat2)(int folder, const char* path, int flags, uint64_t resolve);
  int (*fstat)(int fd, struct stat* out);
  char* (*realpath)(const char* path, char* out);  // out: PATH_MAX bytes
  ssize_t (*readlink)(const char* path, char* out, size_t bytes);
  void* (*mmap)(size_t bytes, int fd);  // read-only and private, from the file's start
  int (*munmap)(void* data, size_t bytes);
  ssize_t (*pread)(int fd, void* to, size_t bytes, off_t offset);
  ssize_t (*write)(int fd, const void* from, size_t bytes);
  int (*fsync)(int fd);
  int (*flock)(int fd, int operation);
  int (*close)(int fd);
  int (*rename)(const char* from, const char* to);
  int (*unlink)(const char* path);
};

// The operating system's own.
const FileCalls& SystemFileCalls();

// The table in use: the system's, unless a test set another.
const FileCalls& Files();

// Puts `calls` in place for the whole process while it lives; for tests. `calls` must outlive it.
class ScopedFileCalls {
 public:
  explicit ScopedFileCalls(const FileCalls& calls);
  ~ScopedFileCalls();
  ScopedFileCalls(const ScopedFileCalls&) = delete;
  ScopedFileCalls& operator=(const ScopedFileCalls&) = delete;

 private:
  const FileCalls* before_;
};

}  // namespace onnx_cudnn
