// The only table of system calls that access files. All file access in the project goes through it,
// so that a test can make the N-th call fail.
#pragma once

#include <sys/stat.h>
#include <sys/types.h>

#include <cstddef>
#include <cstdint>

#include "runtime/base/scoped_calls.h"

namespace onnx_cudnn {

// Each entry behaves as the system call of its name: on failure it returns a negative number
// (nullptr for realpath, MAP_FAILED for mmap) and sets errno.
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

// The operating system's functions.
const FileCalls& SystemFileCalls();

// The table in use: the system's, unless a test replaced it.
const FileCalls& Files();

// Puts `calls` in use and returns the table before it.
const FileCalls* Exchange(const FileCalls* calls);
using ScopedFileCalls = ScopedCalls<FileCalls, Exchange>;

}  // namespace onnx_cudnn
