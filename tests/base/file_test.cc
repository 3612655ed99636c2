#include "runtime/base/file.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <thread>
#include <vector>

#include "absl/strings/match.h"
#include "runtime/base/calls.h"
#include "tests/support/failing_calls.h"
#include "tests/support/temp_folder.h"

namespace onnx_cudnn {
namespace {

std::string Content(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::stringstream out;
  out << in.rdbuf();
  return out.str();
}

int FilesIn(const TempFolder& folder) {
  const auto files = std::filesystem::directory_iterator(folder.path());
  return static_cast<int>(std::distance(begin(files), end(files)));
}

template <int error>
int FailOpenAt2(int, const char*, int, uint64_t) {
  errno = error;
  return -1;
}

// error  the errno that openat2 fails with; 0: the real call
FileCalls WithOpenAt2(int error) {
  FileCalls calls = SystemFileCalls();
  if (error == ENOSYS) calls.openat2 = FailOpenAt2<ENOSYS>;
  if (error == EPERM) calls.openat2 = FailOpenAt2<EPERM>;
  return calls;
}

TEST(FileTest, ReadsRangesAndRefusesWhatIsBeyondTheEnd) {
  TempFolder folder;
  absl::StatusOr<File> file = File::Open(folder.Write("a", "0123456789"));
  ASSERT_TRUE(file.ok()) << file.status();
  EXPECT_EQ(file->size(), 10);
  std::string bytes(4, '\0');
  ASSERT_TRUE(file->ReadAt(3, absl::MakeSpan(bytes)).ok());
  EXPECT_EQ(bytes, "3456");
  EXPECT_EQ(file->ReadAt(7, absl::MakeSpan(bytes)).code(), absl::StatusCode::kDataLoss);
}

TEST(FileTest, ReadsLargeRangesInParts) {
  constexpr size_t kBytes = 9'000'001;
  std::string text;
  for (size_t i = 0; i < kBytes; ++i) text += static_cast<char>(i * 2654435761u >> 13);
  TempFolder folder;
  absl::StatusOr<File> file = File::Open(folder.Write("a", text));
  ASSERT_TRUE(file.ok()) << file.status();
  std::string bytes(kBytes - 3, '\0');
  ASSERT_TRUE(file->ReadAt(3, absl::MakeSpan(bytes)).ok());
  EXPECT_EQ(bytes, text.substr(3));
  EXPECT_EQ(file->ReadAt(4, absl::MakeSpan(bytes)).code(), absl::StatusCode::kDataLoss);
}

TEST(FileTest, ReportsDataLossIfTheFileWasTruncatedAfterOpen) {
  TempFolder folder;
  const std::string path = folder.Write("a", "0123456789");
  absl::StatusOr<File> file = File::Open(path);
  ASSERT_TRUE(file.ok());
  std::filesystem::resize_file(path, 4);
  std::string bytes(10, '\0');
  EXPECT_EQ(file->ReadAt(0, absl::MakeSpan(bytes)).code(), absl::StatusCode::kDataLoss);
}

TEST(FileTest, ReadsOnAfterShortReadsAndInterrupts) {
  TempFolder folder;
  const std::string path = folder.Write("a", "0123456789");
  FileCalls calls = SystemFileCalls();
  calls.pread = [](int fd, void* to, size_t bytes, off_t offset) -> ssize_t {
    static int calls_before = 0;
    errno = EINTR;
    if (calls_before++ % 2 == 0) return -1;
    return SystemFileCalls().pread(fd, to, std::min<size_t>(bytes, 3), offset);
  };
  ScopedFileCalls scope(calls);
  EXPECT_EQ(ReadFile(path, 100).value(), "0123456789");
}

TEST(FileTest, OpensRegularFilesOnly) {
  TempFolder folder;
  const std::string fifo = folder.path("fifo");
  ASSERT_EQ(mkfifo(fifo.c_str(), 0600), 0);
  EXPECT_EQ(File::Open(fifo).status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(File::Open(folder.path()).status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(File::Open("/dev/zero").status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(File::Open(folder.path("none")).status().code(), absl::StatusCode::kNotFound);
}

TEST(FileTest, MapsTheWholeFile) {
  TempFolder folder;
  absl::StatusOr<std::shared_ptr<const char>> mapped;
  {
    absl::StatusOr<File> file = File::Open(folder.Write("a", "0123456789"));
    ASSERT_TRUE(file.ok());
    mapped = file->Map();
    ASSERT_TRUE(mapped.ok()) << mapped.status();
  }
  EXPECT_EQ(std::string_view(mapped->get(), 10), "0123456789");  // also when the File is gone
  EXPECT_TRUE(File::Open(folder.Write("empty", ""))->Map().ok());
}

TEST(FileTest, ReadFileRefusesMoreThanTheLimit) {
  TempFolder folder;
  const std::string path = folder.Write("a", "0123456789");
  EXPECT_EQ(ReadFile(path, 10).value(), "0123456789");
  EXPECT_EQ(ReadFile(path, 9).status().code(), absl::StatusCode::kResourceExhausted);
}

// The results are the same whether the kernel has openat2 or not.
class FolderTest : public testing::TestWithParam<int> {
 protected:
  FolderTest() : calls_(WithOpenAt2(GetParam())), scope_(calls_) {
    std::filesystem::create_directory(inside_.path("sub"));
    inside_.Write("a", "inside");
    inside_.Write("sub/b", "deeper");
    outside_.Write("secret", "outside");
  }
  absl::Status OpenFails(const std::string& relative) {
    return Folder::Open(inside_.path())->OpenBeneath(relative).status();
  }

  TempFolder inside_, outside_;
  FileCalls calls_;
  ScopedFileCalls scope_;
};

TEST_P(FolderTest, OpensFilesInTheFolder) {
  absl::StatusOr<Folder> folder = Folder::Open(inside_.path());
  ASSERT_TRUE(folder.ok());
  EXPECT_EQ(folder->OpenBeneath("a")->size(), 6);
  EXPECT_EQ(folder->OpenBeneath("./sub/b")->size(), 6);
  EXPECT_EQ(OpenFails("none").code(), absl::StatusCode::kNotFound);
}

TEST_P(FolderTest, NeverLeavesTheFolder) {
  const std::string up =
      "../" + std::filesystem::path(outside_.path()).filename().string() + "/secret";
  EXPECT_EQ(OpenFails(up).code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(OpenFails("sub/../../a").code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(OpenFails(outside_.path("secret")).code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(OpenFails("").code(), absl::StatusCode::kInvalidArgument);
}

TEST_P(FolderTest, FollowsNoLinks) {
  std::filesystem::create_symlink(outside_.path("secret"), inside_.path("final"));
  std::filesystem::create_symlink("a", inside_.path("near"));
  std::filesystem::create_directory_symlink(outside_.path(), inside_.path("parent"));
  std::filesystem::create_directory_symlink("sub", inside_.path("near_parent"));
  for (const char* link : {"final", "near", "parent/secret", "near_parent/b"}) {
    EXPECT_EQ(OpenFails(link).code(), absl::StatusCode::kInvalidArgument) << link;
  }
}

TEST_P(FolderTest, OpensRegularFilesOnly) {
  ASSERT_EQ(mkfifo(inside_.path("fifo").c_str(), 0600), 0);
  EXPECT_EQ(OpenFails("fifo").code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(OpenFails("sub").code(), absl::StatusCode::kInvalidArgument);
}

INSTANTIATE_TEST_SUITE_P(OpenAt2, FolderTest, testing::Values(0, ENOSYS, EPERM),
                         [](const auto& info) {
                           return info.param == 0        ? "There"
                                  : info.param == ENOSYS ? "Missing"
                                                         : "Filtered";
                         });

TEST(FileWriterTest, LeavesTheOldFileUntilCommit) {
  TempFolder folder;
  const std::string path = folder.Write("a", "old");
  {
    absl::StatusOr<FileWriter> writer = FileWriter::Create(path);
    ASSERT_TRUE(writer.ok()) << writer.status();
    ASSERT_TRUE(writer->Append("new").ok());
    EXPECT_EQ(Content(path), "old");
  }
  EXPECT_EQ(Content(path), "old");
  EXPECT_EQ(FilesIn(folder), 1);
  ASSERT_TRUE(WriteFile(path, "new").ok());
  EXPECT_EQ(Content(path), "new");
  EXPECT_EQ(FilesIn(folder), 1);
}

TEST(FileWriterTest, EachFailingCallLeavesTheOldFileAndNothingElse) {
  TempFolder folder;
  const std::string path = folder.Write("a", "old");
  constexpr int kCalls = 9;  // of a write in which none fails
  int failed = 0;
  for (int n = 0; n < kCalls; ++n) {
    FailingCalls calls(n);
    const absl::Status status = WriteFile(path, "new");
    EXPECT_EQ(calls.open(), 0) << "call " << n;
    EXPECT_EQ(Content(path), status.ok() ? "new" : "old") << "call " << n;
    EXPECT_EQ(FilesIn(folder), 1) << "call " << n;
    failed += status.ok() ? 0 : 1;
    folder.Write("a", "old");
  }
  EXPECT_GE(failed, 6);  // fstat, readlink, open, write, fsync, rename; a failing close is harmless
}

TEST(FileWriterTest, WritesThroughLinksWhichStay) {
  TempFolder folder;
  std::filesystem::create_directory(folder.path("real"));
  const std::string real = folder.Write("real/a", "old"), link = folder.path("link");
  std::filesystem::create_symlink("other", link);  // over another link, from folder to folder
  std::filesystem::create_symlink("real/a", folder.path("other"));
  ASSERT_TRUE(WriteFile(link, "new").ok());
  EXPECT_EQ(Content(real), "new");
  EXPECT_TRUE(std::filesystem::is_symlink(link));
  EXPECT_TRUE(std::filesystem::is_symlink(folder.path("other")));
  std::filesystem::remove(real);  // a link may lead to what is not there yet
  ASSERT_TRUE(WriteFile(link, "again").ok());
  EXPECT_EQ(Content(real), "again");
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder.path("real")), {}), 1);
  std::filesystem::create_symlink("circle", folder.path("circle"));
  EXPECT_EQ(WriteFile(folder.path("circle"), "x").code(), absl::StatusCode::kInvalidArgument);
}

TEST(FileWriterTest, WritesDirectlyToWhatIsNoRegularFile) {
  ASSERT_TRUE(WriteFile("/dev/null", "gone").ok());
  struct stat info = {};
  ASSERT_EQ(stat("/dev/null", &info), 0);
  EXPECT_TRUE(S_ISCHR(info.st_mode));
}

TEST(FileWriterTest, ReportsWhyAFileCannotBeCreated) {
  TempFolder folder;
  EXPECT_EQ(WriteFile(folder.path("none/a"), "x").code(), absl::StatusCode::kNotFound);
  FailingCalls calls(0, ENOMEM);
  EXPECT_EQ(File::Open(folder.Write("a", "x")).status().code(),
            absl::StatusCode::kResourceExhausted);
}

TEST(FileWriterTest, AFullDiskIsNotALackOfMemory) {
  TempFolder folder;
  int failed = 0;
  for (int at = 0; at < 8; ++at) {  // calls may be more than opening, writing and closing
    const FailingCalls calls(at, ENOSPC);
    const absl::Status status = WriteFile(folder.path("a"), "x");
    if (status.ok()) continue;
    ++failed;
    EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss);
    EXPECT_TRUE(absl::StrContains(status.message(), "no space left on device")) << status;
  }
  EXPECT_GT(failed, 0);
}

TEST(FileLockTest, KeepsOthersOutUntilItsEnd) {
  TempFolder folder;
  auto first = FileLock::Take(folder.path("a.lock"));
  ASSERT_TRUE(first.ok()) << first.status();
  std::atomic<bool> released = false, taken_after_release = false;
  std::thread other([&] {
    const auto second = FileLock::Take(folder.path("a.lock"));
    taken_after_release = second.ok() && released;
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  released = true;
  first = absl::CancelledError();
  other.join();
  EXPECT_TRUE(taken_after_release);
  EXPECT_EQ(FilesIn(folder), 0);
}

TEST(FileLockTest, NoTwoHoldItThoughItsFileGoesEachTime) {
  TempFolder folder;
  std::atomic<int> holders = 0, most = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 200; ++i) {
        const auto lock = FileLock::Take(folder.path("a.lock"));
        ASSERT_TRUE(lock.ok()) << lock.status();
        most = std::max<int>(most, ++holders);
        std::this_thread::yield();
        --holders;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(most, 1);
  EXPECT_EQ(FilesIn(folder), 0);
}

TEST(FileLockTest, ReportsWhyItCannotBeAcquired) {
  TempFolder folder;
  EXPECT_EQ(FileLock::Take(folder.path("none/a.lock")).status().code(),
            absl::StatusCode::kNotFound);
  const FailingCalls calls(1);  // flock
  EXPECT_EQ(FileLock::Take(folder.path("a.lock")).status().code(), absl::StatusCode::kDataLoss);
  EXPECT_EQ(calls.open(), 0);
}

TEST(ExistsTest, DistinguishesMissingFromUnreadableFiles) {
  TempFolder folder;
  const std::string path = folder.Write("a", "");
  ASSERT_EQ(chmod(path.c_str(), 0), 0);
  EXPECT_TRUE(*Exists(path));
  EXPECT_FALSE(*Exists(folder.path("none")));
  EXPECT_FALSE(Exists(path + "/below").ok());
}

TEST(RealPathTest, ResolvesLinks) {
  TempFolder folder;
  folder.Write("a", "x");
  std::filesystem::create_symlink("a", folder.path("link"));
  EXPECT_EQ(RealPath(folder.path("link")).value(), folder.path("a"));
  EXPECT_EQ(RealPath(folder.path("none")).status().code(), absl::StatusCode::kNotFound);
}

TEST(EndOfLinksTest, FollowsThemAll) {
  TempFolder folder;
  std::filesystem::create_symlink("b", folder.path("a"));
  std::filesystem::create_symlink("/no/such/file", folder.path("b"));
  EXPECT_EQ(EndOfLinks(folder.path("a")).value(), "/no/such/file");
  EXPECT_EQ(EndOfLinks(folder.path("none")).value(), folder.path("none"));
  EXPECT_EQ(EndOfLinks(folder.Write("file", "")).value(), folder.path("file"));
}

TEST(FolderOfTest, CutsTheLastPart) {
  EXPECT_EQ(FolderOf("a/b/c"), "a/b");
  EXPECT_EQ(FolderOf("/a"), "/");
  EXPECT_EQ(FolderOf("a"), ".");
}

}  // namespace
}  // namespace onnx_cudnn
