#pragma once

#include <optional>

#include "runtime/graph/graph.h"

namespace onnx_cudnn {

// Whether broadcasting `value` with `into` by numpy's rule certainly gives the shape of `into`. Two
// different symbols may differ, so they give false.
bool BroadcastsInto(const Value& value, const Value& into);
// The value of a one-element constant that broadcasts into `into`; nullopt for any other Value.
std::optional<double> NumberInto(const Value& value, const Value& into);
// Whether at most one extent is not 1, so that permuting axes keeps the order of the elements.
bool VariesAlongOneAxis(const HostTensor& tensor);

}  // namespace onnx_cudnn
