#include "runtime/base/sha1.h"

#include <gtest/gtest.h>

namespace onnx_cudnn {
namespace {

std::string DigestOf(std::string_view bytes) {
  Sha1 sha1;
  sha1.Update(bytes);
  return sha1.HexDigest();
}

TEST(Sha1Test, GivesTheStandardsDigests) {  // FIPS 180-4, and a million of 'a'
  EXPECT_EQ(DigestOf(""), "da39a3ee5e6b4b0d3255bfef95601890afd80709");
  EXPECT_EQ(DigestOf("abc"), "a9993e364706816aba3e25717850c26c9cd0d89d");
  EXPECT_EQ(DigestOf("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"),
            "84983e441c3bd26ebaae4aa1f95129e5e54670f1");
  EXPECT_EQ(DigestOf(std::string(1'000'000, 'a')), "34aa973cd4c4daa4f61eeb2bdbad27316534016f");
}

TEST(Sha1Test, DoesNotDependOnThePieces) {
  const std::string bytes(300, 'x');
  for (size_t piece : {1, 7, 63, 64, 65, 200}) {
    Sha1 sha1;
    for (size_t at = 0; at < bytes.size(); at += piece) sha1.Update(bytes.substr(at, piece));
    EXPECT_EQ(sha1.HexDigest(), DigestOf(bytes)) << piece;
  }
}

}  // namespace
}  // namespace onnx_cudnn
