#include "onnx_cudnn/check_model.h"

#include <gtest/gtest.h>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "tests/support/expect_error.h"
#include "tests/support/graph_text.h"
#include "tests/support/temp_folder.h"

namespace onnx_cudnn {
namespace {

constexpr std::string_view kHeader = R"(<ir_version: 10, opset_import: ["" : 21, "com.x" : 1]>)";

ModelCheck Checked(std::string_view text, CheckModelOptions options = {}) {
  const TempFolder folder;
  const absl::StatusOr<std::string> bytes = ModelBytesFromText(absl::StrCat(kHeader, text));
  EXPECT_TRUE(bytes.ok()) << bytes.status();
  Result<ModelCheck> check = CheckModel(folder.Write("m.onnx", *bytes), options);
  EXPECT_TRUE(check.ok()) << check.error().message;
  return check.value();
}

CheckModelOptions On(std::string target) { return {.session = {.target = std::move(target)}}; }

// "op node" of each refused node, joined by ", ".
std::string Refused(const ModelCheck& check) {
  std::string names;
  for (const RefusedNode& r : check.refused) {
    absl::StrAppend(&names, names.empty() ? "" : ", ", r.op, " ", r.node);
  }
  return names;
}

int64_t NodesOn(const ModelCheck& check, std::string_view engine) {
  for (const EngineNodes& e : check.engines) {
    if (e.engine == engine) return e.nodes;
  }
  return 0;
}

// Its branches have work for a GPU.
constexpr std::string_view kBranches = R"(
    g (float[128,128] x) => (float[128,128] y) <float zero = {0}> {
      s = ReduceSum<keepdims = 0>(x)
      c = Greater(s, zero)
      z = If(c) <then_branch = a () => (p) { p = MatMul(x, x) },
                 else_branch = b () => (q) { m = Neg(x) q = MatMul(m, x) }>
      y = Relu(z)
    })";

TEST(CheckBranchesTest, CountsBranchesThatRunAsPrograms) {
  const ModelCheck cpu = Checked(kBranches, On("cpu"));
  EXPECT_TRUE(cpu.runs());
  EXPECT_EQ(NodesOn(cpu, "between programs"), 0);
  const ModelCheck h200 = Checked(kBranches, On("h200"));
  EXPECT_TRUE(h200.runs());
  EXPECT_EQ(NodesOn(h200, "between programs"), 1);
  EXPECT_EQ(NodesOn(h200, "host"), 0);
  EXPECT_EQ(h200.later, 1);
}

TEST(CheckBranchesTest, APinnedModelIsOneProgram) {
  const ModelCheck check =
      Checked(kBranches, {.session = {.target = "h200", .pins = "forbid * c y"}});
  EXPECT_TRUE(check.runs()) << Refused(check);
  EXPECT_EQ(NodesOn(check, "between programs"), 0);
  EXPECT_EQ(check.later, 0);
}

// In a Run its value is known.
TEST(CheckModelTest, ABranchByAnInputRuns) {
  const ModelCheck check = Checked(R"(
      g (bool c, float[128,128] x) => (float[128,128] y) {
        z = If(c) <then_branch = a () => (p) { p = MatMul(x, x) },
                   else_branch = b () => (q) { m = Neg(x) q = MatMul(m, x) }>
        y = Relu(z)
      })",
                                   On("h200"));
  EXPECT_TRUE(check.runs()) << Refused(check);
}

TEST(CheckModelTest, CountsNodesByEngine) {
  constexpr std::string_view kModel = R"(
      g (float[N,8] x) => (float[N,4] y) <float[8,4] w = {1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,
         1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1}> {
        a = MatMul(x, w)
        y = Softmax(a)
      })";
  const ModelCheck cpu = Checked(kModel, On("cpu"));
  EXPECT_TRUE(cpu.runs());
  EXPECT_EQ(cpu.target, "cpu");
  EXPECT_EQ(NodesOn(cpu, "host"), 2);
  EXPECT_EQ(cpu.file_nodes, 2);
  ASSERT_EQ(cpu.inputs.size(), 1u);
  EXPECT_EQ(ToString(cpu.inputs[0]), "x f32[1,8]");
  const ModelCheck h200 = Checked(kModel, On("h200"));
  EXPECT_TRUE(h200.runs());
  EXPECT_EQ(NodesOn(h200, "host"), 0);
  EXPECT_EQ(NodesOn(h200, "kernel"), 2);
}

