#include "tools/common/inputs.h"

#include <gtest/gtest.h>

#include "absl/strings/match.h"
#include "tools/common/files.h"

namespace onnx_cudnn {
namespace {

ValueInfo Info(std::string name, std::vector<ValueInfo::Extent> dims) {
  return {.name = std::move(name), .dtype = DType::kF32, .dims = std::move(dims)};
}

const std::vector<ValueInfo> kBatch = {Info("x", {{.symbol = "N"}, {.value = 3}})};

TEST(InputsTest, SplitsAtTheFirstEqualsSign) {
  EXPECT_EQ(SplitNamedText("Input:0=a=b.npy").name, "Input:0");
  EXPECT_EQ(SplitNamedText("Input:0=a=b.npy").text, "a=b.npy");
  EXPECT_EQ(SplitNamedText("photo.jpg").name, "");
}

TEST(InputsTest, ReadsShapes) {
  EXPECT_EQ(*ParseDims("1,3,224,224"), (Dims{1, 3, 224, 224}));
  EXPECT_EQ(*ParseDims("1x3x224"), (Dims{1, 3, 224}));
  EXPECT_EQ(*ParseDims(""), Dims{});
  for (const char* bad : {"1x", "x", "1,", "-1x2", "99999999999999999999"}) {
    EXPECT_FALSE(ParseDims(bad).ok()) << bad;
  }
}

TEST(InputsTest, OpenDimsAreOneUnlessAShapeIsGiven) {
  const ModelInput input = (*MakeInputs(kBatch, {}))[0];
  EXPECT_EQ(input.tensor.dims(), (Dims{1, 3}));
  EXPECT_EQ(input.source, "random, seed 0, N taken as 1 (others: --shape x=1x3)");
  EXPECT_EQ(input.taken, "N taken as 1 (others: --shape x=1x3)");
  const ModelInput asked = (*MakeInputs(kBatch, {.shapes = {{"", "5x3"}}}))[0];
  EXPECT_EQ(asked.tensor.dims(), (Dims{5, 3}));
  EXPECT_EQ(asked.taken, "");
  EXPECT_EQ((*MakeInputs(kBatch, {.batch = 7}))[0].tensor.dims(), (Dims{7, 3}));
}

TEST(InputsTest, HeightAndWidthOfImagesAre224) {
  const auto taken = [](std::vector<ValueInfo::Extent> dims) {
    return (*ShapesOf({Info("x", std::move(dims))}, {})).at("x");
  };
  const ValueInfo::Extent n = {.symbol = "batch"}, h = {.symbol = "h"}, w, three = {.value = 3};
  EXPECT_EQ(taken({n, three, h, w}).dims, (Dims{1, 3, 224, 224}));
  EXPECT_EQ(taken({n, three, h, w}).taken,
            "batch taken as 1, h as 224, dim 3 as 224 (others: --shape x=1x3x224x224)");
  EXPECT_EQ(taken({n, h, w, {.value = 1}}).dims, (Dims{1, 224, 224, 1}));
  EXPECT_EQ(taken({n, three, {.value = 48}, w}).dims, (Dims{1, 3, 48, 1}));
  EXPECT_EQ(taken({n, {.value = 64}, h, w}).dims, (Dims{1, 64, 1, 1}));
  EXPECT_EQ(taken({n, three, h}).dims, (Dims{1, 3, 1}));
}

TEST(InputsTest, ASymbolHasOneNumber) {
  const ValueInfo::Extent n = {.symbol = "N"}, h = {.symbol = "h"}, w = {.symbol = "w"};
  const std::vector<ValueInfo> infos = {Info("mask", {n, h, w}),
                                        Info("x", {n, {.value = 3}, h, w})};
  EXPECT_EQ((*ShapesOf(infos, {})).at("mask").dims, (Dims{1, 224, 224}));
  EXPECT_EQ((*ShapesOf(infos, {{"x", "2x3x8x9"}})).at("mask").dims, (Dims{2, 8, 9}));
  const auto made = MakeInputs(infos, {.shapes = {{"mask", "4x5x6"}}});
  ASSERT_TRUE(made.ok()) << made.status();
  EXPECT_EQ((*made)[1].tensor.dims(), (Dims{4, 3, 5, 6}));
}

TEST(InputsTest, AnUnknownNameOfAShapeIsAnsweredByThoseThatThereAre) {
  const ValueInfo::Extent n = {.symbol = "N"}, length = {.symbol = "L"}, unknown,
                          two = {.value = 2};
  const auto message = [](const std::vector<ValueInfo>& infos) {
    return std::string(ShapesOf(infos, {{"batch", "4"}}).status().message());
  };
  EXPECT_EQ(message({Info("x", {n, length}), Info("mask", {n, unknown})}),
            "--shape: no input or symbolic dim \"batch\"; inputs: x, mask; symbolic dims: L, N");
  EXPECT_EQ(message({Info("x", {two})}),
            "--shape: no input or symbolic dim \"batch\"; inputs: x; symbolic dims: none");
}

TEST(InputsTest, ErrorsReportTheDimsThatWereUsed) {
  const absl::Status status =
      WithTakenDims(absl::InvalidArgumentError("too small"), {{"x", "N taken as 1"}, {"y", ""}});
  EXPECT_EQ(status, absl::InvalidArgumentError("too small; of input \"x\" N taken as 1"));
  EXPECT_EQ(WithTakenDims(absl::InternalError("broken"), {{"x", "N taken as 1"}}),
            absl::InternalError("broken"));
}

TEST(InputsTest, RandomNumbersDependOnTheSeedAlone) {
  const HostTensor a = (*MakeInputs(kBatch, {}))[0].tensor;
  EXPECT_TRUE(SameContent(a, (*MakeInputs(kBatch, {}))[0].tensor));
  EXPECT_FALSE(SameContent(a, (*MakeInputs(kBatch, {.seed = 1}))[0].tensor));
  for (const float x : a.data<float>()) EXPECT_TRUE(x >= 0 && x < 1) << x;
}

TEST(InputsTest, LargeInputsDoNotRepeat) {
  const HostTensor tensor = (*MakeInputs(kBatch, {.shapes = {{"", "1048576x3"}}}))[0].tensor;
  const absl::Span<const float> x = tensor.data<float>();
  const size_t part = x.size() / 3;
  EXPECT_NE(x.first(part), x.subspan(part, part));
  EXPECT_NE(x.first(part), x.last(part));
  EXPECT_NE(x[x.size() - 1], 0);
}

TEST(InputsTest, ZerosAreZero) {
  const HostTensor zeros = (*MakeInputs(kBatch, {.sources = {{"x", "zeros"}}}))[0].tensor;
  for (const float x : zeros.data<float>()) EXPECT_EQ(x, 0);
}

TEST(InputsTest, NumbersAreAnInput) {
  const auto make = [](DType dtype, std::vector<ValueInfo::Extent> dims, const std::string& text,
                       bool ranked = true) {
    const std::vector<ValueInfo> infos = {
        {.name = "s", .dtype = dtype, .ranked = ranked, .dims = std::move(dims)}};
    auto inputs = MakeInputs(infos, {.sources = {{"s", text}}});
    return inputs.ok() ? absl::StatusOr<HostTensor>((*inputs)[0].tensor) : inputs.status();
  };
  EXPECT_TRUE(SameContent(*make(DType::kI64, {{.symbol = "K"}}, "8,-1"),
                          HostTensor::Ints(std::vector<int64_t>{8, -1})));
  EXPECT_TRUE(SameContent(*make(DType::kF32, {}, "0.5"),
                          HostTensor::Of<float>(DType::kF32, {}, std::vector<float>{0.5})));
  EXPECT_EQ(make(DType::kU8, {{.value = 2}, {.symbol = "K"}}, "1,2,3,255")->dims(), (Dims{2, 2}));
  EXPECT_EQ(make(DType::kI64, {}, "1,2", false)->dims(), Dims{2});
  EXPECT_EQ(make(DType::kBool, {{.value = 2}}, "0,1")->dims(), Dims{2});
  const auto message = [&](DType dtype, const std::string& text) {
    return std::string(make(dtype, {{.value = 2}}, text).status().message());
  };
  EXPECT_TRUE(absl::StrContains(message(DType::kI64, "1"), "numbers for s i64[2], found 1"));
  EXPECT_TRUE(absl::StrContains(message(DType::kI64, "1,x"), "\"x\" is no i64"));
  EXPECT_TRUE(absl::StrContains(message(DType::kI64, "1,"), "\"\" is no i64"));
  EXPECT_TRUE(absl::StrContains(message(DType::kI64, "1,0.5"), "\"0.5\" is no i64"));
  EXPECT_TRUE(absl::StrContains(message(DType::kU8, "1,256"), "\"256\" is no u8"));
  EXPECT_TRUE(absl::StrContains(message(DType::kU8, "1,-1"), "\"-1\" is no u8"));
  EXPECT_TRUE(absl::StrContains(message(DType::kBool, "1,2"), "\"2\" is no bool"));
  EXPECT_TRUE(absl::StrContains(message(DType::kF16, "1,1e9"), "\"1e9\" is no f16"));
  EXPECT_TRUE(absl::StrContains(message(DType::kI4, "1,2"), "no numbers of dtype i4"));
}

TEST(InputsTest, RefusesWhatDoesNotFit) {
  const auto message = [](const InputRequest& request) {
    return std::string(MakeInputs(kBatch, request).status().message());
  };
  EXPECT_TRUE(absl::StrContains(message({.sources = {{"y", "zeros"}}}), "no input \"y\""));
  EXPECT_TRUE(
      absl::StrContains(message({.sources = {{"x", "zeros"}, {"", "zeros"}}}), "given twice"));
  EXPECT_TRUE(absl::StrContains(message({.sources = {{"x", "x.gif"}}}), "found \"x.gif\""));
  EXPECT_TRUE(absl::StrContains(message({.shapes = {{"x", "1x4"}}}), "expected x f32[N,3]"));
  EXPECT_TRUE(absl::StrContains(message({.shapes = {{"x", "9999999999999x3"}}}), "bytes"));
}

TEST(FileNameOfTest, ReplacesWhatIsNotSafe) {
  EXPECT_EQ(FileNameOf("a/b:0 ü.-_Z"), "a_b_0___.-_Z");
}

TEST(FileNameOfTest, NumbersWhatBecomesEqual) {
  using Names = std::vector<std::string>;
  EXPECT_EQ(FileNamesOf({"a/b", "c", "a:b", "a b"}), (Names{"a_b", "c", "a_b_2", "a_b_3"}));
  EXPECT_EQ(FileNamesOf({"a_b_2", "a/b", "a:b"}), (Names{"a_b_2", "a_b", "a_b_3"}));
}

}  // namespace
}  // namespace onnx_cudnn
