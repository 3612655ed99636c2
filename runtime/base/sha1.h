#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

namespace onnx_cudnn {

// SHA-1 of bytes that arrive in pieces (FIPS 180-4). For checksums that a file format requires, not
// for security.
class Sha1 {
 public:
  void Update(std::string_view bytes);
  std::string HexDigest() const;  // 40 lower-case digits, of all bytes so far

 private:
  void Block(const uint8_t* block);

  std::array<uint32_t, 5> state_ = {0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476, 0xc3d2e1f0};
  uint64_t bytes_ = 0;
  std::string rest_;  // less than a block
};

}  // namespace onnx_cudnn