TEST(CheckModelTest, ListsEveryNodeThatDoesNotRun) {
  const ModelCheck check = Checked(R"(
      g (float[4] x) => (float[4] y, int64[1,n] z, float[4] w, float[2,2] v) {
        a = Sigmoid(x)
        b = com.x.Foo(a)
        y = com.x.Bar(b)
        z = NonZero(x)
        w = Softmax(x)
        v = NoSuchOp(x)
      })",
                                   On("cpu"));
  EXPECT_FALSE(check.runs());
  EXPECT_EQ(Refused(check), "com.x.Foo b, com.x.Bar y, NoSuchOp v");
  EXPECT_EQ(check.file_nodes, 6);
  EXPECT_EQ(NodesOn(check, "host"), 2);  // Sigmoid, of which only a refused node reads, and Softmax
  EXPECT_EQ(check.unchecked, 0);
  EXPECT_EQ(check.refused[0].opset, 1);
  EXPECT_EQ(check.refused[0].code, ErrorCode::kUnimplemented);
  EXPECT_TRUE(absl::StrContains(check.refused[0].reason, "the domain is not taken"));
  EXPECT_EQ(check.refused[2].opset, 21);
  EXPECT_EQ(check.refused[2].code, ErrorCode::kInvalidArgument);
  EXPECT_EQ(check.refused[2].reason, "opset 21 has no such op");
}

TEST(CheckModelTest, ListsEveryFormThatNoEngineRuns) {
  constexpr std::string_view kModel = R"(
      g (int32[1,1,2,2] x, float[1,2,2,2] grid)
          => (int32[1,1,2,2] y, int32[1,1,2,2] z, float[1,2,2,2] w) {
        y = GridSample (x, grid)
        z = GridSample <mode = "nearest"> (x, grid)
        w = Relu(grid)
      })";
  for (const char* target : {"cpu", "h200"}) {
    const ModelCheck check = Checked(kModel, On(target));
    EXPECT_EQ(Refused(check), "GridSample y, GridSample z") << target;
    EXPECT_EQ(check.engines.size(), 1u);
    ASSERT_FALSE(check.refused.empty());
    EXPECT_TRUE(absl::StartsWith(check.refused[0].reason, "no engine runs it: "));
    EXPECT_TRUE(absl::StrContains(check.refused[0].reason,
                                  "host: GridSample (opset 21) on i32: the type is not"))
        << check.refused[0].reason;
  }
}

TEST(CheckModelTest, ShapesThatDependOnDataAreCheckedLater) {
  const ModelCheck check = Checked(R"(
      g (float[2,2] m, float[2,6] x) => (float[a,b] y, float[c,d] z, float[2,6] w)
      <int64[1] axis = {1}> {
        top = ReduceMax <keepdims = 0> (m, axis)
        s = Cast <to = 7> (top)
        y = Reshape (x, s)
        z = Relu (y)
        w = Relu (x)
      })",
                                   On("cpu"));
  EXPECT_TRUE(check.runs());
  EXPECT_EQ(check.later, 2);  // Reshape and the Relu behind it
  EXPECT_EQ(check.unchecked, 0);
  EXPECT_EQ(NodesOn(check, "host"), 3);
}

TEST(CheckModelTest, NodesAfterARefusedOneAreCheckedIfTheFileDeclaresItsType) {
  constexpr std::string_view kNodes = R"( {
        a = com.x.Foo(x)
        b = Relu(a)
        y = Softmax(b)
      })";
  const std::string graph = "g (float[N,4] x) => (float[N,4] y)";
  const ModelCheck open = Checked(absl::StrCat(graph, kNodes), On("cpu"));
  EXPECT_EQ(Refused(open), "com.x.Foo a");
  EXPECT_EQ(open.unchecked, 2);
  EXPECT_TRUE(open.engines.empty());
  const ModelCheck typed = Checked(absl::StrCat(graph, "<float[N,4] a>", kNodes), On("cpu"));
  EXPECT_EQ(Refused(typed), "com.x.Foo a");
  EXPECT_EQ(typed.unchecked, 0);
  EXPECT_EQ(NodesOn(typed, "host"), 2);
  EXPECT_EQ(typed.inputs.size(), 1u);
}

TEST(CheckModelTest, AnOutputBehindARefusedNodeMayBeRead) {
  const ModelCheck check = Checked(R"(
      g (float[N,4] x) => (float[N,3,4] y, float[N,4] z) <int64 i = {0}> {
        a = com.x.Foo(x)
        y = Relu(a)
        b = Gather<axis = 1>(y, i)
        z = Relu(b)
      })",
                                   On("cpu"));
  EXPECT_EQ(Refused(check), "com.x.Foo a");
  EXPECT_EQ(check.unchecked, 3);
}

