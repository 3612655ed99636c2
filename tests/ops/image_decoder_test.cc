// The decoders of image files. ONNX's vectors hold one photograph-like image per format; here are
// the forms beside, and damaged files.
#include "runtime/ops/image_decoder.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"

namespace onnx_cudnn {
namespace {

using Samples = std::vector<int>;

absl::StatusOr<HostTensor> Decode(const std::string& file) {
  return DecodeImage({reinterpret_cast<const uint8_t*>(file.data()), file.size()});
}

void ExpectImage(const std::string& file, const Dims& dims, const Samples& samples) {
  const absl::StatusOr<HostTensor> image = Decode(file);
  ASSERT_TRUE(image.ok()) << image.status();
  EXPECT_EQ(image->dims(), dims);
  const auto found = image->data<uint8_t>();
  EXPECT_EQ(Samples(found.begin(), found.end()), samples);
}

std::string Bytes(std::string_view hex) {
  std::string bytes;
  EXPECT_TRUE(absl::HexStringToBytes(hex, &bytes));
  return bytes;
}

// Two rows of two pixels without loss, as Pillow writes them.
const Samples kFour = {255, 0, 0, 0, 255, 0, 0, 0, 255, 10, 20, 30};
struct Written {
  const char* format;
  const char* hex;
};
constexpr Written kWritten[] = {
    {"BMP",
     "424d460000000000000036000000280000000200000002000000010018000000000010000000c40e0000c40e0000"
     "0000000000000000ff00001e140a00000000ff00ff000000"},
    {"PNG",
     "89504e470d0a1a0a0000000d4948445200000002000000020802000000fdd49a730000001649444154789c63f8cf"
     "c0c0f09f818181e13f97881c001a58033a82e0ab530000000049454e44ae426082"},
    {"PNG with alpha",
     "89504e470d0a1a0a0000000d494844520000000200000002080600000072b60d240000001a49444154789c63f8cf"
     "c0c0c0f09fa1818181e1ff7f2e113966002d8d04bc7689895c0000000049454e44ae426082"},
    {"TIFF, LZW",
     "49492a0014000000803fc01038141014140f40400a00000103000100000002000000010103000100000002000000"
     "02010300030000009200000003010300010000000500000006010300010000000200000011010400010000000800"
     "000015010300010000000300000016010300010000000200000017010400010000000c0000001c01030001000000"
     "0100000000000000080008000800"},
    {"WebP",
     "5249464632000000574542505650384c260000002f014000001f20102078f0bf6a434890d0fdbf578100c188ff4b"
     "f31ff8e4a8e0060c11fd0f01"},
    {"JPEG 2000",
     "0000000c6a5020200d0a870a00000014667479706a703220000000006a7032200000002d6a703268000000166968"
     "647200000002000000020003070700000000000f636f6c7201000000000010000000c56a703263ff4fff51002f00"
     "0000000002000000020000000000000000000000020000000200000000000000000003070101070101070101ff52"
     "000c00000001000104040001ff5c00074040484850ff640025000143726561746564206279204f70656e4a504547"
     "2076657273696f6e20322e352e34ff90000a00000000004a0001ff93c7d40409bfc7d404098fc7d4040977c7da05"
     "1f6814fcc08009bf09b70497cfc00a3ed028fc0080047b097f0981c7da053f0028fc0080097704710979ffd9"},
};

TEST(ImageDecoderTest, FormatsWithoutLossGiveEqualPixels) {
  for (const Written& written : kWritten) {
    SCOPED_TRACE(written.format);
    ExpectImage(Bytes(written.hex), {2, 2, 3}, kFour);
  }
}

// Whatever a damaged file gives, it is an error or an image.
TEST(ImageDecoderTest, AFileThatEndsEarlyIsAnError) {
  for (const Written& written : kWritten) {
    SCOPED_TRACE(written.format);
    const std::string file = Bytes(written.hex);
    for (size_t length = 0; length < file.size(); ++length) {
      const absl::StatusOr<HostTensor> image = Decode(file.substr(0, length));
      const bool is_refused = !image.ok() && (absl::IsInvalidArgument(image.status()) ||
                                              absl::IsUnimplemented(image.status()));
      EXPECT_TRUE(image.ok() || is_refused) << length << ": " << image.status();
      EXPECT_FALSE(image.ok() && length < file.size() / 2) << length;
    }
  }
}

TEST(ImageDecoderTest, AnyByteMayBeWrong) {
  for (const Written& written : kWritten) {
    const std::string file = Bytes(written.hex);
    for (size_t i = 2; i < file.size(); ++i) {
      for (const int flip : {0x01, 0x80, 0xff}) {
        std::string wrong = file;
        wrong[i] = static_cast<char>(wrong[i] ^ flip);
        const absl::StatusOr<HostTensor> image = Decode(wrong);
        EXPECT_TRUE(!image.ok() || image->dims().back() == 3);
      }
    }
  }
}

TEST(ImageDecoderTest, PnmAsTextBitsAndWords) {
  ExpectImage("P1\n# a comment\n3 1\n010", {1, 3, 3}, {255, 255, 255, 0, 0, 0, 255, 255, 255});
  ExpectImage("P4\n3 1\n\x40", {1, 3, 3}, {255, 255, 255, 0, 0, 0, 255, 255, 255});
  ExpectImage("P2 2 1 3 0 2\n", {1, 2, 3}, {0, 0, 0, 170, 170, 170});
  ExpectImage("P3 1 1 255 7 8 9\n", {1, 1, 3}, {7, 8, 9});
  ExpectImage(std::string("P5 1 1 65535\n\x80\x80", 15), {1, 1, 3}, {128, 128, 128});
}

std::string Little(uint32_t value, int bytes) {
  std::string text;
  for (; bytes > 0; --bytes, value >>= 8) text.push_back(static_cast<char>(value));
  return text;
}

std::string Bmp(int width, int height, int bits, int compression, const std::string& rest) {
  return absl::StrCat("BM", Little(0, 8), Little(54 + 8 * (bits == 1), 4), Little(40, 4),
                      Little(width, 4), Little(height, 4), Little(1, 2), Little(bits, 2),
                      Little(compression, 4), Little(0, 20), rest);
}

TEST(ImageDecoderTest, BmpWithAPaletteAndFromTheTop) {
  const std::string palette = {3, 2, 1, 0, 6, 5, 4, 0};
  ExpectImage(Bmp(2, -2, 1, 0, palette + Little(0x40, 4) + Little(0x80, 4)), {2, 2, 3},
              {1, 2, 3, 4, 5, 6, 4, 5, 6, 1, 2, 3});
  ExpectImage(Bmp(1, 1, 32, 0, Little(0x09010203, 4)), {1, 1, 3}, {1, 2, 3});
}

TEST(ImageDecoderTest, SaysWhatIsNotTaken) {
  const struct {
    std::string file;
    const char* message;
  } rows[] = {
      {Bmp(2, 2, 8, 1, ""), "found 8 with compression 1"},
      {Bmp(1 << 20, 1 << 20, 24, 0, ""), "expected an image of 1 to 100000000 pixels"},
      {Bmp(2, 2, 24, 0, "abc"), "damaged BMP: it ends early"},
      {"P6 1 1 70000\n", "damaged PNM"},
      {"P6 100000 100000 255\n", "found 100000 x 100000"},
      {"GIF89a", "6 bytes are no BMP"},
  };
  for (const auto& row : rows) {
    const absl::StatusOr<HostTensor> image = Decode(row.file);
    ASSERT_FALSE(image.ok()) << row.message;
    EXPECT_NE(image.status().message().find(row.message), std::string::npos) << image.status();
  }
}

}  // namespace
}  // namespace onnx_cudnn
