#include "tests/random/compare.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "absl/strings/str_format.h"
#include "tests/ops/run_op.h"

namespace onnx_cudnn {

double ToleranceOf(DType dtype, DType lowest) {
  switch (dtype == DType::kF64 || dtype == DType::kF32 ? lowest : dtype) {
    case DType::kF32:
      return 1e-4;
    case DType::kF16:
      return 3e-2;
    case DType::kBF16:
      return 2.4e-1;
    default:
      return 0;
  }
}

double Magnitude(const HostTensor& tensor) {
  double largest = 1;
  for (const double x : NumbersOf(tensor).values) largest = std::max(largest, std::fabs(x));
  return largest;
}

std::string Difference(const HostTensor& expected, const HostTensor& actual, double share) {
  if (actual.dtype() != expected.dtype() || actual.dims() != expected.dims()) {
    const auto text = [](const HostTensor& t) {
      return ToString(Type::Tensor(t.dtype(), t.dims()));
    };
    return absl::StrFormat("is %s instead of %s", text(actual), text(expected));
  }
  const std::vector<double> want = NumbersOf(expected).values, got = NumbersOf(actual).values;
  const double tolerance = share == 0 ? 0 : share * Magnitude(expected);
  for (size_t i = 0; i < want.size(); ++i) {
    if (std::fabs(want[i] - got[i]) <= tolerance) continue;
    return absl::StrFormat("element %d is %g instead of %g", i, got[i], want[i]);
  }
  return "";
}

}  // namespace onnx_cudnn
