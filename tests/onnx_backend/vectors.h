// ONNX's backend test vectors: models with inputs and the outputs that ONNX's reference gave.
#pragma once

#include <ostream>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "onnx_cudnn/session.h"
#include "tools/common/expected.h"

namespace onnx_cudnn {

// What an output may differ by: floats by |difference| ≤ relative × |expected| + of_largest × the
// output's largest |expected|, or by `absolute` as a whole; integers by `units`. ONNX's runner's
// but for "largest".
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

// The vectors of a folder of onnx/backend/test/data ("node", "simple", …), sorted by name.
std::vector<TestVector> FindVectors(const std::string& group);

// Inputs and outputs of each data set. Errors as ReadExpected's, but that a data set may hold no
// output: only inputs are known then.
absl::StatusOr<std::vector<Expected>> ReadDataSets(const TestVector& vector,
                                                   const Session& session);

}  // namespace onnx_cudnn
