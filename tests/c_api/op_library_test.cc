// Ops of users' libraries: the example, and libraries that are wrong.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <string>
#include <vector>

#include "onnx_cudnn.h"
#include "tests/c_api/fixture.h"
#include "tests/c_api/model_bytes.h"

namespace onnx_cudnn {
namespace {

constexpr int kFloat = 1, kDouble = 11;

// y = op(x) between two ops that rewrites and lower precisions know: Relu(op(x · {1, 1} + {0, 0})).
std::string ModelWith(BuiltNode node, int dtype = kFloat) {
  node.inputs = {"s"};
  node.outputs = {"t"};
  const std::string domain = node.domain;
  return BytesOf(
      {.nodes = {{"Identity", "", {"x"}, {"s"}}, std::move(node), {"Relu", "", {"t"}, {"y"}}},
       .inputs = {{"x", dtype, {"N", "2"}}},
       .outputs = {{"y", dtype, {"N", "2"}}},
       .custom_domains = {domain}});
}

std::string SwishModel(std::vector<std::pair<std::string, float>> floats = {{"scale", 2.0F}},
                       int dtype = kFloat) {
  return ModelWith({.op = "ScaledSwish", .domain = "com.example", .floats = std::move(floats)},
                   dtype);
}

std::string OddModel(std::vector<std::pair<std::string, int64_t>> ints = {}) {
  return ModelWith({.op = "Fails", .domain = "com.example.odd", .ints = std::move(ints)});
}

onnx_cudnn_status LoadWith(const std::vector<const char*>& libraries, const std::string& model,
                           SessionHandle& session, const char* target = nullptr) {
  onnx_cudnn_session_options options = CpuOptions();
  options.op_libraries = libraries.data();
  options.op_library_count = libraries.size();
  options.target = target;
  onnx_cudnn_session* loaded = nullptr;
  const onnx_cudnn_status status =
      onnx_cudnn_session_load_bytes(model.data(), model.size(), &options, &loaded);
  session.reset(loaded);
  return status;
}

float Swish(float x) { return x / (1 + std::exp(-x)); }

TEST(CApiOpLibraryTest, AnOpIsUnknownWithoutItsLibrary) {
  SessionHandle session;
  ExpectStatus(LoadWith({}, ModelWith({.op = "Nowhere", .domain = "com.example.odd"}), session),
               ONNX_CUDNN_UNIMPLEMENTED,
               "com.example.odd.Nowhere (opset 1) on f32: the domain is not taken");
}

TEST(CApiOpLibraryTest, TheExampleRuns) {
  for (const char* target : {static_cast<const char*>(nullptr), "h200"}) {
    SessionHandle session;
    ASSERT_EQ(LoadWith({SCALED_SWISH, SCALED_SWISH}, SwishModel(), session, target), ONNX_CUDNN_OK)
        << onnx_cudnn_last_error();
    std::vector<float> x = {3, -1, 0.5F, 2};
    OwnedDLTensor y;
    ASSERT_EQ(RunOne(session.get(), CallerTensor(x, {2, 2}).tensor, y), ONNX_CUDNN_OK)
        << onnx_cudnn_last_error();
    const std::vector<float> found = ElementsOf<float>(y);
    const float expected[] = {2 * Swish(3), 0, 2 * Swish(0.5F), 2 * Swish(2)};
    for (int i = 0; i < 4; ++i) EXPECT_NEAR(found[i], expected[i], 1e-5) << i;
  }
}

TEST(CApiOpLibraryTest, AnAbsentAttributeHasItsDefault) {
  SessionHandle session;
  ASSERT_EQ(LoadWith({SCALED_SWISH}, SwishModel({}), session), ONNX_CUDNN_OK);
  std::vector<float> x = {3, 1};
  OwnedDLTensor y;
  ASSERT_EQ(RunOne(session.get(), CallerTensor(x, {1, 2}).tensor, y), ONNX_CUDNN_OK);
  EXPECT_NEAR(ElementsOf<float>(y)[0], Swish(3), 1e-5);
}

TEST(CApiOpLibraryTest, SymbolsPassThroughInference) {
  SessionHandle session;
  std::string model = SwishModel();
  ASSERT_EQ(LoadWith({SCALED_SWISH}, model, session), ONNX_CUDNN_OK);
  const onnx_cudnn_value_list* outputs = nullptr;
  ASSERT_EQ(onnx_cudnn_session_get_outputs(session.get(), &outputs), ONNX_CUDNN_OK);
  onnx_cudnn_value_info info = {};
  info.struct_size = sizeof(info);
  ASSERT_EQ(onnx_cudnn_value_list_get(outputs, 0, &info), ONNX_CUDNN_OK);
  EXPECT_STREQ(info.symbols[0], "N");
}

// An f16 model around it would hand it halves, which it refuses.
TEST(CApiOpLibraryTest, PrecisionAndFoldingLeaveItAlone) {
  const std::string model = BytesOf({.nodes = {{"MatMul", "", {"x", "w"}, {"s"}},
                                               {"ScaledSwish", "com.example", {"s"}, {"t"}},
                                               {"ScaledSwish", "com.example", {"c"}, {"u"}},
                                               {"Add", "", {"t", "u"}, {"y"}}},
                                     .inputs = {{"x", kFloat, {"1"}}},
                                     .outputs = {{"y", kFloat, {"1"}}},
                                     .constants = {{"w", {2}}, {"c", {1}}},
                                     .custom_domains = {"com.example"}});
  onnx_cudnn_session_options options = CpuOptions();
  const char* libraries[] = {SCALED_SWISH};
  options.op_libraries = libraries;
  options.op_library_count = 1;
  options.precision = ONNX_CUDNN_PRECISION_FP16;
  options.target = "h200";
  onnx_cudnn_session* loaded = nullptr;
  ASSERT_EQ(onnx_cudnn_session_load_bytes(model.data(), model.size(), &options, &loaded),
            ONNX_CUDNN_OK)
      << onnx_cudnn_last_error();
  const SessionHandle session(loaded);
  std::vector<float> x = {1.5F};
  OwnedDLTensor y;
  ASSERT_EQ(RunOne(loaded, CallerTensor(x, {1}).tensor, y), ONNX_CUDNN_OK)
      << onnx_cudnn_last_error();
  EXPECT_NEAR(ElementsOf<float>(y)[0], Swish(3) + Swish(1), 2e-3);
}

TEST(CApiOpLibraryTest, WrongLibrariesAreRefused) {
  SessionHandle session;
  const auto refused = [&](const char* library, const char* text) {
    ExpectStatus(LoadWith({library}, ReluModel(), session), ONNX_CUDNN_INVALID_ARGUMENT, text);
    ExpectStatus(LoadWith({library}, ReluModel(), session), ONNX_CUDNN_INVALID_ARGUMENT, library);
  };
  ExpectStatus(LoadWith({"/nowhere/ops.so"}, ReluModel(), session), ONNX_CUDNN_NOT_FOUND,
               "op library /nowhere/ops.so: no such file");
  refused("/proc/self/status", "/proc/self/status");
  refused(ODD_WITHOUT_ENTRY, "does not export onnx_cudnn_op_library");
  refused(ODD_LATER_VERSION, "its api_version is 99, this onnx-cudnn takes 1 to 1");
  refused(ODD_ONNX_NAME, "op com.example.odd.Relu: ONNX has an op of this name");
  refused(ODD_ONNX_DOMAIN, "op ai.onnx.ml.Fails: expected a name and a domain of your own");
  refused(ODD_WITHOUT_RUN, "expected domain, name, since_version >= 1, infer and run");
  refused(ODD_RETURNS_5, "onnx_cudnn_op_library returned 5");
}

TEST(CApiOpLibraryTest, ALibraryIsTakenWholeOrNotAtAll) {
  SessionHandle session;
  ASSERT_EQ(LoadWith({SCALED_SWISH}, SwishModel(), session), ONNX_CUDNN_OK);
  ExpectStatus(LoadWith({ODD_TWICE}, ReluModel(), session), ONNX_CUDNN_INVALID_ARGUMENT,
               std::string("op com.example.ScaledSwish is registered already, by ") + SCALED_SWISH);
  // The other op of that library is not registered.
  EXPECT_EQ(LoadWith({ODD_FAILS}, OddModel(), session), ONNX_CUDNN_OK) << onnx_cudnn_last_error();
}

TEST(CApiOpLibraryTest, ErrorsOfCallbacksAreReported) {
  SessionHandle session;
  ExpectStatus(LoadWith({ODD_FAILS}, OddModel({{"infer_fails", 1}}), session),
               ONNX_CUDNN_INVALID_ARGUMENT, "com.example.odd.Fails: infer does not like it");
  ExpectStatus(LoadWith({SCALED_SWISH}, SwishModel({}, kDouble), session),
               ONNX_CUDNN_INVALID_ARGUMENT, "expected an input of 32-bit floats");

  ASSERT_EQ(LoadWith({ODD_FAILS}, OddModel(), session), ONNX_CUDNN_OK) << onnx_cudnn_last_error();
  std::vector<float> x = {3, 1};
  OwnedDLTensor y;
  ExpectStatus(RunOne(session.get(), CallerTensor(x, {1, 2}).tensor, y),
               ONNX_CUDNN_INVALID_ARGUMENT, "com.example.odd.Fails: run does not like it");

  ExpectStatus(LoadWith({ODD_FAILS}, OddModel({{"forgets", 1}}), session),
               ONNX_CUDNN_INVALID_ARGUMENT, "its library sets no type of output 0");
}

TEST(CApiOpLibraryTest, ARelativePathIsOfTheCurrentFolder) {
  const std::filesystem::path before = std::filesystem::current_path();
  std::filesystem::current_path(std::filesystem::path(SCALED_SWISH).parent_path());
  SessionHandle session;
  const std::string name = std::filesystem::path(SCALED_SWISH).filename();
  EXPECT_EQ(LoadWith({name.c_str()}, SwishModel(), session), ONNX_CUDNN_OK)
      << onnx_cudnn_last_error();
  std::filesystem::current_path(before);
}

}  // namespace
}  // namespace onnx_cudnn
