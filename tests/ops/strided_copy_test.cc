#include "runtime/ops/strided_copy.h"

#include <gtest/gtest.h>

#include <numeric>
#include <random>

#include "runtime/graph/types.h"

namespace onnx_cudnn {
namespace {

template <typename E>
void ExpectTransposes(const Dims& dims, const std::vector<int>& perm, ThreadPool& threads) {
  const std::vector<int64_t> strides = RowMajorStrides(dims);
  std::vector<CopyAxis> axes;
  int64_t n = 1;
  for (int p : perm) axes.push_back({dims[p], strides[p], 0});
  for (size_t a = axes.size(); a-- > 0; n *= axes[a].extent) axes[a].to = n;
  std::vector<E> from(n), to(n), expected(n);
  std::iota(from.begin(), from.end(), E{1});
  for (int64_t i = 0; i < n; ++i) {
    int64_t source = 0;
    for (const CopyAxis& axis : axes) source += i / axis.to % axis.extent * axis.from;
    expected[i] = from[source];
  }
  StridedCopy(from.data(), to.data(), sizeof(E), axes, threads);
  EXPECT_EQ(to, expected) << ToString(absl::MakeConstSpan(dims));
}

TEST(StridedCopyTest, TransposesAsOneElementAtATimeWould) {
  std::mt19937 random(1);
  ThreadPool threads(3);
  for (int round = 0; round < 200; ++round) {
    std::vector<int> perm(1 + random() % 4);
    std::iota(perm.begin(), perm.end(), 0);
    std::shuffle(perm.begin(), perm.end(), random);
    Dims dims;
    for (size_t i = 0; i < perm.size(); ++i)
      dims.push_back(1 + random() % (perm.size() > 2 ? 9 : 150));
    ExpectTransposes<uint8_t>(dims, perm, threads);
    ExpectTransposes<uint32_t>(dims, perm, threads);
    ExpectTransposes<uint64_t>(dims, perm, threads);
  }
  ExpectTransposes<uint32_t>({2, 300, 400}, {0, 2, 1}, threads);
}

TEST(StridedCopyTest, WritesNothingButItsElements) {
  ThreadPool threads(2);
  const std::vector<uint16_t> from = {1, 2, 3, 4};
  std::vector<uint16_t> to(8, 9);
  StridedCopy(from.data(), to.data() + 1, 2, {{2, 2, 4}, {2, 1, 1}}, threads);
  EXPECT_EQ(to, (std::vector<uint16_t>{9, 1, 2, 9, 9, 3, 4, 9}));
}

TEST(StridedCopyTest, RepeatsAndReverses) {
  ThreadPool threads(2);
  const std::vector<uint32_t> from = {1, 2, 3};
  std::vector<uint32_t> to(6);
  StridedCopy(from.data() + 2, to.data(), 4, {{2, 0, 3}, {3, -1, 1}}, threads);
  EXPECT_EQ(to, (std::vector<uint32_t>{3, 2, 1, 3, 2, 1}));
}

TEST(StridedCopyTest, FillsAndCopiesLargeBuffers) {
  ThreadPool threads(4);
  const uint32_t seven = 7;
  std::vector<uint32_t> a(100001), b(100001);
  FillElements(a.data(), &seven, 4, a.size(), threads);
  EXPECT_EQ(a, std::vector<uint32_t>(100001, 7));
  CopyBytes(a.data(), b.data(), a.size() * 4, threads);
  EXPECT_EQ(a, b);
}

}  // namespace
}  // namespace onnx_cudnn
