// Files that the loader must refuse, and the expected errors.
#pragma once

#include <functional>
#include <ostream>
#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "runtime/import/onnx_loader.h"
#include "tests/support/model_builder.h"
#include "tests/support/temp_folder.h"

namespace onnx_cudnn {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr bool kSanitized = true;  // memory and time are meaningless
#else
inline constexpr bool kSanitized = false;
#endif

// The largest increase of resident memory while `work` ran.
int64_t PeakBytesOf(absl::FunctionRef<void()> work);

struct HostileCase {
  std::string name;  // CamelCase: a test's name
  // Creates the file, and files beside it, in an empty folder, and returns its path.
  std::function<std::string(const TempFolder&)> make;
  absl::StatusCode code = absl::StatusCode::kInvalidArgument;  // kOk: it must load
  std::string fragment = "";                                   // part of the message
  LoadOptions options = {};
};
inline std::string NameOfHostile(const testing::TestParamInfo<HostileCase>& info) {
  return info.param.name;
}
inline void PrintTo(const HostileCase& c, std::ostream* out) { *out << c.name; }

// Creates a case's file from bytes, or by changing ReluModel or an empty model.
std::function<std::string(const TempFolder&)> Bytes(std::string bytes);
std::function<std::string(const TempFolder&)> Model(std::function<void(onnx::ModelProto&)> change);
std::function<std::string(const TempFolder&)> EmptyGraph(
    std::function<void(onnx::GraphProto&)> fill);
// From an empty model with an If, both branches of which `fill` writes.
std::function<std::string(const TempFolder&)> BothBranches(
    std::function<void(onnx::GraphProto&)> fill);

std::string Save(const TempFolder& folder, const onnx::ModelProto& model);

// Loads the case's file twice and checks: status code and text, equal both times; less than 1 s (5
// s with a sanitizer); at most the files' size + 64 MiB of additional memory (without a sanitizer);
// a short, printable message.
void RunHostile(const HostileCase& c);

// A suite of cases, which are instantiated from lists.
#define HOSTILE_SUITE(Suite)                                   \
  class Suite : public testing::TestWithParam<HostileCase> {}; \
  TEST_P(Suite, IsRefused) { RunHostile(GetParam()); }

}  // namespace onnx_cudnn
