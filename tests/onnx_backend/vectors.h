// ONNX's backend test vectors: models with inputs and the outputs of ONNX's reference.
#pragma once

#include <ostream>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "onnx_cudnn/session.h"
#include "tools/common/expected.h"

namespace onnx_cudnn {

// The allowed difference of an output: for floats |difference| ≤ relative × |expected| + of_largest
// × the output's largest |expected|, or `absolute`; for integers `units`. As in ONNX's runner,
// except for "largest".
struct VectorTolerance {
  double relative = 1e-3, of_largest = 1e-7, absolute = 1e-7;
  double units = 0;
};

struct TestVector {
  std::string name;                    // node/test_add
  std::string model;                   // path
  std::vector<std::string> data_sets;  // folders with input_N.pb and output_N.pb; none: inputs are
                                       // made up and the output lies beside the model
  VectorTolerance tolerance = {};
};
void PrintTo(const TestVector& vector, std::ostream* out);  // its name

// The vectors in a folder of onnx/backend/test/data ("node", "simple", …), sorted by name; none if
// there is no such folder. The environment's ONNX_CUDNN_VECTORS takes the place of the data of the
// pinned wheel.
std::vector<TestVector> FindVectors(const std::string& group);

// Inputs and outputs of each data set. Errors as for ReadExpected, except that a data set may have
// no output: then only inputs are known.
absl::StatusOr<std::vector<Expected>> ReadDataSets(const TestVector& vector,
                                                   const Session& session);

}  // namespace onnx_cudnn
