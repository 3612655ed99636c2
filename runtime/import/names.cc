#include "runtime/import/names.h"

#include "absl/strings/str_cat.h"
#include "runtime/base/printable.h"

namespace onnx_cudnn {
namespace {

constexpr size_t kMostNameBytes = 80;  // in a message

std::string Cut(std::string_view text, size_t limit) {
  if (text.size() <= limit) return Printable(text);
  std::string_view start = text.substr(0, limit);
  start.remove_suffix(UnfinishedBytes(start));
  return absl::StrCat(Printable(start), "...");
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
