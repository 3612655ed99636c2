#include <algorithm>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "runtime/base/printable.h"
#include "runtime/base/status.h"
#include "runtime/ops/op_def.h"
#include "utf8proc.h"

namespace onnx_cudnn {
namespace {

using Strings = std::vector<std::string>;

absl::StatusOr<std::u32string> Decode(std::string_view text) {
  std::u32string points;
  for (size_t at = 0; at < text.size();) {
    utf8proc_int32_t point = 0;
    const auto* bytes = reinterpret_cast<const utf8proc_uint8_t*>(text.data()) + at;
    const utf8proc_ssize_t read =
        utf8proc_iterate(bytes, static_cast<utf8proc_ssize_t>(text.size() - at), &point);
    if (read < 1) return absl::InvalidArgumentError(absl::StrCat("byte ", at, " is not UTF-8"));
    points.push_back(static_cast<char32_t>(point));
    at += read;
  }
  return points;
}

std::string Encode(const std::u32string& points) {
  std::string text;
  for (const char32_t point : points) {
    utf8proc_uint8_t bytes[4];
    text.append(reinterpret_cast<const char*>(bytes),
                utf8proc_encode_char(static_cast<utf8proc_int32_t>(point), bytes));
  }
  return text;
}

// Equal for strings that differ in case alone; a ß is an ss.
std::u32string Folded(char32_t point) {
  utf8proc_int32_t folded[8];
  const utf8proc_ssize_t count = utf8proc_decompose_char(
      static_cast<utf8proc_int32_t>(point), folded, std::size(folded), UTF8PROC_CASEFOLD, nullptr);
  return count < 1 ? std::u32string(1, point) : std::u32string(folded, folded + count);
}

std::u32string Lower(char32_t point) {
  if (point == U'İ') return U"i\u0307";  // the only one that becomes several
  const utf8proc_int32_t lower = utf8proc_tolower(static_cast<utf8proc_int32_t>(point));
  return std::u32string(1, static_cast<char32_t>(lower));
}

// utf8proc_toupper gives one character: those that have several (ß, ﬁ, ᾳ) are those that fold to
// several and are no capitals.
std::u32string Upper(char32_t point) {
  std::u32string upper = Folded(point);
  const bool is_capital =
      utf8proc_category(static_cast<utf8proc_int32_t>(point)) == UTF8PROC_CATEGORY_LU;
  if (upper.size() == 1 || is_capital) upper = std::u32string(1, point);
  for (char32_t& p : upper) {
    p = static_cast<char32_t>(utf8proc_toupper(static_cast<utf8proc_int32_t>(p)));
  }
  return upper;
}

absl::StatusOr<std::string> Mapped(std::string_view text, std::u32string (*map)(char32_t point)) {
  ASSIGN_OR_RETURN(const std::u32string points, Decode(text));
  std::u32string mapped;
  for (const char32_t point : points) mapped += map(point);
  return Encode(mapped);
}

// What a StringNormalizer does to each string.
struct Normalizer {
  std::string action;
  bool is_case_sensitive;
  Strings stopwords;

  absl::StatusOr<std::string> Compared(const std::string& s) const {
    if (is_case_sensitive || stopwords.empty()) return s;
    return Mapped(s, Folded);
  }
  absl::StatusOr<std::string> Changed(const std::string& s) const {
    if (action == "NONE") return s;
    return Mapped(s, action == "UPPER" ? Upper : Lower);
  }
};

absl::StatusOr<Normalizer> NormalizerOf(const Node& node) {
  Normalizer normalizer{.action = node.attrs().String("case_change_action", "NONE"),
                        .is_case_sensitive = node.attrs().Int("is_case_sensitive", 0) != 0,
                        .stopwords = {}};
  if (const auto* stopwords = node.attrs().Get<Strings>("stopwords"))
    normalizer.stopwords = *stopwords;
  const std::string& action = normalizer.action;
  if (action == "NONE" || action == "LOWER" || action == "UPPER") return normalizer;
  return absl::InvalidArgumentError(absl::StrCat("case_change_action is \"", action, "\""));
}

// Unicode's mapping is the same for all languages but these (SpecialCasing.txt).
Support CheckLocale(const Node& node) {
  constexpr std::string_view kOwnRules[] = {"az", "aze", "lt", "lit", "tr", "tur"};
  const std::string locale = node.attrs().String("locale", "en_US");
  const std::string language =
      absl::AsciiStrToLower(locale.substr(0, locale.find_first_of("_-.@")));
  if (!absl::c_linear_search(kOwnRules, language)) return Support::Yes();
  return Support::No(
      absl::StrCat("locale \"", Printable(locale),
                   "\": the language has rules of its own for upper and lower case"));
}

absl::StatusOr<Strings> Normalized(const Normalizer& normalizer, const Strings& strings) {
  std::set<std::string> stopwords;
  for (size_t i = 0; i < normalizer.stopwords.size(); ++i) {
    const auto word = normalizer.Compared(normalizer.stopwords[i]);
    if (!word.ok()) return Annotate(word.status(), absl::StrCat("stopword ", i));
    stopwords.insert(*word);
  }
  Strings kept;
  for (size_t i = 0; i < strings.size(); ++i) {
    const std::string element = absl::StrCat("element ", i);
    const auto compared = normalizer.Compared(strings[i]);
    if (!compared.ok()) return Annotate(compared.status(), element);
    if (stopwords.contains(*compared)) continue;
    auto changed = normalizer.Changed(strings[i]);
    if (!changed.ok()) return Annotate(changed.status(), element);
    kept.push_back(*std::move(changed));
  }
  if (kept.empty()) kept.emplace_back();
  return kept;
}

absl::StatusOr<std::vector<HostTensor>> NormalizeStrings(const Node& node) {
  const HostTensor& x = node.input(0).constant();
  Dims dims = x.dims();
  if (dims.size() != 1 && !(dims.size() == 2 && dims[0] == 1)) {
    return absl::InvalidArgumentError(
        absl::StrCat("expected dims [C] or [1,C], found ", ToString(absl::MakeConstSpan(dims))));
  }
  ASSIGN_OR_RETURN(const Normalizer normalizer, NormalizerOf(node));
  ASSIGN_OR_RETURN(Strings kept, Normalized(normalizer, x.strings()));
  dims.back() = static_cast<int64_t>(kept.size());
  return std::vector<HostTensor>{HostTensor::Strings(std::move(dims), std::move(kept))};
}

}  // namespace

OpDef StringNormalizerOp() {
  return {.types = {DType::kString}, .check = CheckLocale, .evaluate = NormalizeStrings};
}

}  // namespace onnx_cudnn
