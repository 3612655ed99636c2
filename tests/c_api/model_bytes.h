// Models for the C API's tests, as bytes of ONNX's protocol buffers: the suite links nothing but
// the shared library.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace onnx_cudnn {

struct BuiltNode {
  std::string op, domain;
  std::vector<std::string> inputs, outputs;
  std::vector<std::pair<std::string, float>> floats;  // attributes
  std::vector<std::pair<std::string, int64_t>> ints;
};

struct BuiltValue {
  std::string name;
  int dtype = 1;                  // as onnx.TensorProto.DataType
  std::vector<std::string> dims;  // numbers or symbols
};

struct BuiltModel {
  std::vector<BuiltNode> nodes;
  std::vector<BuiltValue> inputs, outputs;
  struct Floats {
    std::string name;
    std::vector<float> values;
  };
  std::vector<Floats> constants;
  std::vector<std::string> custom_domains;  // of version 1
};

// The model in opset 21.
std::string BytesOf(const BuiltModel& model);

// y[N,2] = Relu(x[N,2] + {3, -4})
std::string ReluModel();
// y[dims] = Identity(x[dims])
std::string IdentityModel(int dtype, const std::vector<std::string>& dims);

}  // namespace onnx_cudnn
