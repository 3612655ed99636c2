// Requests that instances execute on the CPU device.
#include "runtime/triton/instance.h"

#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "tests/triton/fake_triton.h"

namespace onnx_cudnn::triton {
namespace {

using Floats = std::vector<float>;
constexpr std::string_view kDouble =
    "g (float[N,2] x) => (float[N,2] y, float[N] sum) "
    "<int64[1] one = {1}> { y = Add(x, x) sum = ReduceSum<keepdims = 0>(x, one) }";
// Elements of a row by an index, which may be out of range.
constexpr std::string_view kPick =
    "g (float[N,2] x, int64[N,1] i) => (float[N,1] y) { y = GatherElements<axis = 1>(x, i) }";

const nlohmann::json kNoPadding = {{"max_batch_size", 8},
                                   {"parameters", {{"batch_sizes", {{"string_value", "any"}}}}}};

class PickRequest {
 public:
  PickRequest(const Floats& x, const std::vector<int64_t>& index) : x_(x), index_(index) {
    const auto rows = static_cast<int64_t>(index.size());
    request = RequestOf({{"x", {{rows, 2}, x_}}});
    request.inputs["i"] = {
        TRITONSERVER_TYPE_INT64, {rows, 1}, {{index_.data(), index_.size() * sizeof(int64_t)}}};
  }
  TRITONBACKEND_Request request;

