#include "runtime/base/sha1.h"

#include <algorithm>
#include <bit>

#include "absl/strings/escaping.h"

namespace onnx_cudnn {
namespace {

constexpr size_t kBlock = 64;

// The function and constant of each 20 rounds.
uint32_t Mix(int round, uint32_t b, uint32_t c, uint32_t d) {
  if (round < 20) return ((b & c) | (~b & d)) + 0x5a827999;
  if (round < 40) return (b ^ c ^ d) + 0x6ed9eba1;
  if (round < 60) return ((b & c) | (b & d) | (c & d)) + 0x8f1bbcdc;
  return (b ^ c ^ d) + 0xca62c1d6;
}

void AppendBigEndian(std::string& to, uint64_t value, int bytes) {
  for (int i = bytes - 1; i >= 0; --i) to += static_cast<char>(value >> (8 * i));
}

}  // namespace

void Sha1::Block(const uint8_t* block) {
  std::array<uint32_t, 80> w;
  for (int i = 0; i < 16; ++i, block += 4) {
    w[i] = uint32_t{block[0]} << 24 | uint32_t{block[1]} << 16 | uint32_t{block[2]} << 8 | block[3];
  }
  for (int i = 16; i < 80; ++i) w[i] = std::rotl(w[i - 3] ^ w[i - 8] ^ w[i - 14] ^ w[i - 16], 1);
  auto [a, b, c, d, e] = state_;
  for (int i = 0; i < 80; ++i) {
    const uint32_t next = std::rotl(a, 5) + Mix(i, b, c, d) + e + w[i];
    e = d;
    d = c;
    c = std::rotl(b, 30);
    b = a;
    a = next;
  }
  state_ = {state_[0] + a, state_[1] + b, state_[2] + c, state_[3] + d, state_[4] + e};
}

void Sha1::Update(std::string_view bytes) {
  bytes_ += bytes.size();
  if (!rest_.empty()) {
    const size_t taken = std::min(kBlock - rest_.size(), bytes.size());
    rest_.append(bytes.substr(0, taken));
    bytes.remove_prefix(taken);
    if (rest_.size() < kBlock) return;
    Block(reinterpret_cast<const uint8_t*>(rest_.data()));
    rest_.clear();
  }
  for (; bytes.size() >= kBlock; bytes.remove_prefix(kBlock)) {
    Block(reinterpret_cast<const uint8_t*>(bytes.data()));
  }
  rest_ = bytes;
}

std::string Sha1::HexDigest() const {
  Sha1 last = *this;
  std::string padding = "\x80";
  while ((rest_.size() + padding.size()) % kBlock != kBlock - 8) padding += '\0';
  AppendBigEndian(padding, bytes_ * 8, 8);
  last.Update(padding);
  std::string digest;
  for (uint32_t word : last.state_) AppendBigEndian(digest, word, 4);
  return absl::BytesToHexString(digest);
}

}  // namespace onnx_cudnn
