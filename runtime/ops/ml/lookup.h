#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "runtime/graph/host_tensor.h"

namespace onnx_cudnn {

// Finds keys: strings, integers, or floats, of which every NaN is equal and so are both zeros.
class Lookup {
 public:
  // Which of equal keys counts.
  enum class Repeated : uint8_t { kFirst, kLast };

  // keys  strings or a fixed-size type
  Lookup(const HostTensor& keys, Repeated repeated);

  // The index among the keys of each element of x, -1 where it is none of them; x has the dtype of
  // the keys, or there are none of its kind and nothing is found.
  std::vector<int64_t> IndicesOf(const HostTensor& x) const;

 private:
  absl::flat_hash_map<std::string, int64_t> by_string_;
  absl::flat_hash_map<int64_t, int64_t> by_number_;  // an integer, or the bits of a double
};

// Element `indices[i]` of `values`, `otherwise` (of one element) where it is negative.
HostTensor ElementsAt(const HostTensor& values, const HostTensor& otherwise,
                      const std::vector<int64_t>& indices, Dims dims);

}  // namespace onnx_cudnn