 private:
  const Floats x_;
  const std::vector<int64_t> index_;
};

TEST(TritonInstanceTest, OneRequestRunsInTheMemoryOfTheClient) {
  FakeServer server;
  ASSERT_EQ(server.Load(kDouble), "");
  const Floats x = {1, 2};
  alignas(8) char place[8];
  TRITONBACKEND_Request request = RequestOf({{"x", {{1, 2}, x}}});
  request.place = place;
  server.Execute({&request});
  ASSERT_FALSE(request.error.has_value()) << request.error->message;
  ASSERT_EQ(request.outputs.size(), 1u);  // that was asked for
  EXPECT_EQ(request.outputs[0].shape, std::vector<int64_t>({1, 2}));
  EXPECT_EQ(Values<float>(request), Floats({2, 4}));
  EXPECT_EQ(request.outputs[0].data, place);
}

TEST(TritonInstanceTest, ALoadIsOneLineOfTheLog) {
  const auto lines = [](std::string_view model, nlohmann::json config) {
    const size_t before = FakeLog().size();
    FakeServer server;
    EXPECT_EQ(server.Load(model, std::move(config)), "");
    std::vector<std::string> found = FakeLog();
    found.erase(found.begin(), found.begin() + static_cast<std::ptrdiff_t>(before));
    std::erase_if(found, [](const auto& l) { return l.find("m version 1: ") != 0; });
    return found;
  };
  using Lines = std::vector<std::string>;
  EXPECT_EQ(lines(kDouble, nlohmann::json::object()),
            Lines({"m version 1: device cpu (KIND_CPU), warm at batches 1, 2, 4"}));
  EXPECT_EQ(lines("g (float[2] x) => (float[2] y) { y = Neg(x) }", nlohmann::json::object()),
            Lines({"m version 1: device cpu (KIND_CPU), warm"}));
  EXPECT_EQ(lines("g (float[N,L] x) => (float[N,L] y) { y = Neg(x) }", nlohmann::json::object()),
            Lines({"m version 1: device cpu (KIND_CPU), not warm: input x f32[N,L] has dims that "
                   "nothing gives: warm up by model_warmup, or give them in the configuration"}));
  const nlohmann::json none = {{"parameters", {{"warm_up", {{"string_value", "none"}}}}}};
  EXPECT_EQ(lines(kDouble, none), Lines({"m version 1: device cpu (KIND_CPU), not warm: the "
                                         "parameter warm_up is none"}));
}

TEST(TritonInstanceTest, RequestsAreJoinedAndFilledUp) {
  FakeServer server;
  ASSERT_EQ(server.Load(kDouble), "");
  const double built = MetricValue("onnx_cudnn_programs_built");
  EXPECT_EQ(built, 3);  // 1, 2 and 4 rows, at load
  const Floats one = {1, 2}, two = {3, 4, 5, 6};
  TRITONBACKEND_Request first = RequestOf({{"x", {{1, 2}, one}}}, {"y", "sum"});
  TRITONBACKEND_Request second = RequestOf({{"x", {{2, 2}, two}}}, {"sum"});
  server.Execute({&first, &second});
  EXPECT_EQ(Values<float>(first), Floats({2, 4}));
  EXPECT_EQ(Values<float>(first, 1), Floats({3}));
  EXPECT_EQ(Values<float>(second), Floats({7, 11}));
  EXPECT_EQ(second.outputs[0].shape, std::vector<int64_t>({2}));
  EXPECT_EQ(server.batches(), std::vector<uint64_t>({3}));
  EXPECT_EQ(MetricValue("onnx_cudnn_runs"), 1);
  EXPECT_EQ(MetricValue("onnx_cudnn_padding_rows"), 1);
  EXPECT_EQ(MetricValue("onnx_cudnn_programs_built"), built);
}

TEST(TritonInstanceTest, MoreRowsThanABatchHasAreSeveral) {
  FakeServer server;
  ASSERT_EQ(server.Load(kDouble), "");
  const Floats three(6, 1);
  std::vector<TRITONBACKEND_Request> requests(3, RequestOf({{"x", {{3, 2}, three}}}));
  server.Execute({&requests[0], &requests[1], &requests[2]});
  for (const auto& request : requests) EXPECT_EQ(Values<float>(request), Floats(6, 2));
  EXPECT_EQ(server.batches(), std::vector<uint64_t>({3, 3, 3}));
}

TEST(TritonInstanceTest, ShapesThatDifferRunApart) {
  FakeServer server;
  ASSERT_EQ(server.Load("g (float[N,L] x) => (float[N,L] y) { y = Neg(x) }"), "");
  const Floats x = {1, 2, 3};
  TRITONBACKEND_Request a = RequestOf({{"x", {{1, 3}, x}}});
  TRITONBACKEND_Request b = RequestOf({{"x", {{1, 2}, {x.data(), 2}}}});
  TRITONBACKEND_Request c = RequestOf({{"x", {{1, 3}, x}}});
  server.Execute({&a, &b, &c});
  EXPECT_EQ(Values<float>(a), Floats({-1, -2, -3}));
  EXPECT_EQ(Values<float>(b), Floats({-1, -2}));
  EXPECT_EQ(Values<float>(c), Floats({-1, -2, -3}));
  EXPECT_EQ(server.batches(), std::vector<uint64_t>({2, 1}));
}

TEST(TritonInstanceTest, PiecesAndMisalignedMemoryAreJoined) {
  FakeServer server;
  ASSERT_EQ(server.Load(kDouble), "");
  const Floats x = {1, 2, 3, 4};
  char odd[17], place[17];
  std::memcpy(odd + 1, x.data(), 16);
  TRITONBACKEND_Request moved = RequestOf({{"x", {{2, 2}, x}}});
  moved.inputs["x"].pieces = {{odd + 1, 16}};
  moved.place = place + 1;
  TRITONBACKEND_Request cut = RequestOf({{"x", {{2, 2}, x}}});
  cut.inputs["x"].pieces = {{odd + 1, 7}, {odd + 8, 0}, {odd + 8, 9}};
  for (TRITONBACKEND_Request* request : {&moved, &cut}) {
    server.Execute({request});
    ASSERT_FALSE(request->error.has_value()) << request->error->message;
    Floats y(4);
    std::memcpy(y.data(), request->outputs[0].data, 16);
    EXPECT_EQ(y, Floats({2, 4, 6, 8}));
  }
}

TEST(TritonInstanceTest, AnOutputMayOverwriteItsInput) {
  FakeServer server;
  ASSERT_EQ(server.Load(kDouble), "");
  Floats x = {1, 2};
  TRITONBACKEND_Request request = RequestOf({{"x", {{1, 2}, x}}});
  request.place = reinterpret_cast<char*>(x.data());
  server.Execute({&request});
  ASSERT_FALSE(request.error.has_value()) << request.error->message;
  EXPECT_EQ(x, Floats({2, 4}));
}

TEST(TritonInstanceTest, AWrongRequestFailsAlone) {
  for (const nlohmann::json& config : {nlohmann::json::object(), kNoPadding}) {
    FakeServer server;
    ASSERT_EQ(server.Load(kPick, config), "");
    PickRequest a({1, 2}, {1}), wrong({3, 4}, {7}), b({5, 6}, {0});
    server.Execute({&a.request, &wrong.request, &b.request});
    EXPECT_EQ(Values<float>(a.request), Floats({2}));
    EXPECT_EQ(Values<float>(b.request), Floats({5}));
    ASSERT_TRUE(wrong.request.error.has_value());
    EXPECT_EQ(wrong.request.error->code, TRITONSERVER_ERROR_INVALID_ARG);
    EXPECT_NE(wrong.request.error->message.find("7"), std::string::npos);
  }
}

TEST(TritonInstanceTest, WhatIsWrongBeforeTheRunIsNamed) {
  FakeServer server;
  ASSERT_EQ(server.Load(kPick), "");
  const Floats x = {1, 2};
  PickRequest good({1, 2}, {1});
  TRITONBACKEND_Request lacking = RequestOf({{"x", {{1, 2}, x}}});
  PickRequest short_of_bytes({1, 2}, {1}), too_many(Floats(10), std::vector<int64_t>(5)),
      uneven({1, 2}, {1}), other_type({1, 2}, {1}), cancelled({1, 2}, {1});
  short_of_bytes.request.inputs["x"].pieces[0].bytes = 4;
  uneven.request.inputs["i"].shape = {2, 1};
  uneven.request.inputs["i"].pieces[0].bytes = 16;
  const std::vector<int64_t> two = {0, 1};
  uneven.request.inputs["i"].pieces[0].data = two.data();
  other_type.request.inputs["i"].type = TRITONSERVER_TYPE_FP64;
  cancelled.request.is_cancelled = true;
  server.Execute({&lacking, &short_of_bytes.request, &good.request, &too_many.request,
                  &uneven.request, &cancelled.request});
  EXPECT_EQ(Values<float>(good.request), Floats({2}));
  EXPECT_EQ(lacking.error->message, "no input i");
  EXPECT_EQ(short_of_bytes.request.error->message,
            "input \"x\": expected 8 bytes of f32[1,2], found 4");
  EXPECT_EQ(too_many.request.error->message, "input \"x\" has 5 rows, expected 1 to 4");
  EXPECT_EQ(uneven.request.error->message, "input \"i\" has 2 rows, expected 1 as the first input");
  EXPECT_EQ(cancelled.request.error->code, TRITONSERVER_ERROR_CANCELLED);
  server.Execute({&other_type.request});
  EXPECT_EQ(other_type.request.error->message, "input i i64[N,1]: found f64");
  EXPECT_EQ(other_type.request.error->code, TRITONSERVER_ERROR_INVALID_ARG);
}

TEST(TritonInstanceTest, StringsGoInAndOut) {
  FakeServer server;
  ASSERT_EQ(server.Load("g (string[N,1] x) => (string[N,1] y) { y = Identity(x) }"), "");
  const std::string ab("\2\0\0\0ab", 6), c("\1\0\0\0c", 5), cut("\1\0\0\0", 4);
  const auto request = [](const std::string& bytes) {
    TRITONBACKEND_Request made;
    made.wanted = {"y"};
    made.inputs["x"] = {TRITONSERVER_TYPE_BYTES, {1, 1}, {{bytes.data(), bytes.size()}}};
    return made;
  };
  TRITONBACKEND_Request a = request(ab), b = request(c), wrong = request(cut);
  server.Execute({&a, &wrong, &b});
  EXPECT_EQ(std::string(a.outputs[0].data, a.outputs[0].bytes), ab);
  EXPECT_EQ(std::string(b.outputs[0].data, b.outputs[0].bytes), c);
  EXPECT_EQ(wrong.error->message, "input \"x\": expected 1 strings, the bytes end in string 0");
}

TEST(TritonInstanceTest, ShapesBeyondTheBytesAreRefused) {
  FakeServer server;
  ASSERT_EQ(server.Load("g (string[N] x, float[N] z) => (string[N] y, float[N] w) "
                        "{ y = Identity(x) w = Relu(z) }",
                        {{"max_batch_size", 0}}),
            "");
  const std::string bytes(4, '\0');
  const auto error = [&](std::vector<int64_t> strings, std::vector<int64_t> floats) {
    TRITONBACKEND_Request request;
    request.wanted = {"y"};
    request.inputs["x"] = {TRITONSERVER_TYPE_BYTES, std::move(strings), {{bytes.data(), 4}}};
    request.inputs["z"] = {TRITONSERVER_TYPE_FP32, std::move(floats), {{bytes.data(), 4}}};
    server.Execute({&request});
    return request.error.has_value() ? request.error->message : "";
  };
  EXPECT_EQ(error({1}, {1}), "");
  EXPECT_EQ(error({int64_t{1} << 31}, {1}),
            "input \"x\": expected at least 8589934592 bytes of string[2147483648], found 4");
  EXPECT_NE(error({int64_t{1} << 62}, {1}), "");  // more bytes than there can be
  EXPECT_NE(error({1}, {int64_t{1} << 62}), "");
}

TEST(TritonInstanceTest, AScalarHasOneDimForClients) {
  FakeServer server;
  ASSERT_EQ(server.Load("g (float x) => (float y) { y = Add(x, x) }"), "");
  const Floats x = {2};
  TRITONBACKEND_Request request = RequestOf({{"x", {{1}, x}}});
  server.Execute({&request});
  ASSERT_FALSE(request.error.has_value()) << request.error->message;
  EXPECT_EQ(request.outputs[0].shape, std::vector<int64_t>({1}));
  EXPECT_EQ(Values<float>(request), Floats({4}));
}

TEST(TritonInstanceTest, ShapesThatDependOnData) {
  FakeServer server;
  ASSERT_EQ(server.Load("g (float[L] x) => (int64[1,M] y) { y = NonZero(x) }"), "");
  const Floats x = {0, 5, 0, 6};
  TRITONBACKEND_Request request = RequestOf({{"x", {{4}, x}}});
  server.Execute({&request});
  ASSERT_FALSE(request.error.has_value()) << request.error->message;
  EXPECT_EQ(Values<int64_t>(request), std::vector<int64_t>({1, 3}));
}

TEST(TritonInstanceTest, InstancesOfADeviceShareASession) {
  FakeServer server;
  ASSERT_EQ(server.Load(kDouble, {{"instance_group", {{{"kind", "KIND_CPU"}, {"count", 2}}}}}), "");
  const double load = MetricValue("onnx_cudnn_load_seconds");
  ASSERT_EQ(server.AddInstance(TRITONSERVER_INSTANCEGROUPKIND_CPU), "");
  EXPECT_EQ(MetricValue("onnx_cudnn_load_seconds"), load);
  EXPECT_EQ(MetricValue("onnx_cudnn_programs_built"), 3);
  const std::string error = server.AddInstance(TRITONSERVER_INSTANCEGROUPKIND_GPU);
  if (error.empty()) GTEST_SKIP() << "this host has a GPU";
  EXPECT_NE(error.find("GPU"), std::string::npos) << error;
}

}  // namespace
}  // namespace onnx_cudnn::triton
