// Regular files, read and written through the table of system calls.
//   errors  NotFound: no such file, or no permission to read it
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

// Holds the lock of a file; other holders, in this and in all other processes, wait.
class FileLock {
 public:
  // Creates the lock file, which is empty and is removed when the lock is released.
  static absl::StatusOr<FileLock> Take(const std::string& path);
  FileLock(FileLock&&) = default;
  FileLock& operator=(FileLock&&) = delete;
  ~FileLock();

 private:
  FileLock(std::string path, Descriptor fd) : path_(std::move(path)), fd_(std::move(fd)) {}

  std::string path_;
  Descriptor fd_;  // invalid once moved from
};

// Bytes of a file from `offset`, and where they go.
struct FileRange {
  int64_t offset;
  absl::Span<char> to;
};

// A regular file open for reading. Type and size are checked on the open descriptor, not on the
// name.
class File {
 public:
  static absl::StatusOr<File> Open(const std::string& path);

  const std::string& name() const { return name_; }
  int64_t size() const { return size_; }
  int64_t links() const { return links_; }

  // Fills `to` from `offset`, with all threads if it is large. DataLoss if the file ends earlier.
  absl::Status ReadAt(int64_t offset, absl::Span<char> to) const;
  // ReadAt for each of `ranges`, with all threads.
  absl::Status ReadAll(absl::Span<const FileRange> ranges) const;

  // The whole file mapped into memory, valid until the last owner is destroyed. Reading it after
  // the file was truncated is undefined (SIGBUS): only for files that do not change meanwhile.
  absl::StatusOr<std::shared_ptr<const char>> Map() const;

 private:
  friend class Folder;
  static absl::StatusOr<File> Check(Descriptor fd, std::string name);
  absl::Status ReadPart(FileRange part) const;

  Descriptor fd_;
  std::string name_;
  int64_t size_ = 0;
  int64_t links_ = 0;
};

// An open directory.
class Folder {
 public:
  static absl::StatusOr<Folder> Open(const std::string& path);

  // Opens the regular file at `relative`. Never leaves the directory: ".." and links, as the last
  // or an inner component, are InvalidArgument.
  absl::StatusOr<File> OpenBeneath(const std::string& relative) const;

 private:
  absl::StatusOr<Descriptor> Walk(const std::string& relative) const;

  Descriptor fd_;
};

// `path` with links, "." and ".." resolved.
absl::StatusOr<std::string> RealPath(const std::string& path);

// `path` itself or, if it is a link, the path at the end of the links, which need not exist.
absl::StatusOr<std::string> EndOfLinks(const std::string& path);

// Whether `path` exists; it need not be readable.
absl::StatusOr<bool> Exists(const std::string& path);

// The directory part of `path`; "." if it has none.
std::string FolderOf(const std::string& path);

// Reads at most `limit` bytes; ResourceExhausted if the file is larger.
absl::StatusOr<std::string> ReadFile(const std::string& path, int64_t limit);

// Writes a file in pieces. It appears under its name, complete, when Commit succeeds; until then,
// and if Commit is never called, the old file stays. If the name is a link, the target of the link
// is replaced. Anything but a regular file (/dev/stdout, a pipe) is written directly.
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

  std::unique_ptr<Descriptor> fd_;  // nullptr: moved from or committed
  std::string path_;                // as given
  std::string target_;              // with links resolved
  std::string temporary_;           // empty: path_ itself is written
};

// Replaces the content of `path` by `bytes`; on failure the old file stays.
absl::Status WriteFile(const std::string& path, std::string_view bytes);

}  // namespace onnx_cudnn
