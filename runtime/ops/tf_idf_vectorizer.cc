// TfIdfVectorizer of integers: counts the n-grams of a pool in each row.
#include <algorithm>
#include <bit>
#include <limits>
#include <map>
#include <vector>

#include "absl/strings/str_cat.h"
#include "runtime/base/status.h"
#include "runtime/ops/checks.h"
#include "runtime/ops/operands.h"
#include "runtime/ops/scalar_us.h"

namespace onnx_cudnn {
namespace {

using Gram = std::vector<int64_t>;

struct Vectorizer {
  int64_t shortest, longest, most_skipped;
  std::map<Gram, int64_t> columns;  // index of the output column
  int64_t column_count = 0;
  std::string mode;
  std::vector<float> weights;  // per column; empty: 1
};

// Splits the pool: the n-grams of length n start at ngram_counts[n - 1], and n-gram i of all has
// column ngram_indexes[i]. Skips n-grams of lengths that are not requested.
absl::Status ReadPool(const Node& node, Vectorizer& vectorizer) {
  const std::vector<int64_t> pool = node.attrs().Ints("pool_int64s");
  const std::vector<int64_t> columns = node.attrs().Ints("ngram_indexes");
  std::vector<int64_t> starts = node.attrs().Ints("ngram_counts");
  starts.push_back(static_cast<int64_t>(pool.size()));
  const bool ordered = starts.front() >= 0 && std::is_sorted(starts.begin(), starts.end());
  const bool counted = std::all_of(columns.begin(), columns.end(), [](int64_t c) {
    return c >= 0 && c < std::numeric_limits<int32_t>::max();
  });
  if (!ordered || !counted)
    return absl::InvalidArgumentError("ngram_counts or ngram_indexes are out of range");
  size_t gram = 0;
  for (int64_t length = 1; length < static_cast<int64_t>(starts.size()); ++length) {
    for (int64_t at = starts[length - 1]; at < starts[length]; at += length, ++gram) {
      if (at + length > starts[length] || gram >= columns.size())
        return absl::InvalidArgumentError("the pool's grams do not match ngram_indexes");
      vectorizer.column_count = std::max(vectorizer.column_count, columns[gram] + 1);
      if (length < vectorizer.shortest || length > vectorizer.longest) continue;
      vectorizer.columns[{pool.begin() + at, pool.begin() + at + length}] = columns[gram];
    }
  }
  return gram == columns.size()
             ? absl::OkStatus()
             : absl::InvalidArgumentError("the pool's grams do not match ngram_indexes");
}

// Weights are in the order of the pool's n-grams.
absl::Status ReadWeights(const Node& node, Vectorizer& vectorizer) {
  const auto* weights = node.attrs().Get<std::vector<float>>("weights");
  if (weights == nullptr || weights->empty()) return absl::OkStatus();
  const std::vector<int64_t> columns = node.attrs().Ints("ngram_indexes");
  if (weights->size() != columns.size()) {
    return absl::InvalidArgumentError(
        absl::StrCat("there are ", weights->size(), " weights for ", columns.size(), " grams"));
  }
  vectorizer.weights.resize(vectorizer.column_count, 1);
  for (size_t i = 0; i < columns.size(); ++i) vectorizer.weights[columns[i]] = (*weights)[i];
  return absl::OkStatus();
}

absl::StatusOr<Vectorizer> VectorizerOf(const Node& node) {
  const Attrs& attrs = node.attrs();
  Vectorizer vectorizer = {.shortest = attrs.Int("min_gram_length", 0),
                           .longest = attrs.Int("max_gram_length", 0),
                           .most_skipped = attrs.Int("max_skip_count", 0),
                           .columns = {},
                           .mode = attrs.String("mode", ""),
                           .weights = {}};
  if (vectorizer.shortest < 1 || vectorizer.longest < vectorizer.shortest ||
      vectorizer.most_skipped < 0)
    return absl::InvalidArgumentError("the lengths of grams are out of range");
  RETURN_IF_ERROR(ReadPool(node, vectorizer));
  RETURN_IF_ERROR(ReadWeights(node, vectorizer));
  return vectorizer;
}

// Adds to `counts` the n-grams of `length` elements with stride `step`.
void CountGrams(const Vectorizer& v, absl::Span<const int64_t> row, int64_t length, int64_t step,
                absl::Span<float> counts) {
  Gram gram(length);
  const int64_t reach = step * (length - 1);
  for (int64_t first = 0; first + reach < static_cast<int64_t>(row.size()); ++first) {
    for (int64_t i = 0; i < length; ++i) gram[i] = row[first + i * step];
    const auto found = v.columns.find(gram);
    if (found != v.columns.end()) ++counts[found->second];
  }
}

void CountRow(const Vectorizer& v, absl::Span<const int64_t> row, absl::Span<float> counts) {
  const int64_t size = static_cast<int64_t>(row.size());
  std::fill(counts.begin(), counts.end(), 0);
  for (int64_t length = v.shortest; length <= std::min(v.longest, size); ++length) {
    const int64_t steps = length == 1 ? 1 : std::min(v.most_skipped, size) + 1;
    for (int64_t step = 1; step <= steps; ++step) CountGrams(v, row, length, step, counts);
  }
}

// Converts counts to what `mode` selects.
void Weigh(const Vectorizer& v, absl::Span<float> counts) {
  for (size_t i = 0; i < counts.size(); ++i) {
    const float weight = v.weights.empty() ? 1 : v.weights[i];
    if (v.mode == "IDF") counts[i] = counts[i] > 0 ? weight : 0;
    if (v.mode == "TFIDF") counts[i] *= weight;
  }
}

absl::Status ReferenceTfIdfVectorizer(const ReferenceArgs& args) {
  ASSIGN_OR_RETURN(const Vectorizer vectorizer, VectorizerOf(args.node));
  Dims dims(args.in[0].dims.begin(), args.in[0].dims.end());
  const int64_t row_size = dims.back();
  dims.back() = vectorizer.column_count;
  RETURN_IF_ERROR(ExpectDims("output", args.out[0].dims, dims));
  const std::vector<int64_t> elements = IntsOf(args.in[0]);
  const absl::Span<float> out = args.out[0].as<float>();
  const int64_t rows = dims.size() == 1 ? 1 : dims[0];
  for (int64_t r = 0; r < rows; ++r) {
    const absl::Span<float> counts =
        out.subspan(r * vectorizer.column_count, vectorizer.column_count);
    CountRow(vectorizer, absl::MakeConstSpan(elements).subspan(r * row_size, row_size), counts);
    Weigh(vectorizer, counts);
  }
  return absl::OkStatus();
}

Support CheckTfIdfVectorizer(const Node& node) {
  const int rank = node.input(0).rank();
  if (rank != 1 && rank != 2) return Support::No(absl::StrCat("X has rank ", rank));
  const std::string mode = node.attrs().String("mode", "");
  if (mode != "TF" && mode != "IDF" && mode != "TFIDF")
    return Support::No(absl::StrCat("mode \"", mode, "\" is unknown"));
  const absl::StatusOr<Vectorizer> vectorizer = VectorizerOf(node);
  return vectorizer.ok() ? Support::Yes() : Support::No(std::string(vectorizer.status().message()));
}

// One search in the pool per n-gram of each row.
Cost TfIdfVectorizerCost(const Node& node) {
  const absl::StatusOr<Vectorizer> v = VectorizerOf(node);
  const Value& x = node.input(0);
  if (!v.ok() || x.elements() == 0) return {.bytes = IoBytes(node)};
  const int64_t size = x.dim(x.rank() - 1), rows = x.elements() / size;
  const int64_t depth = std::bit_width(v->columns.size());
  int64_t searches = 0;
  for (int64_t length = v->shortest; length <= std::min(v->longest, size); ++length) {
    const int64_t steps = length == 1 ? 1 : std::min(v->most_skipped, size) + 1;
    searches += steps * size;
  }
  return {.us = ScalarUs(rows * searches * (1 + depth)), .bytes = IoBytes(node)};
}

}  // namespace

OpDef TfIdfVectorizerOp() {
  return {.types = {DType::kI32, DType::kI64},
          .check = CheckTfIdfVectorizer,
          .reference = ReferenceTfIdfVectorizer,
          .cost = TfIdfVectorizerCost};
}

}  // namespace onnx_cudnn
