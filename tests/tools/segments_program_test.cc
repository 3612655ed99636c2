// What the programs tell about a model that runs in segments, and about new shapes.
#include <nlohmann/json.hpp>

#include "tests/tools/programs_fixture.h"
#include "tools/common/report_page.h"

namespace onnx_cudnn {
namespace {

using Json = nlohmann::json;

class SegmentsProgramTest : public ProgramsTest {
 protected:
  void SetUp() override {
    ProgramsTest::SetUp();
    // The length of y is an element that is computed, that of z how many elements are not zero.
    Write("cut.onnx", *ModelBytesFromText(R"(
        g (float[1,N] x) => (float[1,M] y, int64[1,K] z)
        <int64[1] row = {1}, int64[1] zero = {0}> {
          largest = ReduceMax<keepdims = 0>(x)
          count = Cast<to = 7>(largest)
          counts = Reshape(count, row)
          sum = ReduceSum(x)
          y = Expand(sum, counts)
          found = NonZero(x)
          columns = Gather<axis = 0>(found, row)
          z = Neg(columns)
        })"));
  }
};

TEST_F(SegmentsProgramTest, ARunReportsWhatIsBetweenPrograms) {
  Ended ended = RunTool("cut.onnx --input 1,4 --shape 1x2 --json");
  ASSERT_EQ(ended.code, 0) << ended.err;
  const Json report = Json::parse(ended.out);
  const Json& segments = report["segments"];
  EXPECT_EQ(segments["programs"], 2);
  EXPECT_EQ(segments["nodes_between"], 0);
  EXPECT_EQ(segments["size_reads"], 2);
  EXPECT_GT(segments["run_ms"], 0);
  EXPECT_LE(segments["size_reads_ms"].get<double>() + segments["between_ms"].get<double>(),
            segments["run_ms"].get<double>());
  ASSERT_EQ(report["builds"].size(), 2u);
  EXPECT_EQ(report["builds"][0]["inputs"], "x[1,2]");
  for (const char* part : {"bind_ms", "fold_ms", "partition_ms", "compile_ms", "plan_ms"}) {
    EXPECT_LE(report["builds"][0][part], report["builds"][0]["total_ms"]) << part;
  }
  ended = RunTool("cut.onnx --input 1,4 --shape 1x2 --verbose");
  EXPECT_TRUE(absl::StrContains(ended.out, "parts   2 runs of programs, 0 nodes between them ("))
      << ended.out;
  EXPECT_TRUE(absl::StrContains(ended.out, "build   x[1,2]  bind ")) << ended.out;
}

TEST_F(SegmentsProgramTest, EachProgramIsProfiledInItsPlace) {
  Write("texts.onnx", *ModelBytesFromText(R"(
      g (float[3] x) => (float[3] y) {
        a = Exp(x)
        t = Cast<to = 8>(a)
        b = Cast<to = 1>(t)
        y = Neg(b)
      })"));
  const Ended ended = RunTool("texts.onnx --device cpu --profile --trace t.json");
  ASSERT_EQ(ended.code, 0) << ended.err;
  for (const char* text : {"profile 4 steps in 2 runs of programs take ", "\n  0.0 ", "\n    - ",
                           "between  Cast: t", "\n  1.0 ", "host     Neg: y"}) {
    EXPECT_TRUE(absl::StrContains(ended.out, text)) << text << "\n" << ended.out;
  }
  const Json trace = Json::parse(*ReadFile(Path("t.json"), 1 << 20));
  int between = 0, steps = 0;
  for (const Json& event : trace["traceEvents"]) {
    if (!event["args"].contains("engine")) continue;
    ++(event["args"]["engine"] == "between" ? between : steps);
    if (event["args"]["engine"] == "between") {
      EXPECT_EQ(event["pid"], 1);
    }
  }
  EXPECT_EQ(steps, 2 * 12);
  EXPECT_EQ(between, 2 * 12);
  const Json json = Json::parse(RunTool("texts.onnx --device cpu --profile --json").out);
  EXPECT_EQ(json["profile"]["segments"], 2);
  EXPECT_EQ(json["profile"]["steps"][3]["segment"], 1);
  const bool has_page = CheckReportPage().ok();
  ExpectFails(RunTool("texts.onnx --device cpu --report r.html"), 3,
              has_page ? "runs in segments" : "--report");
}

TEST_F(SegmentsProgramTest, AModelOfOneProgramHasNoSegments) {
  const Ended ended = RunTool("shift.onnx --json");
  ASSERT_EQ(ended.code, 0) << ended.err;
  const Json report = Json::parse(ended.out);
  EXPECT_FALSE(report.contains("segments"));
  EXPECT_EQ(report["builds"].size(), 1u);
}

TEST_F(SegmentsProgramTest, ExplainListsEachProgramAndWhyTheModelIsCut) {
  Ended ended = Run(ONNX_CUDNN_OPT,
                    "cut.onnx --explain --target h200 --input 1,4 --shape 1x2 --json why.json");
  ASSERT_EQ(ended.code, 0) << ended.err;
  for (const std::string_view line :
       {"parts    2: the model runs as several programs, the lines \"cut\" say why\n",
        "\nsizes    2 read between them, 16 bytes in all\n", "\nsegment 1\n", "\nsegment 2\n",
        "the shape of \"found\" follows from a count that the program writes",
        "(Expand) needs the elements of \"counts\" i64[1]",
        "(Gather) needs the shape of \"found"}) {
    EXPECT_TRUE(absl::StrContains(ended.out, line)) << line << "\n" << ended.out;
  }
  const Json why = Json::parse(*ReadFile(Path("why.json"), 1 << 20));
  ASSERT_EQ(why["segments"].size(), 2u);
  EXPECT_EQ(why["size_reads"], 2);
  EXPECT_EQ(why["size_read_bytes"], 2 * 8);  // the count of "found" and the element of "counts"
  EXPECT_EQ(why["segments"][0]["program"]["target"], "h200");
  EXPECT_EQ(why["segments"][0]["reasons"].size(), 3u);
  EXPECT_TRUE(why["segments"][1]["reasons"].empty());
  // Without an input that says otherwise, it is random.
  EXPECT_EQ(Run(ONNX_CUDNN_OPT, "cut.onnx --explain --shape 1x3").code, 0);
}

// Nothing in it depends on data but the branch, and its price alone cuts it.
TEST_F(SegmentsProgramTest, ExplainSaysThatAModelIsCutByPrice) {
  Write("choice.onnx", *ModelBytesFromText(R"(
      g (float[128,128] x) => (float[128,128] y) <float zero = {0}> {
        s = ReduceSum<keepdims = 0>(x)
        c = Greater(s, zero)
        z = If(c) <then_branch = a () => (p) { p = MatMul(x, x) },
                   else_branch = b () => (q) { m = Neg(x) q = MatMul(m, x) }>
        y = Relu(z) })"));
  Ended ended = Run(ONNX_CUDNN_OPT, "choice.onnx --explain --target h200");
  ASSERT_EQ(ended.code, 0) << ended.err;
  EXPECT_FALSE(absl::StrContains(ended.out, "depend on data")) << ended.out;
  EXPECT_TRUE(absl::StrContains(ended.out, "parts    3: the model runs as several programs"))
      << ended.out;
  EXPECT_TRUE(absl::StrContains(ended.out, "its bodies run faster as programs of their own"))
      << ended.out;
  ended = Run(ONNX_CUDNN_OPT, "choice.onnx --explain --target cpu");
  EXPECT_FALSE(absl::StrContains(ended.out, "parts ")) << ended.out;  // one Program
  ended = RunTool("choice.onnx --check --target h200");
  EXPECT_TRUE(absl::StrContains(ended.out, "  1  nodes behind what runs between programs: checked"))
      << ended.out;
}

TEST_F(SegmentsProgramTest, ExplainShowsTheProgramsOfFoundBuckets) {
  Write("rows.onnx", *ModelBytesFromText(R"(
      g (float[N] x) => (int64[1,M] y) {
        found = NonZero(x)
        y = Neg(found)
      })"));
  const std::string given = "rows.onnx --input 1,0,4,3 --shape 4 --shape-buckets found";
  const Ended ended = Run(ONNX_CUDNN_OPT, given + " --explain --target h200 --json why.json");
  ASSERT_EQ(ended.code, 0) << ended.err;
  EXPECT_TRUE(absl::StrContains(ended.out, "\nsegment 2, padded to buckets\n")) << ended.out;
  const Json why = Json::parse(*ReadFile(Path("why.json"), 1 << 20));
  ASSERT_EQ(why["segments"].size(), 2u);
  EXPECT_EQ(why["segments"][0]["padded"], false);
  EXPECT_EQ(why["segments"][1]["padded"], true);
  // As a Session builds it.
  const Json report = Json::parse(RunTool(given + " --json").out);
  ASSERT_EQ(report["builds"].size(), 2u);
  EXPECT_TRUE(absl::StrContains(report["builds"][1]["inputs"].get<std::string>(), "[1,16]"))
      << report["builds"][1];
}

TEST_F(SegmentsProgramTest, ExplainShowsTheProgramOfABucket) {
  Write("rows.onnx", *ModelBytesFromText("g (float[2,N] x) => (float[2,N] y) { y = Relu(x) }"));
  Ended ended = Run(ONNX_CUDNN_OPT, "rows.onnx --explain --shape 2x5 --shape-buckets N");
  ASSERT_EQ(ended.code, 0) << ended.err;
  EXPECT_TRUE(absl::StrContains(ended.out, "input   x padded to [2,16]\n")) << ended.out;
  EXPECT_FALSE(absl::StrContains(ended.out, "not padded")) << ended.out;
  ended = Run(ONNX_CUDNN_OPT, "rows.onnx --explain --shape 2x5");
  EXPECT_FALSE(absl::StrContains(ended.out, "padded")) << ended.out;
  ExpectFails(Run(ONNX_CUDNN_OPT, "rows.onnx --explain --shape-buckets M"), 2,
              "no input has a dim \"M\"");
  ExpectFails(Run(ONNX_CUDNN_OPT, "rows.onnx --shape-buckets N"), 1, "need --explain");
  Write("hard.onnx", *ModelBytesFromText("g (float[2,N] x) => (float[2,N] y) { y = Hardmax(x) }"));
  ended = Run(ONNX_CUDNN_OPT, "hard.onnx --explain --shape 2x5 --shape-buckets all");
  ASSERT_EQ(ended.code, 0) << ended.err;
  EXPECT_TRUE(absl::StrContains(ended.out, "note    not padded to buckets: ")) << ended.out;
  EXPECT_FALSE(absl::StrContains(ended.out, "padded to [")) << ended.out;
}

TEST_F(SegmentsProgramTest, ABenchmarkReportsWhatIsBetweenPrograms) {
  Write("read.onnx", *ModelBytesFromText(R"(
      g (float[N,2] x) => (float[N,2] y, float[M] z) <float one = {1}, int64[1] row = {1}> {
        y = Relu(x)
        least = ReduceMin<keepdims = 0>(y)
        above = Add(least, one)
        count = Cast<to = 7>(above)
        counts = Reshape(count, row)
        z = Expand(above, counts)
      })"));
  const Ended ended =
      Run(ONNX_CUDNN_BENCH, "read.onnx --device cpu --runs 2 --warm-up 0 --seconds 0");
  ASSERT_EQ(ended.code, 0) << ended.err;
  const Json record = Json::parse(ended.out)[0];
  EXPECT_EQ(record["segments"], 2);
  EXPECT_EQ(record["size_reads"], 1);
  EXPECT_TRUE(absl::StrContains(ended.err, "in segments: 2 runs of programs, 0 nodes between"))
      << ended.err;
}

TEST_F(SegmentsProgramTest, NewShapesAreTimedInTheSameSession) {
  const Ended ended = RunTool("shift.onnx --shape 2x4 --new-shapes 3x4,x=5x4 --json");
  ASSERT_EQ(ended.code, 0) << ended.err;
  const Json report = Json::parse(ended.out);
  ASSERT_EQ(report["new_shapes"].size(), 2u);
  EXPECT_EQ(report["new_shapes"][0]["inputs"], "x[3,4]");
  EXPECT_EQ(report["new_shapes"][1]["inputs"], "x[5,4]");
  for (const Json& shape : report["new_shapes"]) {
    EXPECT_EQ(shape["first_ms"].size(), 4u);
    EXPECT_GT(shape["steady_ms"], 0);
    EXPECT_GE(shape["longest_ms"], shape["first_ms"][0]);
    EXPECT_GE(shape["longest_run"], 0);
    for (const auto& [parts, whole_ms] :
         {std::pair{shape["first_parts"], shape["first_ms"][0].get<double>()},
          std::pair{shape["longest_parts"], shape["longest_ms"].get<double>()}}) {
      double sum = 0;
      for (const Json& ms : parts) {
        EXPECT_GE(ms, -1e-6);  // what rounding may leave
        sum += ms.get<double>();
      }
      EXPECT_NEAR(sum, whole_ms, 1e-6);
    }
    EXPECT_GT(shape["first_parts"]["program_ms"], 0);
    EXPECT_GT(shape["first_parts"]["executor_ms"], 0);
    for (const char* part : {"load_ms", "pin_ms", "make_ms", "upload_ms", "library_ms"}) {
      EXPECT_TRUE(shape["first_parts"].contains(part)) << part;
    }
  }
  ASSERT_EQ(report["builds"].size(), 3u);
  EXPECT_EQ(report["builds"][2]["inputs"], "x[5,4]");
  ExpectFails(RunTool("shift.onnx --new-shapes 3x5"), 2, "--shape says [3,5]");
  ExpectFails(RunTool("shift.onnx --first-program fast"), 1,
              "--first-program: expected best or quick, found fast");
}

}  // namespace
}  // namespace onnx_cudnn
