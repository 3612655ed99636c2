#include "runtime/base/printable.h"

#include <algorithm>

#include "absl/strings/str_format.h"

namespace onnx_cudnn {
namespace {

struct Range {
  uint32_t first, last;
};
// Control and format characters and line ends of Unicode that no script needs.
constexpr Range kHidden[] = {
    {0x00, 0x1f},     {0x7f, 0x9f},     {0xad, 0xad},       {0x61c, 0x61c},
    {0x180e, 0x180e}, {0x200b, 0x200f}, {0x2028, 0x202e},   {0x2060, 0x206f},
    {0xfeff, 0xfeff}, {0xfff9, 0xfffb}, {0xe0000, 0xe007f},
};

bool IsHidden(uint32_t c) {
  return std::any_of(std::begin(kHidden), std::end(kHidden),
                     [c](const Range& r) { return r.first <= c && c <= r.last; });
}

// The length in bytes of the character that starts with `lead`; 0: no character does.
size_t LengthOf(unsigned char lead) {
  if (lead < 0x80) return 1;
  if (lead < 0xc2) return 0;  // a continuation byte, or an overlong encoding
  if (lead < 0xe0) return 2;
  if (lead < 0xf0) return 3;
  return lead < 0xf5 ? 4 : 0;
}

struct Character {
  uint32_t code;
  size_t bytes;  // 0: `text` does not start with a character
};

Character FirstOf(std::string_view text) {
  constexpr uint32_t kLeast[] = {0, 0, 0x80, 0x800, 0x10000};
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  const size_t bytes = LengthOf(byte(0));
  if (bytes == 0 || bytes > text.size()) return {};
  if (bytes == 1) return {byte(0), 1};
  uint32_t code = byte(0) & (0x7f >> bytes);
  for (size_t i = 1; i < bytes; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return {};
    code = code << 6 | (byte(i) & 0x3f);
  }
  const bool is_surrogate = code >= 0xd800 && code <= 0xdfff;
  if (code < kLeast[bytes] || is_surrogate || code > 0x10ffff) return {};
  return {code, bytes};
}

std::string InJson(uint32_t code) {
  if (code < 0x10000) return absl::StrFormat("\\u%04x", code);
  const uint32_t pair = code - 0x10000;  // surrogate pair
  return absl::StrFormat("\\u%04x\\u%04x", 0xd800 + (pair >> 10), 0xdc00 + (pair & 0x3ff));
}

}  // namespace

std::string Printable(std::string_view text, Escaped what) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const auto [code, bytes] = FirstOf(text);
    const bool stays = what != Escaped::kName && (code == '\n' || code == '\t');
    if (bytes == 0) {
      absl::StrAppendFormat(&out, "\\x%02x", static_cast<unsigned char>(text[0]));
    } else if (!IsHidden(code) || stays) {
      out.append(text.substr(0, bytes));
    } else if (what == Escaped::kJson) {
      out += InJson(code);
    } else if (code < 0x80) {
      absl::StrAppendFormat(&out, "\\x%02x", code);
    } else {
      absl::StrAppendFormat(&out, "\\u{%x}", code);
    }
    text.remove_prefix(std::max<size_t>(bytes, 1));
  }
  return out;
}

size_t UnfinishedBytes(std::string_view text) {
  for (size_t back = 1; back <= std::min<size_t>(3, text.size()); ++back) {
    const auto byte = static_cast<unsigned char>(text[text.size() - back]);
    if ((byte & 0xc0) == 0x80) continue;
    return LengthOf(byte) > back ? back : 0;
  }
  return 0;
}

}  // namespace onnx_cudnn
