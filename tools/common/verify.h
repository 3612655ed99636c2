// Comparing outputs with expected ones, for --verify.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "onnx_cudnn/session.h"
#include "runtime/exec/compare.h"
#include "runtime/graph/host_tensor.h"
#include "tools/common/npy.h"

namespace onnx_cudnn {

// |difference| ≤ rtol × |expected| + atol × the output's largest |expected|; differences of at most
// `absolute` never count.
struct VerifyTolerance {
  double rtol = 0, atol = 0, absolute = 0;
  std::string of;  // what it is for: "f32", "fp16", "exact", "as given"
};

// The tolerance for an output of `dtype` of a run with f32 arithmetic in `precision`, where the
// flags do not give one. f32 and f64: ONNX's own rtol (1e-3) and absolute tolerance (1e-7), and
// 1e-5 of the largest element, since elements near zero are sums of larger ones. tf32, f16 and
// bf16: what tests/e2e/agreement_test.py allows. Small floats: rtol alone. Other types are compared
// exactly.
VerifyTolerance ToleranceFor(DType dtype, PrecisionChoice precision, std::optional<double> rtol,
                             std::optional<double> atol);

// Compares tensors of any type that a file can hold. Strings that differ are counted; small floats
// and integers are compared as numbers, complex numbers part by part. Elements within
// tolerance.absolute are not counted.
absl::StatusOr<Difference> CompareOutputs(const HostTensor& found, const HostTensor& expected,
                                          const VerifyTolerance& tolerance);

struct VerifyReport {
  std::string output;
  Difference difference;
  VerifyTolerance tolerance;
  ErrorFigures figures;  // of numbers of equal type
};

// Compares each output in `expected` with that in `found`, within ToleranceFor its type.
absl::StatusOr<std::vector<VerifyReport>> VerifyOutputs(const NamedTensors& expected,
                                                        const NamedTensors& found,
                                                        PrecisionChoice precision,
                                                        std::optional<double> rtol,
                                                        std::optional<double> atol);

// After a number of elements: "beyond rtol 0.001 + atol 1e-05 x largest (f32)", "that differ
// (exact)"
std::string ToString(const VerifyTolerance& tolerance);

}  // namespace onnx_cudnn
