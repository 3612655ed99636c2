// Rule by rule: what one cuDNN graph may contain, and what it may not.
#include "tests/support/proposed.h"

namespace onnx_cudnn {
namespace {

class CudnnFusionTest : public EngineTest {
 protected:
  CudnnFusionTest() : EngineTest("cudnn") {}
};

TEST_F(CudnnFusionTest, OpsFusedAfterAConvolution) {
  ExpectCases({
      {"bias and Relu",
       "g (float16[1,8,4,4] x, float16[8,8,3,3] w, float16[8] wb) => (y) "
       "{ t = Conv<pads = [1,1,1,1]>(x, w, wb) y = Relu(t) }",
       "Conv", "{Conv Relu}"},
      {"a residual and Relu",
       "g (float16[1,8,4,4] x, float16[8,8,1,1] w) => (y) "
       "{ t = Conv(x, w) s = Add(x, t) y = Relu(s) }",
       "Conv", "{Conv Add Relu}"},
      {"a chain of activations with one operand per channel",
       "g (float16[1,8,4,4] x, float16[8,8,1,1] w, float16[8,1,1] ws) => (y) "
       "{ t = Conv(x, w) s = Mul(t, ws) u = HardSwish(s) y = Tanh(u) }",
       "Conv", "{Conv Mul HardSwish Tanh}"},
      {"a diamond",
       "g (float16[1,8,4,4] x, float16[8,8,1,1] w) => (y) "
       "{ t = Conv(x, w) s = Sigmoid(t) y = Mul(t, s) }",
       "Conv", "{Conv Sigmoid Mul}"},
      {"an operand per pixel",
       "g (float16[1,8,4,4] x, float16[8,8,1,1] w, float16[1,1,4,4] m) => (y) "
       "{ t = Conv(x, w) y = Mul(t, m) }",
       "Conv", "{Conv Mul}"},
      {"an element-wise op on the residual",
       "g (float16[1,8,4,4] x, float16[1,8,4,4] r, float16[8,8,1,1] w) => (y) "
       "{ t = Conv(x, w) a = Abs(r) y = Add(t, a) }",
       "Conv", "{Abs Conv Add}"},
  });
}

TEST_F(CudnnFusionTest, OpsNotFusedAfterAConvolution) {
  ExpectCases({
      {"no operand per image and channel",
       "g (float16[2,8,4,4] x, float16[8,8,1,1] w, float16[2,8,1,1] s) => (y) "
       "{ t = Conv(x, w) y = Mul(t, s) }",
       "Conv", "{Conv}", "t to Mul: cuDNN takes operands of one number"},
      {"no broadcast first operand",
       "g (float16[1,8,4,4] x, float16[8,8,1,1] w, float16[8,1,1] ws) => (y) "
       "{ t = Conv(x, w) y = Sub(ws, t) }",
       "Conv", "{Conv}", "t to Sub: the first operand"},
      {"no result of a larger shape",
       "g (float16[1,8,1,1] x, float16[8,8,1,1] w, float16[1,8,4,4] r) => (y) "
       "{ t = Conv(x, w) y = Add(t, r) }",
       "Conv", "{Conv}", "t to Add: the op's result differs in shape"},
      {"no op without a pointwise mode",
       "g (float16[1,8,4,4] x, float16[8,8,1,1] w) => (y) { t = Conv(x, w) y = Round(t) }", "Conv",
       "{Conv}", "t to Round: cuDNN has no pointwise mode"},
      {"no integers",
       "g (float16[1,8,4,4] x, float16[8,8,1,1] w) => (y) "
       "{ t = Conv(x, w) y = Cast<to = 6>(t) }",
       "Conv", "{Conv}", "t to Cast: cuDNN's fusions take f16"},
      {"no pooling",
       "g (float16[1,8,4,4] x, float16[8,8,1,1] w) => (y) "
       "{ t = Conv(x, w) u = Relu(t) y = MaxPool<kernel_shape = [2,2]>(u) }",
       "Conv", "{Conv Relu}", "u to MaxPool: cuDNN's pooling reads"},
      {"no second convolution",
       "g (float16[1,8,4,4] x, float16[8,8,1,1] w) => (y) { t = Conv(x, w) y = Conv(t, w) }",
       "Conv", "{Conv}", "t to Conv: a cuDNN graph holds one"},
      {"no reduction",
       "g (float16[1,8,4,4] x, float16[8,8,1,1] w) => (y) { t = Conv(x, w) y = ReduceSum(t) }",
       "Conv", "{Conv}", "t to ReduceSum: a reduction behind"},
      {"no Transpose",
       "g (float16[1,8,4,4] x, float16[8,8,1,1] w) => (y) { t = Conv(x, w) y = Transpose(t) }",
       "Conv", "{Conv}", "t to Transpose: only element-wise ops"},
      {"no operand that is computed outside from the result",
       "g (float16[1,8,4,4] x, float16[8,8,1,1] w) => (y) "
       "{ t = Conv(x, w) u = Conv(t, w) y = Add(t, u) }",
       "Conv", "{Conv}", "t to Add: another operand of the node is computed outside"},
      {"no fused value that has other readers",
       "g (float16[1,8,4,4] x, float16[8,8,1,1] w) => (t, y) { t = Conv(x, w) y = Relu(t) }",
       "Conv", "{Conv}", "t to Relu: cuDNN's plans that write a fused value as well"},
      {"a fused value whose readers are all fused",
       "g (float16[1,8,4,4] x, float16[8,8,1,1] w) => (y) "
       "{ t = Conv(x, w) s = Sigmoid(t) y = Mul(t, s) }",
       "Conv", "{Conv Sigmoid Mul}"},
  });
}

TEST_F(CudnnFusionTest, OpsFusedBeforeAConvolution) {
  ExpectCases({
      {"a Relu before",
       "g (float16[1,8,4,4] x, float16[8,8,1,1] w) => (y) { t = Relu(x) y = Conv(t, w) }", "Conv",
       "{Relu Conv}"},
      {"a Clip before and a chain behind",
       "g (float16[1,8,4,4] x, float16[8,8,3,3] w) => (y) "
       "{ l = Constant<value = float16 {0}>() t = Clip(x, l) s = Conv(t, w) y = Relu(s) }",
       "Conv", "{Clip Conv Relu}"},
      {"no maximum of two values",
       "g (float16[1,8,4,4] x, float16[8,8,1,1] w, float16[1,8,4,4] z) => (y) "
       "{ t = Conv(x, w) y = Max(t, z) }",
       "Conv", "{Conv}", "t to Max: cuDNN's maximum and minimum of two values lose NaN"},
      {"a scale per channel before",
       "g (float16[1,8,4,4] x, float16[8,8,1,1] w, float16[8,1,1] ws) => (y) "
       "{ t = Mul(x, ws) y = Conv(t, w) }",
       "Conv", "{Mul Conv}"},
      {"what maps zero to zero before a padded convolution",
       "g (float16[1,8,4,4] x, float16[8,8,3,3] w, float16[8,1,1] ws) => (y) "
       "{ a = Relu(x) b = Mul(a, ws) c = Tanh(b) y = Conv<pads = [1,1,1,1]>(c, w) }",
       "Conv", "{Relu Mul Tanh Conv}"},
      {"no sum with numbers before a padded convolution",
       "g (float16[1,8,4,4] x, float16[8,8,3,3] w, float16[8,1,1] ws) => (y) "
       "{ a = Add(x, ws) y = Conv<pads = [1,1,1,1]>(a, w) }",
       "Conv", "{Conv}",
       "a to Add: cuDNN computes what stands before a convolution on its padding"},
      {"no Sigmoid before a padded convolution",
       "g (float16[1,8,4,4] x, float16[8,8,3,3] w) => (y) "
       "{ a = Sigmoid(x) b = Relu(a) y = Conv<pads = [1,1,1,1]>(b, w) }",
       "Conv", "{Relu Conv}", "a to Sigmoid: cuDNN computes what stands before a convolution on"},
      {"no Clip above zero before a padded convolution",
       "g (float16[1,8,4,4] x, float16[8,8,3,3] w) => (y) { l = Constant<value = float16 {1}>() "
       "t = Clip(x, l) y = Conv<pads = [1,1,1,1]>(t, w) }",
       "Conv", "{Conv}", "t to Clip: cuDNN computes what stands before a convolution on"},
      {"no scale that is computed before a padded convolution",
       "g (float16[1,8,4,4] x, float16[8,8,3,3] w, float16[8,1,1] s) => (y) "
       "{ a = Mul(x, s) y = Conv<pads = [1,1,1,1]>(a, w) }",
       "Conv", "{Conv}", "a to Mul: cuDNN computes what stands before a convolution on"},
      {"sums and a Sigmoid before a convolution without padding",
       "g (float16[1,8,4,4] x, float16[8,8,3,3] w, float16[8,1,1] ws) => (y) "
       "{ a = Add(x, ws) b = Sigmoid(a) y = Conv(b, w) }",
       "Conv", "{Add Sigmoid Conv}"},
  });
}

TEST_F(CudnnFusionTest, OtherConvolutions) {
  ExpectCases({
      {"no two images before",
       "g (float16[1,8,4,4] x, float16[1,8,4,4] z, float16[8,8,1,1] w) => (y) "
       "{ a = Add(x, z) b = Relu(a) y = Conv(b, w) }",
       "Conv", "{Relu Conv}", "a to Add: one image enters what stands before a convolution"},
      {"no mask per pixel before",
       "g (float16[1,8,4,4] x, float16[1,1,4,4] m, float16[8,8,1,1] w) => (y) "
       "{ a = Mul(x, m) y = Conv(a, w) }",
       "Conv", "{Conv}", "a to Mul: one image enters what stands before a convolution"},
      {"nothing before where others read it",
       "g (float16[1,8,4,4] x, float16[8,8,1,1] w) => (y, t) { t = Relu(x) y = Conv(t, w) }",
       "Conv", "{Conv}"},
      {"nothing before an odd number of channels",
       "g (float16[1,3,4,4] x, float16[8,3,1,1] w) => (y) { t = Relu(x) y = Conv(t, w) }", "Conv",
       "{Conv}", "t to Relu: before a convolution cuDNN computes only on channels"},
      {"nothing before a transposed convolution",
       "g (float16[1,8,4,4] x, float16[8,8,2,2] w) => (y) "
       "{ t = Relu(x) y = ConvTranspose<strides = [2,2]>(t, w) }",
       "ConvTranspose", "{ConvTranspose}", "t to Relu: nothing stands before"},
      {"an activation behind a transposed convolution",
       "g (float16[1,8,4,4] x, float16[8,8,2,2] w) => (y) "
       "{ t = ConvTranspose<strides = [2,2]>(x, w) y = Relu(t) }",
       "ConvTranspose", "{ConvTranspose Relu}"},
      {"no asymmetric pads",
       "g (float[1,8,4,4] x, float[8,8,3,3] w) => (y) { y = Conv<pads = [0,0,1,1]>(x, w) }", "Conv",
       "", "it pads 0 before and 1 behind"},
      {"no f64", "g (double[1,8,4,4] x, double[8,8,1,1] v) => (y) { y = Conv(x, v) }", "Conv", "",
       "it is on f64"},
      {"no transposed convolution in groups",
       "g (float[1,8,4,4] x, float[8,4,2,2] w) => (y) { y = ConvTranspose<group = 2>(x, w) }",
       "ConvTranspose", "", "in groups"},
      {"no transposed convolution that its windows do not fill",
       "g (float[1,8,4,4] x, float[8,8,2,2] w) => (y) "
       "{ y = ConvTranspose<output_shape = [9,9]>(x, w) }",
       "ConvTranspose", "", "its output is 9 long, 4 windows reach less"},
      {"one and three spatial axes",
       "g (float[1,8,4] x, float[8,8,1] w) => (y) { t = Conv(x, w) y = Relu(t) }", "Conv",
       "{Conv Relu}"},
  });
}

TEST_F(CudnnFusionTest, ProductsAndElementWiseOps) {
  ExpectCases({
      {"a product with bias, activation and residual",
       "g (float16[2,4,8] x, float16[8,16] w, float16[16] wb, float16[2,4,16] r) => (y) "
       "{ t = MatMul(x, w) u = Add(t, wb) v = Gelu(u) y = Add(v, r) }",
       "MatMul", "{MatMul Add Gelu Add}"},
      {"an element-wise op on either factor",
       "g (float16[4,8] a, float16[8,8] b) => (y) { c = Relu(a) d = Abs(b) y = MatMul(c, d) }",
       "MatMul", "{Abs Relu MatMul}"},
      {"Gemm with its addend",
       "g (float16[4,8] a, float16[8,8] w, float16[4,8] c) => (y) "
       "{ t = Gemm<transB = 1, alpha = 0.5>(a, w, c) y = Relu(t) }",
       "Gemm", "{Gemm Relu}"},
      {"no odd rows", "g (float16[4,3] a, float16[3,8] w) => (y) { y = MatMul(a, w) }", "MatMul",
       "", "do not fill a multiple of 32 bits"},
      {"no vectors", "g (float[8] a, float[8,4] w) => (y) { y = MatMul(a, w) }", "MatMul", "",
       "a is a vector"},
      {"no batch that broadcasts in part",
       "g (float[2,1,4,8] a, float[2,3,8,4] b) => (y) { y = MatMul(a, b) }", "MatMul", "",
       "broadcasts over a part of the batch"},
      {"no mask per key behind a product",
       "g (float16[2,2,4,8] a, float16[2,2,8,8] b, float16[2,1,1,8] m) => (y) "
       "{ t = MatMul(a, b) y = Add(t, m) }",
       "MatMul", "{MatMul}", "t to Add: cuDNN takes operands"},
      {"no softmax behind a product",
       "g (float16[4,8] a, float16[8,8] w) => (y) { t = MatMul(a, w) y = Softmax(t) }", "MatMul",
       "{MatMul}", "t to Softmax: only element-wise ops"},
      {"element-wise ops in one graph, several outputs among them",
       "g (float[4,8] a, float[4,8] b) => (y, z) "
       "{ c = Sigmoid(a) d = Tanh(b) y = Mul(c, d) z = Exp(y) }",
       "Sigmoid", "{Tanh Sigmoid Mul Exp}"},
      {"element-wise ops with any broadcast operand",
       "g (float[2,3,4,5] a, float[3,1,5] b) => (y) { c = Add(a, b) y = Relu(c) }", "Add",
       "{Add Relu}"},
      {"no element-wise ops on integers", "g (int64[4] a) => (y) { y = Neg(a) }", "Neg", "",
       "it is on i64"},
      {"no element-wise op on another shape",
       "g (float[4,1] a, float[4,8] b) => (y) { c = Relu(a) y = Add(c, b) }", "Relu", "{Relu}",
       "c to Add: the op's result differs"},
      {"no rank above 5", "g (float[1,1,1,1,1,2] a) => (y) { y = Relu(a) }", "Relu", "",
       "has rank 6"},
  });
}

TEST_F(CudnnFusionTest, ASlopeOfMoreDimensionsIsAnotherEnginesError) {
  const Graph graph = GraphWithWeights(
      "g (float16[2,2,1,2] x, float16[2,2,2,1,2] s) => (float16[2,2,1,2] y) { y = PRelu(x, s) }");
  EXPECT_EQ(LinesAt(graph, "PRelu"), std::vector<std::string>());
}

TEST_F(CudnnFusionTest, ReductionsNormsAndPools) {
  ExpectCases({
      {"a reduction as the exit",
       "g (float[4,8] a) => (y) { b = Abs(a) c = Sqrt(b) y = ReduceMean(c) }", "ReduceMean",
       "{Abs Sqrt ReduceMean}"},
      {"nothing behind a reduction", "g (float[4,8] a) => (y) { b = ReduceMean(a) y = Relu(b) }",
       "ReduceMean", "{ReduceMean}", "b to Relu: a reduction is the last"},
      {"no reduction of f16", "g (float16[4,8] a) => (y) { y = ReduceMean(a) }", "ReduceMean", "",
       "it is on f16"},
      {"LayerNormalization with an activation",
       "g (float16[2,4,8] x, float16[8] w, float16[8] wb) => (y) "
       "{ t = LayerNormalization(x, w, wb) y = Relu(t) }",
       "LayerNormalization", "{LayerNormalization Relu}"},
      {"RMSNormalization",
       "g (float16[2,4,8] x, float16[8] w) => (y) { y = RMSNormalization(x, w) }",
       "RMSNormalization", "{RMSNormalization}"},
      {"no statistics",
       "g (float[2,4,8] x, float[8] w) => (y, m) { y, m = LayerNormalization(x, w) }",
       "LayerNormalization", "", "is used"},
      {"no rows that do not fill vectors",
       "g (float16[2,4,6] x, float16[6] w) => (y) { y = LayerNormalization(x, w) }",
       "LayerNormalization", "", "does not fill a multiple of 128 bits"},
      {"pooling alone",
       "g (float16[1,8,4,4] x) => (y) { t = MaxPool<kernel_shape = [2,2]>(x) y = Relu(t) }",
       "MaxPool", "{MaxPool}", "t to Relu: cuDNN's pooling stands alone"},
      {"no pooling with indices",
       "g (float[1,8,4,4] x) => (y, i) { y, i = MaxPool<kernel_shape = [2,2]>(x) }", "MaxPool", "",
       "its indices are used"},
      {"no dilated pooling",
       "g (float[1,8,4,4] x) => (y) { y = MaxPool<kernel_shape = [2,2], dilations = [2,2]>(x) }",
       "MaxPool", "", "dilated"},
      {"no average over windows that reach behind the padding",
       "g (float[1,8,5,5] x) => (y) "
       "{ y = AveragePool<kernel_shape = [2,2], strides = [2,2], ceil_mode = 1>(x) }",
       "AveragePool", "", "ceil_mode"},
      {"no empty tensors", "g (float[0,4] x) => (y) { y = Relu(x) }", "Relu", "",
       "not a static tensor with elements"},
      {"no Softmax", "g (float[2,4] x) => (y) { y = Softmax(x) }", "Softmax", "",
       "no pattern is built around it"},
  });
}

}  // namespace
}  // namespace onnx_cudnn
