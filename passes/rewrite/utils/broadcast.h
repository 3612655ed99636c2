#pragma once

#include <optional>

#include "runtime/graph/graph.h"

namespace onnx_cudnn {

// Whether numpy's rule, asked for `value` together with `into`, surely gives the shape of `into`.
// Symbols prove nothing.
bool BroadcastsInto(const Value& value, const Value& into);
// The number of a constant of one element that broadcasts into `into`; nullopt: it is none.
std::optional<double> NumberInto(const Value& value, const Value& into);
// Whether at most one extent is not 1: moving axes around keeps the order of the elements.
bool VariesAlongOneAxis(const HostTensor& tensor);

}  // namespace onnx_cudnn
