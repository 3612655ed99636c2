// The server's objects of the fake, and how many of them there are.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "tests/triton/fake_triton.h"

struct TRITONSERVER_Message {
  std::string text;
};
struct TRITONBACKEND_Backend {
  TRITONSERVER_Message config;
  void* state = nullptr;
};
struct TRITONBACKEND_BackendAttribute {
  int groups = 0;
  bool is_parallel = false;
};
struct TRITONBACKEND_Model {
  std::string folder;
  TRITONBACKEND_Backend* backend;
  nlohmann::json config;
  bool completes = true;
  void* state = nullptr;
};
struct TRITONBACKEND_ModelInstance {
  TRITONSERVER_InstanceGroupKind kind;
  int32_t device;
  TRITONBACKEND_Model* model;
  void* state = nullptr;
  std::vector<uint64_t> batches = {};
};
struct TRITONBACKEND_Response {
  TRITONBACKEND_Request* request;
};
struct TRITONSERVER_Parameter {
  std::string name, value;
};
struct TRITONSERVER_MetricFamily {
  std::string name;
  TRITONSERVER_MetricKind kind;
};
struct TRITONSERVER_Metric {
  TRITONSERVER_MetricFamily* family;
  std::string key;
};

namespace onnx_cudnn::triton {

struct FakeCounts {
  int metrics = 0, messages = 0, errors = 0;  // that are not deleted
  std::map<std::string, double> values;       // of metrics, by name and labels
};
extern FakeCounts fake_counts;

}  // namespace onnx_cudnn::triton
