// The results of Session::CheckPartitions.
#pragma once

#include <string>

namespace onnx_cudnn {

// One partition of a Program: ops that an engine runs as one unit. It ran alone on the device, with
// inputs computed by the ops' references on the host, and its outputs were compared with theirs.
struct CheckedPartition {
  int index = 0;        // number of the partition, as in onnx-cudnn-opt --explain --verbose
  std::string engine;   // "cudnn"
  std::string variant;  // the library's plan, or the kernel and its tile
  std::string ops;      // "Conv Relu: conv1": the ops and the name of the first node
  std::string output;   // name of the output that differs most
  double largest_difference = 0;  // |found − reference|; infinite if only one of them is NaN
  double largest_expected = 0;    // |reference|, finite elements only
  // largest_difference divided by the tolerance at largest_expected: above 1 it is certainly an
  // error; below 1 it may still be one, at a small element.
  double share_of_tolerance = 0;
  bool ok = true;
  std::string note;  // what else is wrong, or why nothing was compared; may be empty
};

}  // namespace onnx_cudnn
