// PagedAttention of com.microsoft against a plain computation: packed tokens of several sequences,
// whose earlier keys and values lie in pages anywhere.
#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "passes/build_program.h"
#include "runtime/graph/float16.h"
#include "runtime/ops/evaluate.h"
#include "tests/support/graph_text.h"

namespace onnx_cudnn {
namespace {

constexpr int kHeads = 4, kKvHeads = 2, kChannels = 8, kPages = 7, kPage = 2;
constexpr int kRow = kKvHeads * kChannels;  // of a cache

using Numbers = std::vector<float>;

// Multiples of 1/8 of both signs, which f16 holds.
Numbers SomeNumbers(int count, int seed) {
  Numbers numbers(count);
  for (int i = 0; i < count; ++i) numbers[i] = static_cast<float>((i * 7 + seed * 5) % 17 - 8) / 8;
  return numbers;
}

HostTensor Halves(Dims dims, const Numbers& numbers) {
  std::vector<Float16> halves;
  for (const float number : numbers) halves.push_back(ToFloat16(number));
  return HostTensor::Of<Float16>(DType::kF16, std::move(dims), halves);
}

Numbers FloatsOf(const HostTensor& tensor) {
  Numbers numbers;
  for (const Float16 number : tensor.data<Float16>()) numbers.push_back(ToFloat(number));
  return numbers;
}

HostTensor Integers(Dims dims, std::vector<int32_t> values) {
  return HostTensor::Of<int32_t>(DType::kI32, std::move(dims), values);
}

struct Problem {
  std::vector<int32_t> ends, past, table;  // table: [sequences, 3]
  int window = -1;
  bool rotates = false, packed = false;

