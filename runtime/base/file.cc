#include "runtime/base/file.h"

#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <memory>
#include <system_error>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "runtime/base/calls.h"
#include "runtime/base/status.h"
#include "runtime/base/thread_pool.h"

namespace onnx_cudnn {
namespace {

// Opening a FIFO or a device must not block before its type is checked.
constexpr int kReadFlags = O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY;
// More bytes are read in parts of this size by all threads, which also share the work of mapping
// new memory.
constexpr size_t kReadPart = 2 << 20;
constexpr int kFolderFlags = O_RDONLY | O_CLOEXEC | O_DIRECTORY;

absl::StatusCode CodeOf(int error) {
  switch (error) {
    case ENOENT:
    case EACCES:
    case EPERM:
      return absl::StatusCode::kNotFound;
    case ELOOP:
    case EXDEV:
    case ENOTDIR:
    case EISDIR:
    case ENAMETOOLONG:
    case EINVAL:
    case ENXIO:
    case ENODEV:
      return absl::StatusCode::kInvalidArgument;
    case EMFILE:
    case ENFILE:
    case ENOMEM:
      return absl::StatusCode::kResourceExhausted;
    default:  // a full disk too: kResourceExhausted is about memory
      return absl::StatusCode::kDataLoss;
  }
}

absl::Status CallFailed(std::string_view name, std::string_view what, int error) {
  return absl::Status(CodeOf(error),
                      absl::StrCat(name, ": cannot ", what, ": ",
                                   absl::AsciiStrToLower(std::generic_category().message(error))));
}

// Repeats a call that a signal interrupted.
template <typename Call>
auto Retry(Call call) {
  auto result = call();
  while (result < 0 && errno == EINTR) result = call();
  return result;
}

// Opens `path` for writing if it exists and is not a regular file (/dev/stdout, a pipe); a rename
// would replace it.
absl::StatusOr<std::unique_ptr<Descriptor>> OpenSpecial(const std::string& path) {
  auto fd = std::make_unique<Descriptor>(
      Retry([&] { return Files().open(path.c_str(), O_WRONLY | O_CLOEXEC | O_NOCTTY, 0); }));
  struct stat info = {};
  if (fd->get() < 0) return nullptr;
  if (Files().fstat(fd->get(), &info) != 0) return CallFailed(path, "examine", errno);
  return S_ISREG(info.st_mode) ? nullptr : std::move(fd);
}

// Whether `path` refers to the file that `fd` has open.
absl::StatusOr<bool> LeadsTo(const std::string& path, int fd) {
  constexpr int kFlags = O_PATH | O_CLOEXEC | O_NOFOLLOW;
  const Descriptor there(Retry([&] { return Files().open(path.c_str(), kFlags, 0); }));
  if (there.get() < 0 && errno == ENOENT) return false;
  if (there.get() < 0) return CallFailed(path, "find", errno);
  struct stat found = {}, held = {};
  if (Files().fstat(there.get(), &found) != 0 || Files().fstat(fd, &held) != 0) {
    return CallFailed(path, "examine", errno);
  }
  return found.st_dev == held.st_dev && found.st_ino == held.st_ino;
}

}  // namespace

Descriptor::~Descriptor() {
  if (fd_ >= 0) Files().close(fd_);
}

FileLock::~FileLock() {
  if (fd_.get() >= 0) Files().unlink(path_.c_str());
}

absl::StatusOr<FileLock> FileLock::Take(const std::string& path) {
  constexpr int kFlags = O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY;
  while (true) {
    Descriptor fd(Retry([&] { return Files().open(path.c_str(), kFlags, 0644); }));
    if (fd.get() < 0) return CallFailed(path, "create", errno);
    if (Retry([&] { return Files().flock(fd.get(), LOCK_EX); }) < 0) {
      return CallFailed(path, "lock", errno);
    }
    // The previous holder of the lock may have removed the file while this call waited for it.
    ASSIGN_OR_RETURN(const bool is_there, LeadsTo(path, fd.get()));
    if (is_there) return FileLock(path, std::move(fd));
  }
}

absl::StatusOr<File> File::Check(Descriptor fd, std::string name) {
  struct stat info = {};
  if (Files().fstat(fd.get(), &info) != 0) return CallFailed(name, "examine", errno);
  if (!S_ISREG(info.st_mode)) {
    return absl::InvalidArgumentError(absl::StrCat(name, ": not a regular file"));
  }
  File file;
  file.fd_ = std::move(fd);
  file.name_ = std::move(name);
  file.size_ = info.st_size;
  file.links_ = static_cast<int64_t>(info.st_nlink);
  return file;
}

absl::StatusOr<File> File::Open(const std::string& path) {
  Descriptor fd(Retry([&] { return Files().open(path.c_str(), kReadFlags, 0); }));
  if (fd.get() < 0) return CallFailed(path, "open", errno);
  return Check(std::move(fd), path);
}

absl::Status File::ReadAt(int64_t offset, absl::Span<char> to) const {
  const FileRange range = {offset, to};
  return to.size() <= kReadPart ? ReadPart(range) : ReadAll({&range, 1});
}

absl::Status File::ReadAll(absl::Span<const FileRange> ranges) const {
  std::vector<FileRange> parts;
  for (const auto& [offset, to] : ranges) {
    for (size_t at = 0; at < to.size(); at += kReadPart) {
      parts.push_back({offset + static_cast<int64_t>(at), to.subspan(at, kReadPart)});
    }
  }
  std::vector<absl::Status> statuses(parts.size());
  ThreadPool::Default().ParallelFor(static_cast<int64_t>(parts.size()), 1,
                                    [&](int64_t begin, int64_t end) {
                                      for (int64_t i = begin; i < end; ++i)
                                        statuses[i] = ReadPart(parts[i]);
                                    });
  for (const absl::Status& status : statuses) RETURN_IF_ERROR(status);
  return absl::OkStatus();
}

absl::Status File::ReadPart(FileRange part) const {
  int64_t& offset = part.offset;
  absl::Span<char>& to = part.to;
  while (!to.empty()) {
    const ssize_t got =
        Retry([&] { return Files().pread(fd_.get(), to.data(), to.size(), offset); });
    if (got < 0) return CallFailed(name_, "read", errno);
    if (got == 0) {
      return absl::DataLossError(absl::StrCat(name_, ": ends at byte ", offset, ", ", to.size(),
                                              " more are expected there"));
    }
    to.remove_prefix(got);
    offset += got;
  }
  return absl::OkStatus();
}

absl::StatusOr<std::shared_ptr<const char>> File::Map() const {
  if (size_ == 0) return std::shared_ptr<const char>(new char(0));  // mmap rejects an empty range
  void* data = Files().mmap(size_, fd_.get());
  if (data == MAP_FAILED) return CallFailed(name_, "map", errno);
  return std::shared_ptr<const char>(static_cast<const char*>(data), [size = size_](const char* p) {
    Files().munmap(const_cast<char*>(p), size);
  });
}

absl::StatusOr<Folder> Folder::Open(const std::string& path) {
  Folder folder;
  folder.fd_ = Descriptor(Retry([&] { return Files().open(path.c_str(), kFolderFlags, 0); }));
  if (folder.fd_.get() < 0) return CallFailed(path, "open", errno);
  return folder;
}

// As strict as openat2 with kBeneath: opens each component in the directory before it; no component
// may be a link or "..".
absl::StatusOr<Descriptor> Folder::Walk(const std::string& relative) const {
  const std::vector<std::string> parts = absl::StrSplit(relative, '/', absl::SkipEmpty());
  Descriptor folder;
  for (size_t i = 0; i < parts.size(); ++i) {
    if (parts[i] == "..") return CallFailed(relative, "open", EXDEV);
    const int flags = (i + 1 == parts.size() ? kReadFlags : kFolderFlags) | O_NOFOLLOW;
    const int above = i == 0 ? fd_.get() : folder.get();
    Descriptor fd(Retry([&] { return Files().openat(above, parts[i].c_str(), flags); }));
    if (fd.get() < 0) return CallFailed(relative, "open", errno);
    folder = std::move(fd);
  }
  return folder;
}

absl::StatusOr<File> Folder::OpenBeneath(const std::string& relative) const {
  constexpr uint64_t kBeneath = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS;
  if (relative.empty() || relative.front() == '/') return CallFailed(relative, "open", EXDEV);
  Descriptor fd(
      Retry([&] { return Files().openat2(fd_.get(), relative.c_str(), kReadFlags, kBeneath); }));
  // Kernels before 5.6 return ENOSYS; the call filters of some containers return EPERM.
  if (fd.get() < 0 && (errno == ENOSYS || errno == EPERM)) {
    ASSIGN_OR_RETURN(fd, Walk(relative));
  }
  if (fd.get() < 0) return CallFailed(relative, "open", errno);
  return File::Check(std::move(fd), relative);
}

absl::StatusOr<std::string> RealPath(const std::string& path) {
  char real[PATH_MAX];
  if (Files().realpath(path.c_str(), real) == nullptr) return CallFailed(path, "find", errno);
  return std::string(real);
}

absl::StatusOr<std::string> EndOfLinks(const std::string& path) {
  constexpr int kMostLinks = 40;  // the kernel's limit
  std::string end = path;
  char target[PATH_MAX];
  for (int i = 0; i < kMostLinks; ++i) {
    const ssize_t size = Files().readlink(end.c_str(), target, sizeof(target));
    // Not a link, or it does not exist.
    if (size < 0 && (errno == EINVAL || errno == ENOENT)) return end;
    if (size < 0) return CallFailed(path, "follow", errno);
    if (static_cast<size_t>(size) == sizeof(target))
      return CallFailed(path, "follow", ENAMETOOLONG);
    const std::string to(target, static_cast<size_t>(size));
    end = to.starts_with('/') ? to : absl::StrCat(FolderOf(end), "/", to);
  }
  return CallFailed(path, "follow", ELOOP);
}

absl::StatusOr<bool> Exists(const std::string& path) {
  const Descriptor fd(Retry([&] { return Files().open(path.c_str(), O_PATH | O_CLOEXEC, 0); }));
  if (fd.get() >= 0) return true;
  if (errno == ENOENT) return false;
  return CallFailed(path, "find", errno);
}

std::string FolderOf(const std::string& path) {
  const size_t slash = path.rfind('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

absl::StatusOr<std::string> ReadFile(const std::string& path, int64_t limit) {
  ASSIGN_OR_RETURN(File file, File::Open(path));
  if (file.size() > limit) {
    return absl::ResourceExhaustedError(
        absl::StrCat(path, ": has ", file.size(), " bytes, at most ", limit, " are read"));
  }
  std::string bytes(file.size(), '\0');
  RETURN_IF_ERROR(file.ReadAt(0, absl::MakeSpan(bytes)));
  return bytes;
}

absl::StatusOr<FileWriter> FileWriter::Create(const std::string& path) {
  static std::atomic<int> serial{0};
  FileWriter writer;
  writer.path_ = path;
  ASSIGN_OR_RETURN(writer.fd_, OpenSpecial(path));
  if (writer.fd_ != nullptr) return writer;
  ASSIGN_OR_RETURN(writer.target_, EndOfLinks(path));
  writer.temporary_ = absl::StrCat(writer.target_, ".", getpid(), ".", serial++, ".tmp");
  constexpr int kFlags = O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW;
  Descriptor fd(Retry([&] { return Files().open(writer.temporary_.c_str(), kFlags, 0644); }));
  if (fd.get() < 0) return CallFailed(path, "create", errno);
  writer.fd_ = std::make_unique<Descriptor>(std::move(fd));
  return writer;
}

FileWriter::~FileWriter() {
  if (fd_ != nullptr && !temporary_.empty()) Files().unlink(temporary_.c_str());
}

absl::Status FileWriter::Append(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t put =
        Retry([&] { return Files().write(fd_->get(), bytes.data(), bytes.size()); });
    if (put < 0) return CallFailed(path_, "write", errno);
    bytes.remove_prefix(put);
  }
  return absl::OkStatus();
}

absl::Status FileWriter::Commit() {
  if (temporary_.empty()) return absl::OkStatus();
  if (Files().fsync(fd_->get()) != 0) return CallFailed(path_, "write", errno);
  if (Files().rename(temporary_.c_str(), target_.c_str()) != 0) {
    return CallFailed(path_, "create", errno);
  }
  fd_ = nullptr;
  return absl::OkStatus();
}

absl::Status WriteFile(const std::string& path, std::string_view bytes) {
  ASSIGN_OR_RETURN(FileWriter writer, FileWriter::Create(path));
  RETURN_IF_ERROR(writer.Append(bytes));
  return writer.Commit();
}

}  // namespace onnx_cudnn
