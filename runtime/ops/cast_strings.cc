#include "runtime/ops/cast_strings.h"

#include <charconv>
#include <cmath>
#include <limits>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/charconv.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "runtime/base/printable.h"
#include "runtime/base/status.h"
#include "runtime/ops/evaluate.h"
#include "runtime/ops/strings.h"

namespace onnx_cudnn {
namespace {

constexpr DTypeSet kSigned = {DType::kI2, DType::kI4, DType::kI8, DType::kI16, DType::kI32};
constexpr DTypeSet kUnsigned = {DType::kU2, DType::kU4, DType::kU8, DType::kU16, DType::kU32};

// Cast of numbers, with the attributes of `node`.
absl::StatusOr<HostTensor> CastNumbers(const Node& node, HostTensor numbers, DType to) {
  if (numbers.dtype() == to) return numbers;
  const Type type = Type::Tensor(to, numbers.dims());
  Graph graph;
  NodeSpec spec{
      .op = "Cast", .inputs = {&graph.AddConstant(std::move(numbers))}, .attrs = node.attrs()};
  spec.attrs.Set("to", static_cast<int64_t>(to));
  Node& cast = graph.AddNode(std::move(spec));
  graph.SetType(cast.output(0), type);
  graph.AddOutput("y", cast.output(0));
  ASSIGN_OR_RETURN(const std::vector<HostTensor> results, Evaluate(graph, {}));
  return results[0];
}

template <typename T>
std::string Formatted(T number) {
  if constexpr (!std::is_integral_v<T>) {
    if (std::isnan(number)) return "NaN";
    if (std::isinf(number)) return number < 0 ? "-INF" : "INF";
    const T size = std::abs(number);
    const bool is_plain =
        size == 0 || (size >= static_cast<T>(1e-5) && size < static_cast<T>(1e16));
    char text[64];
    const auto format = is_plain ? std::chars_format::fixed : std::chars_format::scientific;
    return {text, std::to_chars(text, text + sizeof(text), number, format).ptr};
  } else {
    return absl::StrCat(number);
  }
}

template <typename T>
HostTensor FormattedAll(const HostTensor& numbers) {
  std::vector<std::string> strings;
  for (const T number : numbers.data<T>()) strings.push_back(Formatted(number));
  return HostTensor::Strings(numbers.dims(), std::move(strings));
}

absl::StatusOr<HostTensor> ToStrings(const Node& node) {
  const HostTensor& x = node.input(0).constant();
  constexpr int64_t kMostChars = 32;  // of one number
  if (x.elements() > kMostStringBytes / (static_cast<int64_t>(sizeof(std::string)) + kMostChars)) {
    return TooManyStrings();
  }
  const DType dtype = x.dtype();
  const bool is_integer =
      kSigned.Has(dtype) || kUnsigned.Has(dtype) || dtype == DType::kI64 || dtype == DType::kBool;
  if (dtype == DType::kF64) return FormattedAll<double>(x);
  if (dtype == DType::kU64) return FormattedAll<uint64_t>(x);
  if (is_integer) {
    ASSIGN_OR_RETURN(const HostTensor wide, CastNumbers(node, x, DType::kI64));
    return FormattedAll<int64_t>(wide);
  }
  ASSIGN_OR_RETURN(const HostTensor wide, CastNumbers(node, x, DType::kF32));
  return FormattedAll<float>(wide);
}

template <typename T>
bool ReadFloat(std::string_view text, T* number) {
  text = absl::StripAsciiWhitespace(text);
  if (absl::ConsumePrefix(&text, "+") && text.starts_with('-')) return false;
  if (text.find_first_of("xX") != std::string_view::npos) return false;  // from_chars reads 0x10
  const char* const end = text.data() + text.size();
  const absl::from_chars_result read = absl::from_chars(text.data(), end, *number);
  if (read.ec == std::errc::result_out_of_range) {
    const T limit = std::abs(*number) > 1 ? std::numeric_limits<T>::infinity() : T{0};
    *number = std::copysign(limit, *number);
  } else if (read.ec != std::errc()) {
    return false;
  }
  return read.ptr == end;
}

// T: int64_t or uint64_t. Text with a fraction or an exponent is read as a float.
template <typename T>
bool ReadInteger(std::string_view text, T least, T most, T* number) {
  if (absl::SimpleAtoi(text, number)) return *number >= least && *number <= most;
  double wide = 0;
  if (!ReadFloat(text, &wide)) return false;
  wide = std::trunc(wide);
  // Exact in f64, where `most` of 64 bits is not.
  const double end = std::ldexp(1.0, std::numeric_limits<T>::digits);
  if (!(wide >= static_cast<double>(std::numeric_limits<T>::min()) && wide < end)) return false;
  *number = static_cast<T>(wide);
  return *number >= least && *number <= most;
}

// read(text, &number) for each element.
template <typename T>
absl::StatusOr<HostTensor> ReadAll(const Node& node, DType dtype, auto read) {
  const HostTensor& x = node.input(0).constant();
  std::vector<T> numbers(x.strings().size());
  for (size_t i = 0; i < numbers.size(); ++i) {
    const std::string& text = x.strings()[i];
    if (read(text, &numbers[i])) continue;
    constexpr size_t kMostShown = 80;
    return absl::InvalidArgumentError(absl::StrCat(
        "element ", i, " is \"", Printable(std::string_view(text).substr(0, kMostShown)),
        "\", which is no number of ", NameOf(node.output(0).dtype())));
  }
  return HostTensor::Of<T>(dtype, x.dims(), numbers);
}

absl::StatusOr<HostTensor> ReadIntegers(const Node& node, int64_t least, int64_t most) {
  return ReadAll<int64_t>(node, DType::kI64, [&](std::string_view text, int64_t* number) {
    return ReadInteger<int64_t>(text, least, most, number);
  });
}

// The numbers in a type that holds those of the output's.
absl::StatusOr<HostTensor> ReadNumbers(const Node& node, DType to) {
  constexpr int64_t kLeast = std::numeric_limits<int64_t>::min();
  constexpr int64_t kMost = std::numeric_limits<int64_t>::max();
  if (to == DType::kI64 || to == DType::kBool) return ReadIntegers(node, kLeast, kMost);
  if (kSigned.Has(to)) {
    const int64_t end = int64_t{1} << (BitsOf(to) - 1);
    return ReadIntegers(node, -end, end - 1);
  }
  if (kUnsigned.Has(to)) return ReadIntegers(node, 0, (int64_t{1} << BitsOf(to)) - 1);
  if (to == DType::kU64) {
    return ReadAll<uint64_t>(node, to, [](std::string_view text, uint64_t* number) {
      return ReadInteger<uint64_t>(text, 0, std::numeric_limits<uint64_t>::max(), number);
    });
  }
  if (to == DType::kF32) return ReadAll<float>(node, to, ReadFloat<float>);
  return ReadAll<double>(node, DType::kF64, ReadFloat<double>);
}

}  // namespace

absl::StatusOr<HostTensor> CastStrings(const Node& node) {
  const HostTensor& x = node.input(0).constant();
  const DType to = node.output(0).dtype();
  if (x.dtype() != DType::kString) return ToStrings(node);
  if (to == DType::kString) return x;
  ASSIGN_OR_RETURN(HostTensor numbers, ReadNumbers(node, to));
  return CastNumbers(node, std::move(numbers), to);
}

}  // namespace onnx_cudnn
