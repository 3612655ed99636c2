// Triton's functions for backends within the test's process, and what a server does with a model:
// it loads one version, makes instances and executes requests.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/types/span.h"
#include "nlohmann/json.hpp"
#include "runtime/triton/settings.h"
#include "runtime/triton/triton_api.h"
#include "tests/support/temp_folder.h"

// The objects that Triton's interface leaves to the server.
struct TRITONSERVER_Error {
  TRITONSERVER_Error_Code code;
  std::string message;
};
struct TRITONBACKEND_Input {
  struct Piece {
    const void* data;
    uint64_t bytes;
    TRITONSERVER_MemoryType memory = TRITONSERVER_MEMORY_CPU;
    int64_t id = 0;
  };
  TRITONSERVER_DataType type;
  std::vector<int64_t> shape;
  std::vector<Piece> pieces;
};
struct TRITONBACKEND_Output {
  std::string name;
  TRITONSERVER_DataType type;
  std::vector<int64_t> shape;
  std::vector<char> own;
  char* data = nullptr;
  uint64_t bytes = 0;
};
struct TRITONBACKEND_Request {
  std::map<std::string, TRITONBACKEND_Input> inputs;
  std::vector<std::string> wanted;
  bool is_cancelled = false;
  // Where outputs are placed: in this memory, as a client's shared memory, or in memory of their
  // own.
  char* place = nullptr;
  TRITONSERVER_MemoryType memory = TRITONSERVER_MEMORY_CPU;
  // What became of it.
  std::deque<TRITONBACKEND_Output> outputs;
  std::optional<TRITONSERVER_Error> error;
  int responses = 0, releases = 0, successes = 0, failures = 0;
};

namespace onnx_cudnn::triton {

TRITONBACKEND_Request RequestOf(
    const std::map<std::string, std::pair<std::vector<int64_t>, absl::Span<const float>>>& inputs,
    const std::vector<std::string>& wanted = {"y"});

template <typename T>
std::vector<T> Values(const TRITONBACKEND_Request& request, size_t output = 0) {
  const TRITONBACKEND_Output& from = request.outputs[output];
  const T* data = reinterpret_cast<const T*>(from.data);
  return {data, data + from.bytes / sizeof(T)};
}

// A server with the backend and one version of a model. Objects of the server are counted: the
// destructor expects that none is left.
class FakeServer {
 public:
  //   backend_config  of the command line
  explicit FakeServer(const Parameters& backend_config = {});
  ~FakeServer();

  // Loads the model of ONNX's text; the configuration gets a name and KIND_CPU.
  //   returns  the error's text; empty: it is loaded, with an instance
  std::string Load(std::string_view model, nlohmann::json config = nlohmann::json::object(),
                   bool completes = true);
  // Adds an instance of the kind.
  std::string AddInstance(TRITONSERVER_InstanceGroupKind kind, int device = 0);
  void Execute(const std::vector<TRITONBACKEND_Request*>& requests);

  const nlohmann::json& config() const;   // as completed
  std::vector<uint64_t> batches() const;  // that were reported
  void* instance_state(size_t index = 0) const;
  std::string error() const { return error_; }  // of the backend's initialization

 private:
  struct State;
  TempFolder folder_;
  std::unique_ptr<State> state_;
  std::string error_;
};

// Values of the metrics "name{device}".
double MetricValue(const std::string& name, const std::string& device = "cpu");
// What the backend logged, of all servers of this process.
std::vector<std::string> FakeLog();
extern uint32_t fake_api_minor;

}  // namespace onnx_cudnn::triton
