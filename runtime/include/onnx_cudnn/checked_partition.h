// The results of Session::CheckPartitions.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace onnx_cudnn {

// What the worst output of a partition, or of one of its ops, differs by from the ops' references.
struct CheckedOutput {
  std::string engine;             // "cudnn"
  std::string variant;            // the library's plan, or the kernel and its tile
  std::string ops;                // "Conv Relu: conv1": the ops and the name of the first node
  std::string output;             // name of the output that differs most
  double largest_difference = 0;  // |found − reference|; infinite if only one of them is NaN
  double largest_expected = 0;    // |reference|, finite elements only
  // largest_difference divided by the tolerance at largest_expected: above 1 it is certainly an
  // error; below 1 it may still be one, at a small element.
  double share_of_tolerance = 0;
  bool ok = true;
  std::string note;             // what else is wrong, or why nothing was compared; may be empty
  double largest_relative = 0;  // |found − reference| / |reference| of elements other than 0
  double largest_ulps = 0;      // in numbers of the output's type
  double cosine = 1;            // of the angle between found and reference as vectors
};

// One partition of a Program: ops that an engine runs as one unit. It ran alone on the device, with
// inputs computed by the ops' references on the host, and its outputs were compared with theirs.
struct CheckedPartition : CheckedOutput {
  int index = 0;  // number of the partition, as in onnx-cudnn-opt --explain --verbose
  // If it is wrong: each of its ops alone, where it has several. If all are right, it is their
  // fusion that is wrong. `engine` is empty where none takes the op alone.
  std::vector<CheckedOutput> op_by_op;
  // Of f16 and bf16, against the same ops in f32 on the same inputs: the largest difference of an
  // output as a share of its largest |f32|, and the elements that are NaN or infinite here and
  // finite there. 0 where there is neither type.
  double share_of_f32 = 0;
  int64_t overflowed = 0;
  std::vector<std::string> nodes;  // names of the nodes, of unnamed ones those of their outputs
};

}  // namespace onnx_cudnn
