// A product's third operand, C of a * w + C, is written by the launch before, which under
// programmatic dependent launch need not have ended when the product's launch begins. A launch that
// reads C too early gets that of the Run before, which is another one here.
#include <array>
#include <cstdint>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "onnx_cudnn/session.h"
#include "runtime/import/onnx_writer.h"
#include "tests/gpu/gpu_test.h"
#include "tests/support/proposed.h"

namespace onnx_cudnn {
namespace {

constexpr int kRuns = 3000;

// f16 numbers from 0.5 to 1.
std::vector<uint16_t> Halves(int64_t elements) {
  std::vector<uint16_t> bits(elements);
  for (int64_t i = 0; i < elements; ++i) bits[i] = 0x3800 + (2654435761u * i >> 20) % 0x400;
  return bits;
}

TensorView HalfView(const std::vector<uint16_t>& bits, std::vector<int64_t> shape) {
  TensorView view{.dtype = DType::kF16, .shape = std::move(shape)};
  view.data = const_cast<uint16_t*>(bits.data());
  return view;
}

class EarlyReadsTest : public testing::Test {
 protected:
  void SetUp() override {
    if (!GpuUnderTest().ok()) {
      GTEST_SKIP() << "needs a CUDA device: " << GpuUnderTest().status().message();
    }
    if (IsEmulated()) GTEST_SKIP() << "needs a CUDA device: the emulation has no Session";
  }

  // Our kernel writes C, `engine` runs the product and its Add.
  static void ExpectEqualBits(const std::string& engine, int rows, int depth, int columns) {
    SCOPED_TRACE(absl::StrCat(engine, " ", rows, "x", depth, "x", columns));
    const Graph graph = GraphWithWeights(
        absl::StrCat("g (float16[", rows, ",", columns, "] x, float16[1] s, float16[", rows, ",",
                     depth, "] a, float16[", depth, ",", columns, "] w) => (y) ",
                     "{ c = Mul(x, s) m = MatMul(a, w) y = Add(m, c) }"));
    auto session = Session::LoadBytes(WriteModel(graph).value(),
                                      {.device = DeviceChoice::kCuda,
                                       .pins = absl::StrCat("pin kernel c\npin ", engine, " m y")});
    ASSERT_TRUE(session.ok()) << session.error().message;
    const std::vector<uint16_t> xs = Halves(int64_t{rows} * columns),
                                as = Halves(int64_t{rows} * depth);
    std::vector<uint16_t> s = {0};
    const Tensor x = session.value().ToDevice(HalfView(xs, {rows, columns})).value();
    const Tensor a = session.value().ToDevice(HalfView(as, {rows, depth})).value();
    const Tensor y = session.value().ToDevice(HalfView(xs, {rows, columns})).value();
    auto binding = session.value().Bind({x.view(), HalfView(s, {1}), a.view()}, {y.view()});
    ASSERT_TRUE(binding.ok()) << binding.error().message;
    std::array<std::string, 2> expected;
    int wrong = 0;
    for (int run = 0; run < kRuns; ++run) {
      s[0] = run % 2 == 0 ? 0x3C00 : 0xB800;  // 1 and -0.5
      ASSERT_TRUE(binding.value().Run().ok());
      const Tensor found = session.value().ToHost(y).value();
      std::string& bits = expected[run % 2];
      if (bits.empty()) bits.assign(static_cast<const char*>(found.raw()), found.bytes());
      wrong += std::memcmp(bits.data(), found.raw(), bits.size()) != 0;
    }
    EXPECT_NE(expected[0], expected[1]);
    EXPECT_EQ(wrong, 0) << "of " << kRuns << " runs";
  }
};

TEST_F(EarlyReadsTest, ProductsWaitForWhatTheLaunchBeforeWrote) {
  for (const char* engine : {"gemm", "cudnn", "kernel"}) {
    ExpectEqualBits(engine, 2048, 256, 1024);
    ExpectEqualBits(engine, 512, 64, 512);  // the product begins within the launch before
  }
}

}  // namespace
}  // namespace onnx_cudnn
