#include <string>

#include "absl/strings/str_cat.h"
#include "runtime/kernels/common/layouts.h"

namespace onnx_cudnn {
namespace {

Support TakesResize(const Unit& core) {
  const Node& node = core.node();
  const std::string mode = node.attrs().String("mode", "nearest");
  if (mode == "nearest" || kFloatTypes.Has(node.input(0).dtype())) return Support::Yes();
  return Support::No(absl::StrCat("mode \"", mode, "\" on ", NameOf(node.input(0).dtype()),
                                  ", only floats are interpolated"));
}

}  // namespace

// Resize of floats in every mode (nearest, linear, cubic, with antialiasing and cropping) and of
// integers in mode nearest, in any layout. In nearest and linear a thread computes several rows of
// a column, 16 bytes of channels in channels-last, and reads each row of x once. In cubic it
// computes one output, or 16 bytes of channels. An earlier launch computes the positions and
// weights for each axis.
Kernel ResizeKernel() {
  return {.ops = {"Resize"},
          .types = kFixedSizeTypes,
          .takes = TakesResize,
          .formats = OneLayout,
          .speed = {.launches = 2}};
}

}  // namespace onnx_cudnn
