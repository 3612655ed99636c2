// The kernel decode_attention on caches of many keys against the reference.
#include <string>

#include "absl/strings/substitute.h"
#include "tests/gpu/kernel_test.h"
#include "tests/support/graph_text.h"

namespace onnx_cudnn {
namespace {

class DecodeAttentionTest : public KernelTest {
 protected:
  void Check(const std::string& dtype, int batch, int keys, int channels, bool has_lengths) {
    const std::string text = absl::Substitute(
        "g ($0[$1,32,1,$3] q, $0[$1,8,$2,$3] k, $0[$1,8,$2,$3] v$4) => (y) "
        "{ y = Attention(q, k, v$5) }",
        dtype, batch, keys, channels, has_lengths ? absl::Substitute(", int64[$0] n", batch) : "",
        has_lengths ? ", , , , n" : "");
    SCOPED_TRACE(text);
    const Graph graph = GraphFromText(text);
    EXPECT_GT(CheckAll(graph, OfAllNodes(graph, "Attention", target()), target()), 0);
  }
};

TEST_F(DecodeAttentionTest, LongCaches) {
  for (const char* dtype : {"float16", "bfloat16"}) {
    for (const int channels : {64, 128}) {
      Check(dtype, 1, ShortIfEmulated(2048), channels, false);
      Check(dtype, 3, ShortIfEmulated(1000), channels, false);
      Check(dtype, 16, 300, channels, true);
    }
  }
}

}  // namespace
}  // namespace onnx_cudnn
