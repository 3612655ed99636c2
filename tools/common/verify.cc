#include "tools/common/verify.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "runtime/base/status.h"
#include "runtime/ops/small_types.h"

namespace onnx_cudnn {
namespace {

constexpr double kOnnxRtol = 1e-3, kOnnxAbsolute = 1e-7;  // of onnx.backend.test.runner

HostTensor AsFloats(const HostTensor& tensor) {
  HostTensor floats = HostTensor::Allocate(DType::kF32, tensor.dims());
  LoadSmall(tensor.dtype(), tensor.raw(), 0, tensor.elements(),
            floats.mutable_data<float>().data());
  return floats;
}

// Real and imaginary parts as a last dim of 2.
HostTensor Parts(const HostTensor& complex) {
  Dims dims = complex.dims();
  dims.push_back(2);
  const DType dtype = complex.dtype() == DType::kC64 ? DType::kF32 : DType::kF64;
  return HostTensor::Borrow(dtype, std::move(dims), complex.raw(),
                            std::make_shared<HostTensor>(complex));
}

// Small types as f32, complex numbers by their parts.
HostTensor AsNumbers(const HostTensor& tensor) {
  const DType dtype = tensor.dtype();
  if (kSmallTypes.Has(dtype)) return AsFloats(tensor);
  return dtype == DType::kC64 || dtype == DType::kC128 ? Parts(tensor) : tensor;
}

Difference CompareStrings(const HostTensor& found, const HostTensor& expected) {
  Difference difference;
  for (size_t i = 0; i < expected.strings().size(); ++i) {
    if (found.strings()[i] != expected.strings()[i]) ++difference.beyond;
  }
  return difference;
}

VerifyTolerance DefaultTolerance(DType dtype, PrecisionChoice precision) {
  if (kSmallFloatTypes.Has(dtype)) return {kOnnxRtol, 0, kOnnxAbsolute, std::string(NameOf(dtype))};
  const bool is_complex = dtype == DType::kC64 || dtype == DType::kC128;
  if (!kFloatTypes.Has(dtype) && !is_complex) return {.of = "exact"};
  if (dtype == DType::kBF16 || precision == PrecisionChoice::kBf16) {
    return {0x1p-6, 8e-2, kOnnxAbsolute, "bf16"};  // ONNX's runner allows two units of bf16
  }
  if (dtype == DType::kF16 || precision == PrecisionChoice::kFp16) {
    return {kOnnxRtol, 5e-2, kOnnxAbsolute, "fp16"};
  }
  if (precision == PrecisionChoice::kTf32) return {2e-3, 2e-2, kOnnxAbsolute, "tf32"};
  return {kOnnxRtol, 1e-5, kOnnxAbsolute, std::string(NameOf(dtype))};
}

}  // namespace

VerifyTolerance ToleranceFor(DType dtype, PrecisionChoice precision, std::optional<double> rtol,
                             std::optional<double> atol) {
  VerifyTolerance tolerance = DefaultTolerance(dtype, precision);
  if (tolerance.of == "exact" || (!rtol.has_value() && !atol.has_value())) return tolerance;
  tolerance.rtol = rtol.value_or(tolerance.rtol);
  if (atol.has_value()) {
    tolerance.atol = *atol;
    tolerance.absolute = 0;
  }
  tolerance.of = rtol.has_value() && atol.has_value()
                     ? "as given"
                     : absl::StrCat(rtol.has_value() ? "atol" : "rtol", " of ", tolerance.of);
  return tolerance;
}

absl::StatusOr<Difference> CompareOutputs(const HostTensor& found, const HostTensor& expected,
                                          const VerifyTolerance& tolerance) {
  const DType dtype = expected.dtype();
  const bool are_alike = found.dtype() == dtype && found.dims() == expected.dims();
  if (are_alike && dtype == DType::kString) return CompareStrings(found, expected);
  ASSIGN_OR_RETURN(
      Difference difference,
      are_alike ? Compare(AsNumbers(found), AsNumbers(expected), tolerance.rtol, tolerance.atol)
                : Compare(found, expected, tolerance.rtol, tolerance.atol));
  if (difference.largest <= tolerance.absolute) difference.beyond = 0;
  return difference;
}

absl::StatusOr<std::vector<VerifyReport>> VerifyOutputs(const NamedTensors& expected,
                                                        const NamedTensors& found,
                                                        PrecisionChoice precision,
                                                        std::optional<double> rtol,
                                                        std::optional<double> atol) {
  std::vector<VerifyReport> reports;
  for (const auto& [name, tensor] : expected) {
    const VerifyTolerance tolerance = ToleranceFor(tensor.dtype(), precision, rtol, atol);
    const HostTensor& output = found.find(name)->second;
    ASSIGN_OR_RETURN(const Difference difference, CompareOutputs(output, tensor, tolerance));
    VerifyReport& report = reports.emplace_back(VerifyReport{name, difference, tolerance});
    if (!difference.type.empty() || tensor.dtype() == DType::kString) continue;
    ASSIGN_OR_RETURN(report.figures, FiguresOf(AsNumbers(output), AsNumbers(tensor)));
  }
  return reports;
}

std::string ToString(const VerifyTolerance& tolerance) {
  if (tolerance.of == "exact") return "that differ (exact)";
  return absl::StrFormat("beyond rtol %g + atol %g x largest (%s)", tolerance.rtol, tolerance.atol,
                         tolerance.of);
}

}  // namespace onnx_cudnn
