#pragma once

#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "onnx_cudnn/model_value.h"
#include "onnx_cudnn/session.h"

namespace onnx_cudnn {

// InvalidArgument: a number out of range, or a value that is not an enumerator.
absl::Status CheckOptions(const SessionOptions& options);

// What SessionOptions::shape_buckets may name beside the symbols of input dims: all of these, and
// the sizes that a Run finds.
inline constexpr std::string_view kAllBuckets = "all";
inline constexpr std::string_view kFoundBuckets = "found";

// InvalidArgument: a name of options.shape_buckets that no dim of `inputs` has.
absl::Status CheckShapeBuckets(const SessionOptions& options, const std::vector<ValueInfo>& inputs);
bool PadsFoundSizes(const SessionOptions& options);

// `options` with kAuto and 0 replaced by their meaning on a GPU or the CPU device.
SessionOptions ResolveOptions(SessionOptions options, bool on_gpu);

// Whether bodies of If and Scan may be Programs of their own (BuildOptions::body_target): pins name
// Nodes of one Program, and Programs of parts are neither tuned in the background nor quick.
//   options  resolved
bool MayRunBodiesApart(const SessionOptions& options);

// The type in which f32 products are computed.
DType ProductType(PrecisionChoice precision);

}  // namespace onnx_cudnn
