// Cases of ops with results computed by hand. Any device that runs the op must agree.
#pragma once

#include <cmath>
#include <initializer_list>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "tests/ops/run_op.h"

namespace onnx_cudnn {

struct OpCase {
  std::string op;
  std::vector<HostTensor> inputs;  // HostTensor() is an absent one
  Attrs attrs = {};
  std::vector<HostTensor> expected = {};  // NaN equals NaN
  std::string error = {};                 // instead of `expected`: a part of the message
  double tolerance = 0;                   // relative to max(1, |expected|)
  std::string domain = {};
};

std::vector<OpCase> PointwiseCases();
std::vector<OpCase> MovementCases();  // shapes, copies, indices
std::vector<OpCase> MovementErrorCases();
std::vector<OpCase> NumericCases();  // products, pools, normalizations, reductions, Resize
std::vector<OpCase> ContribCases();  // of com.microsoft
std::vector<OpCase> QuantizedCases();
std::vector<OpCase> SequenceCases();  // recurrent ops, moves within sequences, spectra
std::vector<OpCase> SamplingCases();  // images read or written at computed places
// Ops with OpDef::evaluate, which need constant inputs (data_dependent_test.cc runs them). An
// expected HostTensor() is an absent output.
std::vector<OpCase> DataDependentCases();

inline std::vector<OpCase> Joined(std::initializer_list<std::vector<OpCase> (*)()> tables) {
  std::vector<OpCase> all;
  for (const auto table : tables) {
    for (OpCase& c : table()) all.push_back(std::move(c));
  }
  return all;
}
// Of all ops of ONNX with a reference; all but MovementErrorCases.
inline std::vector<OpCase> AllCases() {
  return Joined(
      {PointwiseCases, MovementCases, NumericCases, QuantizedCases, SequenceCases, SamplingCases});
}

inline constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
inline constexpr double kInf = std::numeric_limits<double>::infinity();

inline HostTensor I64(Dims dims, const std::vector<double>& values) {
  return TensorOf(DType::kI64, std::move(dims), values);
}
inline HostTensor I32(Dims dims, const std::vector<double>& values) {
  return TensorOf(DType::kI32, std::move(dims), values);
}
inline HostTensor Bools(Dims dims, const std::vector<double>& values) {
  return TensorOf(DType::kBool, std::move(dims), values);
}
inline HostTensor U8(Dims dims, const std::vector<double>& values) {
  return TensorOf(DType::kU8, std::move(dims), values);
}
inline HostTensor I8(Dims dims, const std::vector<double>& values) {
  return TensorOf(DType::kI8, std::move(dims), values);
}
// One-dimensional.
inline HostTensor Row(const std::vector<double>& values) {
  return F32({static_cast<int64_t>(values.size())}, values);
}
inline HostTensor RowI(const std::vector<double>& values) {
  return I64({static_cast<int64_t>(values.size())}, values);
}
inline HostTensor RowB(const std::vector<double>& values) {
  return Bools({static_cast<int64_t>(values.size())}, values);
}

}  // namespace onnx_cudnn
