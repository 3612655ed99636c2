#include "tools/common/npy.h"

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <numeric>
#include <optional>
#include <regex>
#include <sstream>
#include <vector>
#include <xtensor/xnpy.hpp>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "runtime/base/file.h"
#include "runtime/base/status.h"
#include "runtime/graph/float16.h"
#include "runtime/plan/format.h"
#include "tools/common/files.h"

namespace onnx_cudnn {
namespace {

struct NpyType {
  const char* code;  // NumPy's kind and size in bytes
  DType dtype;
};
constexpr NpyType kTypes[] = {{"f2", DType::kF16}, {"f4", DType::kF32},  {"f8", DType::kF64},
                              {"i1", DType::kI8},  {"i2", DType::kI16},  {"i4", DType::kI32},
                              {"i8", DType::kI64}, {"u1", DType::kU8},   {"u2", DType::kU16},
                              {"u4", DType::kU32}, {"u8", DType::kU64},  {"b1", DType::kBool},
                              {"c8", DType::kC64}, {"c16", DType::kC128}};

struct Header {
  DType dtype;
  Dims dims;
  bool fortran_order;
  size_t bytes;  // size of magic, length and header
};

uint32_t LittleEndian(std::string_view bytes) {
  uint32_t value = 0;
  for (size_t i = bytes.size(); i-- > 0;) value = value << 8 | static_cast<uint8_t>(bytes[i]);
  return value;
}

// Returns the header's text and sets `end` to the start of the elements. Parsed here, because
// xtensor misreads lengths with bytes above 127.
absl::StatusOr<std::string> HeaderText(std::string_view file, size_t& end) {
  constexpr size_t kMaxHeader = 4096;
  constexpr std::string_view kMagic = "\x93NUMPY";
  if (file.size() < 12 || file.substr(0, 6) != kMagic || file[6] < 1 || file[6] > 3) {
    return absl::InvalidArgumentError("not a .npy file of version 1, 2 or 3");
  }
  const size_t width = file[6] == 1 ? 2 : 4;
  const size_t length = LittleEndian(file.substr(8, width));
  end = 8 + width + length;
  if (length > kMaxHeader || end > file.size()) {
    return absl::InvalidArgumentError(
        absl::StrFormat("expected a .npy header of at most %d bytes, found %d in a file of %d",
                        kMaxHeader, length, file.size()));
  }
  return std::string(file.substr(8 + width, length));
}

absl::StatusOr<DType> DTypeOf(const std::string& descr) {
  for (const NpyType& type : kTypes) {
    if (descr.substr(1) == type.code) return type.dtype;
  }
  return absl::UnimplementedError(absl::StrCat("arrays of dtype ", descr, " are not read"));
}

absl::StatusOr<Header> ParseHeader(std::string_view file) {
  Header header;
  ASSIGN_OR_RETURN(const std::string text, HeaderText(file, header.bytes));
  // xtensor's parser does not validate its input: text that it would misread is rejected here.
  static const std::regex kForm(
      R"(\{'descr': *'[<|][a-z][0-9]{1,2}', *'fortran_order': *(True|False), *)"
      R"('shape': *\(([0-9]{1,18}(, *[0-9]{1,18}){0,31},?)?\),? *\} *\n)");
  if (!std::regex_match(text, kForm)) {
    return absl::InvalidArgumentError("the .npy header is not one of a little-endian array");
  }
  std::string descr;
  std::vector<size_t> shape;
  try {
    xt::detail::parse_header(text, descr, &header.fortran_order, shape);
  } catch (const std::exception& e) {
    return absl::InvalidArgumentError(absl::StrCat("bad .npy header: ", e.what()));
  }
  ASSIGN_OR_RETURN(header.dtype, DTypeOf(descr));
  header.dims.assign(shape.begin(), shape.end());
  return header;
}

HostTensor Widened(const HostTensor& tensor) {
  HostTensor wide = HostTensor::Allocate(DType::kF32, tensor.dims());
  std::transform(tensor.data<BFloat16>().begin(), tensor.data<BFloat16>().end(),
                 wide.mutable_data<float>().begin(), [](BFloat16 x) { return ToFloat(x); });
  return wide;
}

}  // namespace

absl::StatusOr<HostTensor> ParseNpy(std::string_view bytes) {
  ASSIGN_OR_RETURN(const Header header, ParseHeader(bytes));
  ASSIGN_OR_RETURN(const int64_t expected, CheckedBytes(header.dtype, header.dims));
  const std::string_view elements = bytes.substr(header.bytes);
  if (static_cast<int64_t>(elements.size()) != expected) {
    return absl::InvalidArgumentError(absl::StrFormat("expected %d bytes for %s%s, found %d",
                                                      expected, NameOf(header.dtype),
                                                      ToString(header.dims), elements.size()));
  }
  HostTensor tensor = HostTensor::Allocate(header.dtype, header.dims);
  if (!header.fortran_order) {
    std::memcpy(tensor.mutable_raw(), elements.data(), elements.size());
    return tensor;
  }
  std::vector<int> reversed(header.dims.size());
  std::iota(reversed.rbegin(), reversed.rend(), 0);
  Unpack(header.dtype, header.dims, elements.data(), Format::Permuted(header.dims, reversed),
         tensor.mutable_raw());
  return tensor;
}

absl::StatusOr<std::string> FormatNpy(const HostTensor& tensor) {
  if (tensor.dtype() == DType::kBF16) return FormatNpy(Widened(tensor));
  const auto* type = std::find_if(std::begin(kTypes), std::end(kTypes),
                                  [&](const NpyType& t) { return t.dtype == tensor.dtype(); });
  if (type == std::end(kTypes)) {
    return absl::UnimplementedError(
        absl::StrCat("NumPy has no dtype for ", NameOf(tensor.dtype())));
  }
  std::ostringstream out;
  xt::detail::write_header(out, absl::StrCat(BitsOf(type->dtype) == 8 ? "|" : "<", type->code),
                           /*fortran_order=*/false, tensor.dims());
  out.write(static_cast<const char*>(tensor.raw()), tensor.bytes());
  return std::move(out).str();
}

absl::StatusOr<HostTensor> ReadNpy(const std::string& path) {
  ASSIGN_OR_RETURN(const std::string bytes, ReadFile(path, kMaxInputFileBytes));
  absl::StatusOr<HostTensor> tensor = ParseNpy(bytes);
  if (!tensor.ok()) return Annotate(tensor.status(), path);
  return tensor;
}

absl::Status WriteNpy(const std::string& path, const HostTensor& tensor) {
  absl::StatusOr<std::string> bytes = FormatNpy(tensor);
  if (!bytes.ok()) return Annotate(bytes.status(), path);
  return WriteFile(path, *bytes);
}

absl::StatusOr<std::vector<std::string>> WriteArrays(const std::string& folder,
                                                     const std::vector<std::string>& names,
                                                     const NamedTensors& tensors) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) return absl::NotFoundError(absl::StrCat(folder, ": ", error.message()));
  std::vector<std::string> files;
  for (const std::string& name : FileNamesOf(names)) {
    files.push_back((std::filesystem::path(folder) / (name + ".npy")).string());
    RETURN_IF_ERROR(WriteNpy(files.back(), tensors.find(names[files.size() - 1])->second));
  }
  return files;
}

}  // namespace onnx_cudnn