TEST(CheckModelTest, ListsTheNodesOfBodiesAndTheirOwner) {
  const ModelCheck check = Checked(R"(
      g (bool c, float[4] x) => (float[4] y) {
        y = If (c) <
          then_branch = t () => (float[4] p) { p = com.x.Foo(x) },
          else_branch = e () => (float[4] q) { r = com.x.Bar(x)  q = Relu(r) }>
      })",
                                   On("cpu"));
  EXPECT_EQ(check.refused.size(), 3u) << Refused(check);
  EXPECT_TRUE(absl::StrContains(Refused(check), "com.x.Foo p"));
  EXPECT_TRUE(absl::StrContains(Refused(check), "com.x.Bar r"));
  EXPECT_TRUE(absl::StrContains(Refused(check), "If y"));
}

TEST(CheckModelTest, InputsThatDecideShapesNeedValues) {
  constexpr std::string_view kModel = R"(
      g (float[6] x, int64[2] s) => (float[a,b] y) {
        r = Reshape(x, s)
        y = Relu(r)
      })";
  const ModelCheck without = Checked(kModel, On("cpu"));
  ASSERT_EQ(without.refused.size(), 1u);
  EXPECT_EQ(without.refused[0].op, "");
  EXPECT_TRUE(absl::StrContains(without.refused[0].reason, "input \"s\" decides shapes"));
  EXPECT_EQ(without.unchecked, 2);
  const int64_t shape[] = {2, 3};
  CheckModelOptions options = On("cpu");
  options.values.push_back({"s", View(shape, {2})});
  EXPECT_TRUE(Checked(kModel, options).runs());
}

TEST(CheckModelTest, ANodeThatDoesNotTakeTheShapesIsNotInvalid) {
  constexpr std::string_view kModel = R"(
      g (float[1,2,N,N] x) => (float[1,2,a,b] y, float[1,2,a,b] w) {
        p = AveragePool <kernel_shape = [3, 3]> (x)
        y = Relu(p)
        w = Sigmoid(x)
      })";
  const ModelCheck small = Checked(kModel, On("cpu"));
  EXPECT_EQ(Refused(small), "AveragePool p");
  ASSERT_EQ(small.refused.size(), 1u);
  EXPECT_EQ(small.refused[0].code, ErrorCode::kUnimplemented);
  EXPECT_TRUE(absl::StartsWith(small.refused[0].reason, "with these input shapes: its window of 3"))
      << small.refused[0].reason;
  EXPECT_EQ(small.unchecked, 1);
  EXPECT_EQ(NodesOn(small, "host"), 1);
  CheckModelOptions options = On("cpu");
  options.shapes = {{"x", {1, 2, 8, -1}}};
  EXPECT_TRUE(Checked(kModel, options).runs());
}

TEST(CheckModelTest, ChecksForTheGivenDims) {
  constexpr std::string_view kModel = "g (float[N,M] x) => (float[N,M] y) { y = Relu(x) }";
  CheckModelOptions options = On("cpu");
  options.shapes = {{"x", {3, -1}}};
  EXPECT_EQ(ToString(Checked(kModel, options).inputs[0]), "x f32[3,1]");
  const TempFolder folder;
  const std::string path =
      folder.Write("m.onnx", *ModelBytesFromText(absl::StrCat(kHeader, kModel)));
  options.shapes = {{"x", {3}}};
  ExpectError(CheckModel(path, options), ErrorCode::kInvalidArgument, "has rank 2, got [3]");
  options.shapes = {{"z", {3}}};
  ExpectError(CheckModel(path, options), ErrorCode::kInvalidArgument, "no input \"z\"");
}

TEST(CheckModelTest, AFileThatIsNoModelIsAnError) {
  const TempFolder folder;
  ExpectError(CheckModel(folder.path("none.onnx")), ErrorCode::kNotFound, "none.onnx");
  ExpectError(CheckModel(folder.Write("m.onnx", "no model")), ErrorCode::kInvalidArgument,
              "m.onnx");
  ExpectError(CheckModel(folder.path("none.onnx"), On("h900")), ErrorCode::kInvalidArgument,
              "unknown target");
}

}  // namespace
}  // namespace onnx_cudnn
