// What Session::CheckPartitions found.
#pragma once

#include <string>

namespace onnx_cudnn {

// One partition of a Program: ops that an engine runs as one unit. It ran alone, on the device,
// over inputs that the ops' references on the host wrote, and its outputs were compared with
// theirs.
struct CheckedPartition {
  int index = 0;                  // of the partition, as onnx-cudnn-opt --explain --verbose counts
  std::string engine;             // "cudnn"
  std::string variant;            // the library's plan, or the kernel and its tile
  std::string ops;                // "Conv Relu: conv1"; the first node's name
  std::string output;             // the name of the output that differs most
  double largest_difference = 0;  // |found − reference|; infinite where only one is NaN
  double largest_expected = 0;    // |reference|, finite ones
  // largest_difference as a multiple of what largest_expected may differ by: above 1 is an error
  // wherever it stands, below it may be one at an element that is small.
  double share_of_tolerance = 0;
  bool ok = true;
  std::string note;  // what else is wrong, or why nothing was compared; empty: nothing to say
};

}  // namespace onnx_cudnn
