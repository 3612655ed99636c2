// Models whose weights are parts of the same file.
#include <gtest/gtest.h>

#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "runtime/base/parts_file.h"
#include "runtime/graph/print.h"
#include "runtime/import/onnx_loader.h"
#include "runtime/import/onnx_writer.h"
#include "tests/support/edited_parts.h"
#include "tests/support/graph_text.h"
#include "tests/support/temp_folder.h"

namespace onnx_cudnn {
namespace {

// "{0, 1, 2, …}"
std::string Numbers(int count) {
  std::vector<int> numbers(count);
  for (int i = 0; i < count; ++i) numbers[i] = i;
  return absl::StrCat("{", absl::StrJoin(numbers, ", "), "}");
}

// Two equal weights of 64 floats, one of 16 floats, a scalar, and a body with a weight of its own.
std::string Text() {
  return absl::StrCat(R"(
      g (float[N,8] x, bool c) => (float[N,8] y)
        <float[8,8] w = )",
                      Numbers(64), ", float[8,8] v = ", Numbers(64),
                      ", float[2,8] b = ", Numbers(16), R"(, float s = {2}> {
        p = MatMul(x, w)
        q = MatMul(p, v)
        r = Mul(q, s)
        y = If(c)<
          then_branch = t () => (a)
            <float[2,8] k = )",
                      Numbers(16), R"(> { a = Add(r, k) },
          else_branch = e () => (a) { a = Add(r, b) }>
      })");
}

std::string WriteText(const TempFolder& folder, const std::string& text) {
  const Graph graph = GraphFromText(text);
  PartsWriter writer;
  const auto message = WriteModelWithout(graph, [&](const HostTensor& data) {
    return writer.Share({static_cast<const char*>(data.raw()), static_cast<size_t>(data.bytes())});
  });
  EXPECT_TRUE(message.ok()) << message.status();
  writer.AddView(kModelPart, *message);
  EXPECT_TRUE(writer.WriteTo(folder.path("m.ocp")).ok());
  return folder.path("m.ocp");
}

// The Graph with the bytes of its constants, or the error.
std::string Described(const absl::StatusOr<Graph>& graph) {
  if (!graph.ok()) return graph.status().ToString();
  return WriteModel(*graph).value();
}

TEST(ModelPartsTest, LoadAsTheModelDoes) {
  const TempFolder folder;
  const std::string path = WriteText(folder, Text());
  const std::string inlined = WriteModel(GraphFromText(Text())).value();
  const std::string expected = Described(LoadModelBytes(inlined));
  EXPECT_EQ(Described(LoadModel(path)), expected);
  EXPECT_EQ(Described(LoadModelBytes(ReadFile(path, 1 << 20).value())), expected);
}

TEST(ModelPartsTest, ShareEqualWeightsWhichAreNotCopied) {
  const TempFolder folder;
  const std::string path = WriteText(folder, Text());
  const absl::StatusOr<File> file = File::Open(path);
  const auto parts = PartsFile::Open(*file);
  ASSERT_TRUE(parts.ok()) << parts.status();
  EXPECT_EQ((*parts)->parts(), (std::vector<std::string_view>{"w1", "w2", "model"}));
  const absl::StatusOr<Graph> graph = LoadModelPart(*parts, kModelPart);
  ASSERT_TRUE(graph.ok()) << graph.status();
  int in_parts = 0;
  for (const Value* value : graph->Values()) {
    if (value->is_constant() && (*parts)->PartAt(value->constant().raw()).has_value()) ++in_parts;
  }
  EXPECT_GE(in_parts, 2);  // w, v and, as an input of the If or in its body, b
}

// Its weights stay when the file's object goes.
TEST(ModelPartsTest, AGraphKeepsItsFile) {
  const TempFolder folder;
  const absl::StatusOr<Graph> graph = LoadModel(WriteText(folder, Text()));
  ASSERT_TRUE(graph.ok()) << graph.status();
  for (const Value* value : graph->Values()) {
    if (!value->is_constant() || value->constant().elements() != 64) continue;
    EXPECT_EQ(value->constant().data<float>()[63], 63);
  }
}

TEST(ModelPartsTest, EachFlippedByteIsAnErrorOrChangesNothing) {
  const TempFolder folder;
  const std::string whole = ReadFile(WriteText(folder, Text()), 1 << 20).value();
  const std::string expected = Described(LoadModelBytes(whole));
  int refused = 0;
  for (size_t i = 0; i < whole.size(); ++i) {
    std::string flipped = whole;
    flipped[i] = static_cast<char>(flipped[i] ^ (1 << i % 8));
    const absl::StatusOr<Graph> graph = LoadModelBytes(flipped);
    refused += graph.ok() ? 0 : 1;
    if (graph.ok()) {
      EXPECT_EQ(Described(graph), expected) << i;
    }
  }
  EXPECT_GT(refused, 500);  // all but padding
}

TEST(ModelPartsTest, RefuseWhatTheMessageSaysOfThemFalsely) {
  const TempFolder folder;
  const std::string path = WriteText(folder, Text()), edited = folder.path("e.ocp");
  const auto error = [&] { return LoadModel(edited).status(); };
  EditParts(path, edited, [](std::string_view name, std::string& bytes) {
    if (name == "w1") bytes.pop_back();
    return true;
  });
  EXPECT_TRUE(absl::IsInvalidArgument(error())) << error();
  EXPECT_TRUE(absl::StrContains(error().message(), "dims and type need 256")) << error();
  EditParts(path, edited, [](std::string_view name, std::string&) { return name != "w2"; });
  EXPECT_TRUE(absl::IsInvalidArgument(error())) << error();
  EXPECT_TRUE(absl::StrContains(error().message(), "has no part \"w2\"")) << error();
  EditParts(path, edited, [](std::string_view name, std::string&) { return name != "model"; });
  EXPECT_TRUE(absl::StrContains(error().message(), "has no part \"model\"")) << error();
}

}  // namespace
}  // namespace onnx_cudnn
