#include "tools/common/npy.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "minizip/zip.h"
#include "runtime/base/file.h"
#include "runtime/graph/float16.h"

namespace onnx_cudnn {
namespace {

// A version 1 file with this header text, followed by these bytes.
std::string NpyFile(std::string_view header, std::string_view elements) {
  const std::string text = absl::StrCat(header, "\n");
  std::string file("\x93NUMPY\x01\x00", 8);
  file += static_cast<char>(text.size() & 0xff);
  file += static_cast<char>(text.size() >> 8);
  return absl::StrCat(file, text, elements);
}

void ExpectRefused(std::string_view file,
                   absl::StatusCode code = absl::StatusCode::kInvalidArgument) {
  EXPECT_EQ(ParseNpy(file).status().code(), code);
}

TEST(NpyTest, EveryDTypeComesBack) {
  const std::vector<float> floats = {1.5f, -2, 3};
  const std::vector<int64_t> ints = {1, -2, int64_t{1} << 40};
  const std::vector<uint8_t> bytes = {0, 1, 1};
  const std::vector<Float16> halves = {ToFloat16(1), ToFloat16(2), ToFloat16(0.5f)};
  for (const HostTensor& tensor : {HostTensor::Of<float>(DType::kF32, {3, 1}, floats),
                                   HostTensor::Of<int64_t>(DType::kI64, {3}, ints),
                                   HostTensor::Of<uint8_t>(DType::kBool, {1, 3}, bytes),
                                   HostTensor::Of<uint8_t>(DType::kU8, {3}, bytes),
                                   HostTensor::Of<Float16>(DType::kF16, {3}, halves)}) {
    const absl::StatusOr<HostTensor> back = ParseNpy(*FormatNpy(tensor));
    ASSERT_TRUE(back.ok()) << back.status();
    EXPECT_TRUE(SameContent(*back, tensor)) << NameOf(tensor.dtype());
  }
}

TEST(NpyTest, ScalarsAndEmptyArraysComeBack) {
  const std::vector<float> one = {7};
  const HostTensor scalar = HostTensor::Of<float>(DType::kF32, {}, one);
  EXPECT_TRUE(SameContent(*ParseNpy(*FormatNpy(scalar)), scalar));
  const HostTensor empty = HostTensor::Allocate(DType::kF32, {0, 3});
  EXPECT_EQ(ParseNpy(*FormatNpy(empty))->dims(), (Dims{0, 3}));
}

TEST(NpyTest, BFloat16IsWrittenAsFloat) {
  const std::vector<BFloat16> values = {ToBFloat16(2), ToBFloat16(-1)};
  const HostTensor back =
      *ParseNpy(*FormatNpy(HostTensor::Of<BFloat16>(DType::kBF16, {2}, values)));
  EXPECT_EQ(back.dtype(), DType::kF32);
  EXPECT_EQ(back.data<float>()[1], -1);
}

TEST(NpyTest, FortranOrderBecomesRowMajor) {
  const std::string file =
      NpyFile("{'descr': '|u1', 'fortran_order': True, 'shape': (2, 3), }", "\1\2\3\4\5\6");
  const HostTensor tensor = *ParseNpy(file);
  EXPECT_EQ(std::vector<uint8_t>(tensor.data<uint8_t>().begin(), tensor.data<uint8_t>().end()),
            (std::vector<uint8_t>{1, 3, 5, 2, 4, 6}));
}

TEST(NpyTest, ReadsHeadersLongerThan127Bytes) {
  const std::string header = absl::StrCat(
      "{'descr': '|u1', 'fortran_order': False, 'shape': (1,), }", std::string(128, ' '));
  EXPECT_TRUE(ParseNpy(NpyFile(header, "\5")).ok());
}

TEST(NpyTest, RefusesWhatIsNoArray) {
  ExpectRefused("");
  ExpectRefused("\x93NUMPY");
  ExpectRefused("dummy dummy dummy");
  ExpectRefused(std::string("\x93NUMPY\x01\x00\xff\xff", 10) + "{}");  // header beyond the file
  ExpectRefused(NpyFile("", ""));
  ExpectRefused(NpyFile("{'descr': '<f4', 'fortran_order': False, 'shape': (a,), }", ""));
  ExpectRefused(NpyFile("{'descr': '>f4', 'fortran_order': False, 'shape': (1,), }", "abcd"));
  ExpectRefused(NpyFile("{'descr': '|O', 'fortran_order': False, 'shape': (1,), }", "abcd"));
  ExpectRefused(NpyFile("{'descr': '<c3', 'fortran_order': False, 'shape': (1,), }", "abc"),
                absl::StatusCode::kUnimplemented);
}

TEST(NpyTest, RefusesASizeThatDiffersFromTheHeader) {
  const std::string_view header = "{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }";
  ExpectRefused(NpyFile(header, "1234567"));
  ExpectRefused(NpyFile(header, "123456789"));
  ExpectRefused(NpyFile(
      "{'descr': '<f4', 'fortran_order': False, 'shape': (999999999999, 999999999999), }", ""));
}

class NpzTest : public testing::Test {
 protected:
  void TearDown() override { std::filesystem::remove(path_); }
  void Write(const NamedTensors& tensors, int compression) {
    zipFile zip = zipOpen(path_.c_str(), APPEND_STATUS_CREATE);
    for (const auto& [name, tensor] : tensors) {
      const std::string bytes = *FormatNpy(tensor);
      zipOpenNewFileInZip(zip, (name + ".npy").c_str(), nullptr, nullptr, 0, nullptr, 0, nullptr,
                          compression == 0 ? 0 : Z_DEFLATED, compression);
      zipWriteInFileInZip(zip, bytes.data(), static_cast<unsigned>(bytes.size()));
      zipCloseFileInZip(zip);
    }
    zipClose(zip, nullptr);
  }

  const std::string path_ = testing::TempDir() + "/npz_test.npz";
};

TEST_F(NpzTest, ReadsStoredAndDeflatedArrays) {
  const NamedTensors tensors = {{"a", HostTensor::Ints({1, 2, 3})}, {"b", HostTensor::Ints({4})}};
  for (const int compression : {0, 9}) {
    Write(tensors, compression);
    const absl::StatusOr<NamedTensors> back = ReadNpz(path_);
    ASSERT_TRUE(back.ok()) << back.status();
    ASSERT_EQ(back->size(), 2u);
    EXPECT_TRUE(SameContent(back->at("a"), tensors.at("a")));
    EXPECT_TRUE(SameContent(back->at("b"), tensors.at("b")));
  }
}

TEST_F(NpzTest, RefusesDamagedFiles) {
  EXPECT_EQ(ReadNpz("/no/such.npz").status().code(), absl::StatusCode::kNotFound);
  ASSERT_TRUE(WriteFile(path_, "not a zip").ok());
  EXPECT_EQ(ReadNpz(path_).status().code(), absl::StatusCode::kInvalidArgument);
  Write({{"a", HostTensor::Ints({1, 2, 3})}}, 9);
  const std::string whole = *ReadFile(path_, 1 << 20);
  for (size_t i = 0; i < whole.size(); ++i) {  // any answer but a crash
    std::string damaged = whole;
    damaged[i] ^= 0x5a;
    ASSERT_TRUE(WriteFile(path_, damaged).ok());
    static_cast<void>(ReadNpz(path_));
  }
}

}  // namespace
}  // namespace onnx_cudnn
