#include "runtime/base/parts_file.h"

#include <gtest/gtest.h>

#include <cstring>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "runtime/base/crc32c.h"
#include "tests/support/temp_folder.h"

namespace onnx_cudnn {
namespace {

constexpr size_t kVersionAt = 8, kCountAt = 12, kTableBytesAt = 16, kTableAt = 40;

// Three parts: "about" of 300 bytes, an empty one, and "w1".
std::string Bytes(const TempFolder& folder) {
  PartsWriter writer;
  writer.Add("about", std::string(300, 'a'));
  writer.AddView("none", "");
  EXPECT_EQ(writer.Share("weights"), "w1");
  EXPECT_EQ(writer.Share("weights"), "w1");
  const std::string path = folder.path("file");
  EXPECT_TRUE(writer.WriteTo(path).ok());
  return ReadFile(path, 1 << 20).value();
}

absl::Status Opened(const std::string& bytes) { return PartsFile::Copy(bytes, "m").status(); }

// The header's and the table's checksums, of what they are now.
void Sign(std::string& bytes) {
  uint64_t table_bytes = 0;
  std::memcpy(&table_bytes, &bytes[kTableBytesAt], sizeof(table_bytes));
  table_bytes = std::min<uint64_t>(table_bytes, bytes.size() - kTableAt);
  const uint32_t table = Crc32c(std::string_view(bytes).substr(kTableAt, table_bytes));
  std::memcpy(&bytes[32], &table, sizeof(table));
  const uint32_t header = Crc32c(std::string_view(bytes).substr(0, 36));
  std::memcpy(&bytes[36], &header, sizeof(header));
}

template <typename T>
std::string With(std::string bytes, size_t at, T number) {
  std::memcpy(&bytes[at], &number, sizeof(number));
  Sign(bytes);
  return bytes;
}

void ExpectRefused(const absl::Status& status, absl::StatusCode code, std::string_view text) {
  EXPECT_EQ(status.code(), code) << status;
  EXPECT_TRUE(absl::StrContains(status.message(), text)) << status;
}
constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;

TEST(PartsFileTest, ReturnsThePartsOfAFileAligned) {
  const TempFolder folder;
  Bytes(folder);
  const absl::StatusOr<File> file = File::Open(folder.path("file"));
  ASSERT_TRUE(file.ok()) << file.status();
  EXPECT_TRUE(PartsFile::IsOne(*file).value());
  const auto parts = PartsFile::Open(*file);
  ASSERT_TRUE(parts.ok()) << parts.status();
  EXPECT_EQ((*parts)->parts(), (std::vector<std::string_view>{"about", "none", "w1"}));
  EXPECT_EQ((*parts)->Read("about").value(), std::string(300, 'a'));
  EXPECT_EQ((*parts)->Read("none").value(), "");
  const std::string_view weights = (*parts)->Read("w1").value();
  EXPECT_EQ(weights, "weights");
  EXPECT_EQ(reinterpret_cast<uintptr_t>(weights.data()) % 256, 0u);
  EXPECT_EQ((*parts)->PartAt(weights.data()), "w1");
  EXPECT_EQ((*parts)->PartAt(weights.data() + 1), std::nullopt);
  EXPECT_EQ((*parts)->PartAt(folder.path().data()), std::nullopt);
  ExpectRefused((*parts)->Read("w2").status(), kInvalid, "has no part \"w2\"");
}

TEST(PartsFileTest, KnowsOtherFiles) {
  const TempFolder folder;
  const absl::StatusOr<File> file = File::Open(folder.Write("short", "\x89OC"));
  ASSERT_TRUE(file.ok()) << file.status();
  EXPECT_FALSE(PartsFile::IsOne(*file).value());
  EXPECT_FALSE(PartsFile::StartsOne("\x08\x0a an ONNX model"));
  ExpectRefused(Opened("\x08\x0a an ONNX model"), kInvalid, "m: is no compiled model");
}

TEST(PartsFileTest, RefusesEachFlippedByteButPadding) {
  const TempFolder folder;
  const std::string whole = Bytes(folder);
  const auto parts = PartsFile::Copy(whole, "m").value();
  std::string refused(whole.size(), ' ');  // 'x' where a flip is
  for (size_t i = 0; i < whole.size(); ++i) {
    std::string flipped = whole;
    flipped[i] = static_cast<char>(flipped[i] ^ 0x10);
    const auto opened = PartsFile::Copy(flipped, "m");
    absl::Status status = opened.status();
    for (const std::string_view name : {"about", "none", "w1"}) {
      if (status.ok()) status = (*opened)->Read(name).status();
    }
    refused[i] = status.ok() ? ' ' : 'x';
  }
  // The header and the table of three entries: 40 + 3 × 24 + 5 + 4 + 2; then 300 bytes and 7.
  std::string expected(whole.size(), ' ');
  expected.replace(0, 123, std::string(123, 'x'));
  expected.replace(256, 300, std::string(300, 'x'));
  expected.replace(expected.size() - 7, 7, std::string(7, 'x'));
  EXPECT_EQ(refused, expected);
}

TEST(PartsFileTest, RefusesEachLengthThatIsCutOff) {
  const TempFolder folder;
  const std::string whole = Bytes(folder);
  ASSERT_TRUE(Opened(whole).ok());
  for (size_t size = 0; size < whole.size(); ++size) {
    EXPECT_EQ(Opened(whole.substr(0, size)).code(), kInvalid) << size;
  }
  ExpectRefused(Opened(whole.substr(0, 20)), kInvalid, "is cut off");
  ExpectRefused(Opened(whole.substr(0, 200)), kInvalid, "has 200 bytes, its header says ");
  ExpectRefused(Opened(whole + "x"), kInvalid, "its header says ");
}

TEST(PartsFileTest, RefusesNumbersThatLieThoughTheirChecksumsAreRight) {
  const TempFolder folder;
  const std::string whole = Bytes(folder);
  ASSERT_TRUE(Opened(With(whole, kVersionAt, uint32_t{1})).ok());  // Sign signs as the writer
  ExpectRefused(Opened(With(whole, kVersionAt, uint32_t{2})), absl::StatusCode::kUnimplemented,
                "has format 2, this version reads format 1");
  ExpectRefused(Opened(With(whole, kCountAt, ~uint32_t{0})), kInvalid, "longer than the file");
  ExpectRefused(Opened(With(whole, kCountAt, uint32_t{2})), kInvalid, "the table is too long");
  ExpectRefused(Opened(With(whole, kCountAt, uint32_t{4})), kInvalid, "longer than the file");
  for (const uint64_t bytes : {~uint64_t{0}, uint64_t{1} << 63, uint64_t{100'000}}) {
    ExpectRefused(Opened(With(whole, kTableBytesAt, bytes)), kInvalid, "longer than the file");
  }
  // The first entry: the bytes of "about", which stand at 44, then its offset and its bytes.
  ExpectRefused(Opened(With(whole, kTableAt, ~uint32_t{0})), kInvalid, "ends early");
  for (const uint64_t offset : {~uint64_t{0}, ~uint64_t{255}, uint64_t{0}, uint64_t{257}}) {
    ExpectRefused(Opened(With(whole, 49, offset)), kInvalid, "part 0 lies outside");
  }
  ExpectRefused(Opened(With(whole, 57, ~uint64_t{0})), kInvalid, "part 0 lies outside");
  ExpectRefused(Opened(With(whole, 57, uint64_t{513})), kInvalid, "part 1 lies outside");
}

TEST(PartsFileTest, RefusesTwoPartsOfOneName) {
  const TempFolder folder;
  PartsWriter writer;
  writer.Add("a", "1");
  writer.Add("a", "2");
  ASSERT_TRUE(writer.WriteTo(folder.path("file")).ok());
  ExpectRefused(Opened(ReadFile(folder.path("file"), 1 << 20).value()), kInvalid,
                "part 1 has the name of another");
}

}  // namespace
}  // namespace onnx_cudnn
