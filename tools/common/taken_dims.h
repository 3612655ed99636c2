// Numbers for the dims of inputs that nothing gives.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "onnx_cudnn/session.h"

namespace onnx_cudnn {

struct FilledDims {
  std::vector<int64_t> dims;
  // What nothing gave, in words: "N taken as 1, h as 224 (others: --shape x=1x3x224x224)"; may be
  // empty.
  std::string taken;
};

// A symbol has one number wherever it occurs. What nothing gives is 1, height and width of images
// 224: of an input of rank 4, both unknown, beside 1 or 3 channels at axis 1 or 3.
class DimFiller {
 public:
  // Dims of `info` that are known (< 0: not).
  void Give(const ValueInfo& info, const std::vector<int64_t>& dims);
  // After all that is known: what images take.
  void TakeImages(const std::vector<ValueInfo>& infos);
  FilledDims Fill(const ValueInfo& info, std::vector<int64_t> dims) const;

 private:
  std::map<std::string, int64_t, std::less<>> numbers_;  // by symbol
};

}  // namespace onnx_cudnn
