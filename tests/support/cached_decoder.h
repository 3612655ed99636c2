// A layer of a decoder whose cache of keys and values grows with each Run.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include "onnx_cudnn/session.h"

namespace onnx_cudnn {

inline constexpr std::string_view kCachedDecoder = R"(
    g (float[1,S,8] x, float[1,2,P,4] past_key, float[1,2,P,4] past_value)
      => (float[1,S,8] y, float[1,2,T,4] key, float[1,2,T,4] value)
    <int64[4] heads = {0, 0, 2, 4}, int64[3] rows = {0, 0, 8}> {
      parts = Reshape(x, heads)
      q = Transpose<perm = [0, 2, 1, 3]>(parts)
      k = Tanh(q)
      v = Sigmoid(q)
      key = Concat<axis = 2>(past_key, k)
      value = Concat<axis = 2>(past_value, v)
      columns = Transpose<perm = [0, 1, 3, 2]>(key)
      scores = MatMul(q, columns)
      shares = Softmax<axis = -1>(scores)
      mixed = MatMul(shares, value)
      joined = Transpose<perm = [0, 2, 1, 3]>(mixed)
      y = Reshape(joined, rows)
    })";
// Programs for a prompt of 5 tokens and 200 steps in buckets: the prompt's, and those of past
// lengths of 16, 24, 32, 48, 64, 96, 128, 192 and 256.
inline constexpr int kPromptTokens = 5, kDecoderSteps = 200, kDecoderPrograms = 10;

// The Runs of a Session of kCachedDecoder; passes the cache on from one to the next.
class DecoderRuns {
 public:
  explicit DecoderRuns(const Session& session) : session_(session) {}

  // y, key and value for `tokens` further tokens, whose numbers follow from their positions.
  std::vector<Tensor> Next(int64_t tokens) {
    Tensor x = Tensor::Allocate(DType::kF32, {1, tokens, kWidth}).value();
    for (int64_t i = 0; i < x.elements(); ++i) {
      x.data<float>()[i] = static_cast<float>((kWidth * length_ + i) * 37 % 101 - 50) / 25;
    }
    length_ += tokens;
    auto outputs = session_.Run({x.view(), key_.view(), value_.view()});
    if (!outputs.ok()) {
      ADD_FAILURE() << outputs.error().message;
      return {};
    }
    std::vector<Tensor> tensors = std::move(outputs).value();
    key_ = tensors[1];
    value_ = tensors[2];
    return tensors;
  }

 private:
  static constexpr int64_t kWidth = 8;

  const Session& session_;
  Tensor key_ = Tensor::Allocate(DType::kF32, {1, 2, 0, 4}).value();
  Tensor value_ = Tensor::Allocate(DType::kF32, {1, 2, 0, 4}).value();
  int64_t length_ = 0;
};

// Runs a prompt and 200 steps, and expects each output to be that of `reference`.
inline void ExpectDecodesAs(const Session& reference, const Session& session) {
  DecoderRuns found_runs(session), expected_runs(reference);
  for (int step = 0; step <= kDecoderSteps; ++step) {
    SCOPED_TRACE(step);
    const int64_t tokens = step == 0 ? kPromptTokens : 1;
    const std::vector<Tensor> found = found_runs.Next(tokens),
                              expected = expected_runs.Next(tokens);
    ASSERT_EQ(found.size(), 3U);
    ASSERT_EQ(expected.size(), 3U);
    for (size_t i = 0; i < found.size(); ++i) {
      ASSERT_EQ(found[i].shape(), expected[i].shape());
      for (int64_t at = 0; at < found[i].elements(); ++at) {
        ASSERT_NEAR(found[i].data<float>()[at], expected[i].data<float>()[at], 1e-5)
            << "output " << i << ", element " << at;
      }
    }
  }
}

}  // namespace onnx_cudnn
