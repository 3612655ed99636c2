// Large tensors in a model's file are read by several threads, after the rest of the file.
#include <gtest/gtest.h>

#include <iterator>

#include "absl/strings/str_cat.h"
#include "runtime/import/onnx_loader.h"
#include "tests/support/failing_calls.h"
#include "tests/support/hostile.h"
#include "tests/support/model_builder.h"

namespace onnx_cudnn {
namespace {

using Proto = onnx::TensorProto;
using onnx::GraphProto;

class LargeFileTest : public testing::Test {
 protected:
  LargeFileTest() {
    onnx::ModelProto model = EmptyModel();
    GraphProto& g = *model.mutable_graph();
    for (size_t i = 0; i < std::size(kElements); ++i) {
      Proto& tensor = AddInitializer(g, absl::StrCat("w", i), Proto::UINT32, {kElements[i]});
      std::string& bytes = *tensor.mutable_raw_data();
      for (uint32_t n = 0; n < kElements[i]; ++n) {
        const uint32_t value = n * 2654435761u + static_cast<uint32_t>(i);
        bytes.append(reinterpret_cast<const char*>(&value), sizeof value);
      }
      AddOutput(g, absl::StrCat("w", i));
    }
    path_ = Save(folder_, model);
  }

  static constexpr int64_t kElements[] = {2'000'003, 1 << 19, 5, 3'000'000, (1 << 19) + 1};
  TempFolder folder_;
  std::string path_;
};

TEST_F(LargeFileTest, IsReadWhole) {
  const absl::StatusOr<Graph> graph = LoadModel(path_);
  ASSERT_TRUE(graph.ok()) << graph.status();
  for (size_t i = 0; i < std::size(kElements); ++i) {
    const absl::Span<const uint32_t> data = graph->outputs()[i].value->constant().data<uint32_t>();
    ASSERT_EQ(data.size(), kElements[i]);
    for (uint32_t n = 0; n < data.size(); ++n) {
      ASSERT_EQ(data[n], n * 2654435761u + static_cast<uint32_t>(i)) << "w" << i << " " << n;
    }
  }
}

TEST_F(LargeFileTest, AFileThatCannotBeReadWholeIsAnError) {
  FileCalls calls = SystemFileCalls();
  calls.pread = [](int fd, void* to, size_t bytes, off_t offset) -> ssize_t {
    const bool is_inside = offset > 15'000'000 && offset < 20'000'000;
    return is_inside ? 0 : SystemFileCalls().pread(fd, to, bytes, offset);
  };
  ScopedFileCalls scope(calls);
  EXPECT_EQ(LoadModel(path_).status().code(), absl::StatusCode::kDataLoss);
}

}  // namespace
}  // namespace onnx_cudnn
