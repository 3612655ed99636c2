// Regular files, read and written through the table of calls.
//   errors  NotFound: no such file, or it may not be read
//           InvalidArgument: not a regular file, a link where none is allowed
//           ResourceExhausted: out of descriptors or memory
//           DataLoss: the system cannot read or write, or the file ends early
//           Messages start with the file's name.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/types/span.h"

namespace onnx_cudnn {

// An open file descriptor and its only owner.
class Descriptor {
 public:
  Descriptor() = default;
  explicit Descriptor(int fd) : fd_(fd) {}
  Descriptor(Descriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~Descriptor();

  int get() const { return fd_; }

 private:
  int fd_ = -1;
};

// Keeps others out, in this process and in all, who take the lock of the same file: they wait.
class FileLock {
 public:
  // Makes the file, which holds nothing; it goes with the lock.
  static absl::StatusOr<FileLock> Take(const std::string& path);
  FileLock(FileLock&&) = default;
  FileLock& operator=(FileLock&&) = delete;
  ~FileLock();

 private:
  FileLock(std::string path, Descriptor fd) : path_(std::move(path)), fd_(std::move(fd)) {}

  std::string path_;
  Descriptor fd_;  // of none: moved from
};

// A regular file open for reading. What its size was when it was opened is checked on the
// descriptor, not the name.
class File {
 public:
  static absl::StatusOr<File> Open(const std::string& path);

  const std::string& name() const { return name_; }
  int64_t size() const { return size_; }
  int64_t links() const { return links_; }

  // Fills `to` from `offset`. DataLoss when the file ends before.
  absl::Status ReadAt(int64_t offset, absl::Span<char> to) const;

  // The whole file as memory, which lives until the last owner is gone. Reading it is undefined
  // (SIGBUS) once the file was cut short: only for files that nobody changes meanwhile.
  absl::StatusOr<std::shared_ptr<const char>> Map() const;

 private:
  friend class Folder;
  static absl::StatusOr<File> Check(Descriptor fd, std::string name);

  Descriptor fd_;
  std::string name_;
  int64_t size_ = 0;
  int64_t links_ = 0;
};

// An open folder.
class Folder {
 public:
  static absl::StatusOr<Folder> Open(const std::string& path);

  // Opens the regular file at `relative`. Never leaves the folder: ".." and links, final or on the
  // way, are InvalidArgument.
  absl::StatusOr<File> OpenBeneath(const std::string& relative) const;

 private:
  absl::StatusOr<Descriptor> Walk(const std::string& relative) const;

  Descriptor fd_;
};

// `path` without links, "." and "..".
absl::StatusOr<std::string> RealPath(const std::string& path);

// `path` itself, or where it leads if it is a link: to a path that is none, and need not be there.
absl::StatusOr<std::string> EndOfLinks(const std::string& path);

// Whether `path` leads to anything; it need not be readable.
absl::StatusOr<bool> Exists(const std::string& path);

// The folder part of `path`; "." when it has none.
std::string FolderOf(const std::string& path);

// At most `limit` bytes; ResourceExhausted when the file is larger.
absl::StatusOr<std::string> ReadFile(const std::string& path, int64_t limit);

// Writes a file in several pieces: it appears under its name, whole, when Commit succeeds; until
// then, and for ever when it is not called, what stood there stays. A link stays one: the file that
// it leads to is written. What is no regular file (/dev/stdout, a pipe) is written directly.
class FileWriter {
 public:
  static absl::StatusOr<FileWriter> Create(const std::string& path);
  FileWriter(FileWriter&&) = default;
  FileWriter& operator=(FileWriter&&) = delete;
  ~FileWriter();

  absl::Status Append(std::string_view bytes);
  absl::Status Commit();

 private:
  FileWriter() = default;

  std::unique_ptr<Descriptor> fd_;  // nullptr: moved from, or committed
  std::string path_;                // as it was given
  std::string target_;              // behind its links
  std::string temporary_;           // empty: path_ itself is written
};

// The whole of `path` becomes `bytes`, or what stood there stays.
absl::Status WriteFile(const std::string& path, std::string_view bytes);

}  // namespace onnx_cudnn
