// Sessions of models in which an op takes a size that is computed from data, with a Program behind.
#include <algorithm>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/session/on_devices.h"

namespace onnx_cudnn {
namespace {

using Floats = std::vector<float>;

// Nodes that compute t from x[4], of as many elements as `size` or `sizes` says, which is the
// largest element of x.
struct SizedOp {
  const char* nodes;
  Floats of_3, of_2;  // t for x = {3, 1, 2, 0} and {2, 1, 0, 1}
};

const SizedOp kSizedOps[] = {
    {"t, at = TopK(x, sizes)", {3, 2, 1}, {2, 1}},
    {"i = Range(zero, size, step) t = Cast<to = 1>(i)", {0, 1, 2}, {0, 1}},
    {"t = ConstantOfShape(sizes)", {0, 0, 0}, {0, 0}},
    {"t = Expand(seven, sizes)", {7, 7, 7}, {7, 7}},
    {"t = Slice(x, first, sizes)", {3, 1, 2}, {2, 1}},
    {R"(t = Resize<mode = "nearest", coordinate_transformation_mode = "asymmetric",
                   nearest_mode = "floor">(x, , , sizes))",
     {3, 1, 2},
     {2, 0}},
    {R"(a = Reshape(x, planes)
        p, at = MaxPool<kernel_shape = [2], strides = [2]>(a)
        length = Add(sizes, more)
        dims = Concat<axis = 0>(one, one, length)
        u = MaxUnpool<kernel_shape = [2], strides = [2]>(p, at, dims)
        t = Reshape(u, all))",
     {3, 0, 2, 0, 0, 0},
     {2, 0, 0, 1, 0}}};

class ComputedSizesTest : public SessionOnDevices {
 protected:
  // Runs with rows {x}, the largest of which the Program behind the op adds to t.
  void Expect(const Floats& x, Floats t) {
    for (float& element : t) element += *std::max_element(x.begin(), x.end());
    const auto outputs = Run({TensorOf<float>({1, 4}, x)});
    ASSERT_EQ(outputs.size(), 1u);
    ExpectTensor<float>(outputs[0], {static_cast<int64_t>(t.size())}, t);
    EXPECT_EQ(session().stats().segments, 2);
    EXPECT_EQ(session().stats().size_reads, 1);
  }
};

TEST_P(ComputedSizesTest, EachOpTakesASizeFromData) {
  for (const SizedOp& op : kSizedOps) {
    SCOPED_TRACE(op.nodes);
    Load(absl::StrCat(R"(
        g (float[1,N] rows) => (float[M] y)
        <int64[1] one = {1}, int64[1] first = {0}, int64[1] more = {3}, int64[1] all = {-1},
         int64[3] planes = {1, 1, -1}, int64 zero = {0}, int64 step = {1}, float[1] seven = {7}> {
          x = Squeeze(rows, first)
          largest = ReduceMax<keepdims = 0>(x)
          size = Cast<to = 7>(largest)
          sizes = Reshape(size, one) )",
                      op.nodes, " y = Add(t, largest) }"));
    Expect({3, 1, 2, 0}, op.of_3);
    Expect({2, 1, 0, 1}, op.of_2);
  }
}

INSTANTIATE_TEST_SUITE_P(Devices, ComputedSizesTest, AllDevices(), NameOfDevice);

}  // namespace
}  // namespace onnx_cudnn
