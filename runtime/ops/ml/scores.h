// What the models of ai.onnx.ml do with their scores.
#pragma once

#include <array>
#include <cstdint>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "runtime/ops/op_def.h"

namespace onnx_cudnn {

// Numbered as in TreeEnsemble.
enum class PostTransform : uint8_t { kNone, kSoftmax, kLogistic, kSoftmaxZero, kProbit };

// Attribute post_transform, a name or a number; InvalidArgument for another.
absl::StatusOr<PostTransform> PostTransformOf(const Node& node);

// Applies it to the scores of one row. kSoftmaxZero leaves zeros out (all zero: 0.5 each). kProbit
// is √2 erfinv(2p - 1) with the closed form for erfinv of ONNX's reference implementation (within
// 0.4 %).
void Transform(PostTransform transform, absl::Span<double> scores);

// The scores of two classes from the one score that separates them, before Transform: [1 - s, s]
// if s is a probability, [-s, s] otherwise.
std::array<double, 2> TwoScores(double score, PostTransform transform, bool is_probability);

// The index of the first of the largest scores.
int64_t TopOf(absl::Span<const double> scores);

}  // namespace onnx_cudnn
