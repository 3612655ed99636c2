// Default numbers for input dims that are not given.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "onnx_cudnn/session.h"

namespace onnx_cudnn {

struct FilledDims {
  std::vector<int64_t> dims;
  // The dims that were assumed, for messages: "N taken as 1, h as 224 (others: --shape
  // x=1x3x224x224)"; may be empty.
  std::string taken;
};

// A symbol has the same number everywhere. Dims that are not given are 1; height and width of
// images are 224: both unknown dims of an input of rank 4 with 1 or 3 channels at axis 1 or 3.
class DimFiller {
 public:
  // Records the known dims of `info` (< 0: unknown).
  void Give(const ValueInfo& info, const std::vector<int64_t>& dims);
  // Call it after all known dims are given: assumes the size of images.
  void TakeImages(const std::vector<ValueInfo>& infos);
  FilledDims Fill(const ValueInfo& info, std::vector<int64_t> dims) const;

 private:
  std::map<std::string, int64_t, std::less<>> numbers_;  // by symbol
};

}  // namespace onnx_cudnn
