#include "runtime/import/names.h"

#include "absl/strings/str_cat.h"

namespace onnx_cudnn {
namespace {

constexpr size_t kMostNameBytes = 80;  // in a message

std::string Cut(std::string_view text, size_t limit) {
  std::string out(text.substr(0, limit));
  for (char& c : out) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = '?';
  }
  if (text.size() > limit) out += "...";
  return out;
}

}  // namespace

std::string Short(std::string_view name) { return Cut(name, kMostNameBytes); }

std::string Quoted(std::string_view name) { return absl::StrCat("\"", Short(name), "\""); }

std::string WhereOf(std::string_view op, std::string_view name) {
  if (name.empty()) return absl::StrCat("node (", Short(op), ")");
  return absl::StrCat("node ", Quoted(name), " (", Short(op), ")");
}

std::string Clean(std::string_view text) {
  std::string out;
  for (char c : text) out += c == '\n' || c == '\t' ? ' ' : c;
  while (!out.empty() && out.back() == ' ') out.pop_back();
  return Cut(out, 400);
}

}  // namespace onnx_cudnn
