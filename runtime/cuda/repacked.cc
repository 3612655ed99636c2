#include "runtime/cuda/repacked.h"

#include "absl/strings/str_cat.h"

namespace onnx_cudnn {

Derived Repacked(int constant, absl::Span<const int64_t> dims, const Format& to) {
  if (to == Format::RowMajor(dims)) return Unchanged(constant, dims);
  Dims seen_as(dims.begin(), dims.end());
  std::string recipe = absl::StrCat("packed from ", ToString(seen_as));
  auto pack = [seen_as = std::move(seen_as),
               to](absl::Span<const HostTensor> sources) -> absl::StatusOr<HostTensor> {
    const HostTensor& source = sources[0];
    HostTensor packed = HostTensor::Allocate(source.dtype(), {to.lanes()});
    Pack(source.dtype(), seen_as, source.raw(), to, packed.mutable_raw());
    return packed;
  };
  return {.from = {constant}, .recipe = std::move(recipe), .to = to, .make = std::move(pack)};
}

}  // namespace onnx_cudnn
