#pragma once

#include "absl/status/statusor.h"
#include "runtime/graph/graph.h"

namespace onnx_cudnn {

// Output 0 of a Cast or CastLike with a constant input 0, between strings and numbers or strings.
//   numbers to text  integers and bools (0, 1) in digits; floats in the fewest digits that read as
//                    the same number (of f32, if the type is narrower), with an exponent below 1e-5
//                    and from 1e16 on; "NaN", "INF", "-INF"
//   text to numbers  what C reads as a decimal number, in any case "inf", "infinity" and "nan"; a
//                    sign and white space around it are taken; a float beyond its range is
//                    infinite; the fraction of an integer is cut
//   errors           InvalidArgument: text that is no such number, or no integer of the type; names
//                    the element and the text. ResourceExhausted: more than kMostStringBytes
absl::StatusOr<HostTensor> CastStrings(const Node& node);

}  // namespace onnx_cudnn