  int tokens() const { return ends.back(); }
  int sequences() const { return static_cast<int>(past.size()); }
};

// What the model must give, in f32.
struct Expected {
  Numbers q, k, v, key_cache, value_cache, y;
};

// Turns the halves of each head by the angle of `position`, whose table has these cosines and
// sines.
void Turn(Numbers& rows, int row, int heads, int position) {
  constexpr int kHalf = kChannels / 2;
  for (int h = 0; h < heads; ++h) {
    for (int i = 0; i < kHalf; ++i) {
      const float c = position % 2 == 0 ? 1.0F : 0.0F, s = position % 2 == 0 ? 0.0F : 1.0F;
      float& a = rows[(row * heads + h) * kChannels + i];
      float& b = rows[(row * heads + h) * kChannels + i + kHalf];
      const float first = a * c - b * s, second = a * s + b * c;
      a = first, b = second;
    }
  }
}

void Attend(const Problem& p, int token, int sequence, int position, Expected& e) {
  const auto row = [&](int key) {
    return p.table[sequence * 3 + key / kPage] * kPage + key % kPage;
  };
  const int first = p.window > 0 ? std::max(0, position - p.window + 1) : 0;
  for (int h = 0; h < kHeads; ++h) {
    const int offset = h / (kHeads / kKvHeads) * kChannels;
    const float* q = &e.q[(token * kHeads + h) * kChannels];
    Numbers weights;
    float sum = 0;
    for (int key = first; key <= position; ++key) {
      float score = 0;
      for (int c = 0; c < kChannels; ++c) score += q[c] * e.key_cache[row(key) * kRow + offset + c];
      weights.push_back(std::exp(score / std::sqrt(static_cast<float>(kChannels))));
      sum += weights.back();
    }
    for (int c = 0; c < kChannels; ++c) {
      float y = 0;
      for (int key = first; key <= position; ++key) {
        y += weights[key - first] / sum * e.value_cache[row(key) * kRow + offset + c];
      }
      e.y.push_back(y);
    }
  }
}

Expected Plainly(const Problem& p) {
  Expected e = {.q = SomeNumbers(p.tokens() * kHeads * kChannels, 1),
                .k = SomeNumbers(p.tokens() * kRow, 2),
                .v = SomeNumbers(p.tokens() * kRow, 3),
                .key_cache = SomeNumbers(kPages * kPage * kRow, 4),
                .value_cache = SomeNumbers(kPages * kPage * kRow, 5)};
  for (const bool attends : {false, true}) {
    for (int s = 0; s < p.sequences(); ++s) {
      for (int t = p.ends[s]; t < p.ends[s + 1]; ++t) {
        const int position = p.past[s] + t - p.ends[s];
        if (attends) {
          Attend(p, t, s, position, e);
          continue;
        }
        if (p.rotates) Turn(e.q, t, kHeads, position), Turn(e.k, t, kKvHeads, position);
        const int row = p.table[s * 3 + position / kPage] * kPage + position % kPage;
        std::copy_n(&e.k[t * kRow], kRow, &e.key_cache[row * kRow]);
        std::copy_n(&e.v[t * kRow], kRow, &e.value_cache[row * kRow]);
      }
    }
  }
  return e;
}

// Rows of queries, keys and values side by side.
Numbers SideBySide(const std::vector<Numbers>& parts, int tokens) {
  Numbers all;
  for (int t = 0; t < tokens; ++t) {
    for (const Numbers& part : parts) {
      const auto row = static_cast<int>(part.size()) / tokens;
      all.insert(all.end(), part.begin() + t * row, part.begin() + (t + 1) * row);
    }
  }
  return all;
}

std::string Model(const Problem& p, std::string_view more = "") {
  const std::string cache =
      absl::StrCat("float16[", kPages, ",", kPage, ",", kKvHeads, ",", kChannels, "] ");
  const std::string rows = absl::StrCat("float16[", p.tokens(), ",", kRow, "] ");
  const std::string operands =
      p.packed ? absl::StrCat("float16[", p.tokens(), ",", kHeads * kChannels + 2 * kRow, "] q, ")
               : absl::StrCat("float16[", p.tokens(), ",", kHeads * kChannels, "] q, ", rows, "k, ",
                              rows, "v, ");
  return absl::StrCat("<ir_version: 10, opset_import: [\"\" : 21, \"com.microsoft\" : 1]>\ng (",
                      operands, cache, "kc, ", cache, "vc, int32[", p.sequences() + 1,
                      "] ends, int32[", p.sequences(), "] past, int32[", p.sequences(),
                      ",3] table, float16[6,", kChannels / 2, "] cos, float16[6,", kChannels / 2,
                      "] sin) => (y, keys, values) { "
                      "y, keys, values = com.microsoft.PagedAttention<num_heads = ",
                      kHeads, ", kv_num_heads = ", kKvHeads, ", local_window_size = ", p.window,
                      ", do_rotary = ", p.rotates ? 1 : 0, more, ">(q, ",
                      p.packed ? ", , " : "k, v, ", "kc, vc, ends, past, table, cos, sin) }");
}

void ExpectPlain(const Problem& p) {
  const Expected before = {.q = SomeNumbers(p.tokens() * kHeads * kChannels, 1),
                           .k = SomeNumbers(p.tokens() * kRow, 2),
                           .v = SomeNumbers(p.tokens() * kRow, 3)};
  const int64_t tokens = p.tokens(), sequences = p.sequences();
  std::vector<HostTensor> inputs;
  if (p.packed) {
    inputs.push_back(Halves({tokens, kHeads * kChannels + 2 * kRow},
                            SideBySide({before.q, before.k, before.v}, p.tokens())));
  } else {
    inputs.push_back(Halves({tokens, kHeads * kChannels}, before.q));
    inputs.push_back(Halves({tokens, kRow}, before.k));
    inputs.push_back(Halves({tokens, kRow}, before.v));
  }
  const Dims cache = {kPages, kPage, kKvHeads, kChannels};
  inputs.push_back(Halves(cache, SomeNumbers(kPages * kPage * kRow, 4)));
  inputs.push_back(Halves(cache, SomeNumbers(kPages * kPage * kRow, 5)));
  inputs.push_back(Integers({sequences + 1}, p.ends));
  inputs.push_back(Integers({sequences}, p.past));
  inputs.push_back(Integers({sequences, 3}, p.table));
  for (const int parity : {0, 1}) {
    Numbers angles(6 * kChannels / 2);
    for (size_t i = 0; i < angles.size(); ++i) {
      angles[i] = static_cast<int>(i) / (kChannels / 2) % 2 == parity ? 1.0F : 0.0F;
    }
    inputs.push_back(Halves({6, kChannels / 2}, angles));
  }
  const absl::StatusOr<Graph> bound = BindShapes(GraphFromText(Model(p)), {}, {});
  ASSERT_TRUE(bound.ok()) << bound.status();
  const absl::StatusOr<std::vector<HostTensor>> found = Evaluate(*bound, inputs);
  ASSERT_TRUE(found.ok()) << found.status();
  const Expected expected = Plainly(p);
  EXPECT_EQ(FloatsOf((*found)[1]), expected.key_cache);
  EXPECT_EQ(FloatsOf((*found)[2]), expected.value_cache);
  const Numbers y = FloatsOf((*found)[0]);
  ASSERT_EQ(y.size(), expected.y.size());
  for (size_t i = 0; i < y.size(); ++i) EXPECT_NEAR(y[i], expected.y[i], 2e-3) << i;
}

// Three sequences: a prompt, a step, and a chunk behind others; a page that no table names is -1.
const Problem kMixed = {
    .ends = {0, 3, 4, 6}, .past = {0, 4, 1}, .table = {5, 2, -1, 0, 6, 3, 4, 1, -1}};

TEST(PagedAttentionTest, TokensOfSeveralSequences) { ExpectPlain(kMixed); }

TEST(PagedAttentionTest, OneTokenEach) {
  ExpectPlain({.ends = {0, 1, 2}, .past = {5, 0}, .table = {5, 2, 1, 6, -1, -1}});
}

TEST(PagedAttentionTest, ASequenceWithoutTokens) {
  ExpectPlain({.ends = {0, 0, 2}, .past = {3, 1}, .table = {5, 2, -1, 6, 0, -1}});
}

TEST(PagedAttentionTest, PackedOperandsAndRotaryEmbeddings) {
  Problem p = kMixed;
  p.packed = p.rotates = true;
  ExpectPlain(p);
}

TEST(PagedAttentionTest, Windows) {
  Problem p = kMixed;
  p.window = 2;
  ExpectPlain(p);
}

TEST(PagedAttentionTest, RefusesOtherForms) {
  const auto refuses = [](std::string_view more, std::string_view says) {
    const absl::StatusOr<Graph> graph = TryGraphFromText(Model(kMixed, more));
    EXPECT_TRUE(absl::StrContains(graph.status().message(), says)) << graph.status();
  };
  refuses(", softcap = 2.0", "capped scores are not implemented");
  refuses(", kv_cache_layout = \"LATENT\"", "kv_cache_layout is not implemented");
  refuses(", is_causal = 0", "\"is_causal\" = 0 is not implemented");
}

}  // namespace
}  // namespace onnx_cudnn
