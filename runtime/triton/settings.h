// The parameters of a model's configuration, and of the server's
// --backend-config=onnx_cudnn,KEY=VALUE, which are the defaults for all models.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "onnx_cudnn/options.h"

namespace onnx_cudnn::triton {

using Parameters = std::map<std::string, std::string>;

enum class WarmUp : uint8_t {
  // Each of the batch sizes, where the shapes of all inputs are known. A failure is a line of the
  // server's log.
  kIfPossible,
  kNone,
  kSizes,  // ModelSettings::warm_up_sizes; a failure is one of the load
};

struct ModelSettings {
  SessionOptions session;                                    // without a device
  bool has_max_programs = false, has_max_executors = false;  // were given
  // Rows that Runs have; a batch between two of them is filled up with copies of its first row.
  // Empty: the powers of two below the largest batch, and that one.
  std::vector<int64_t> batch_sizes;
  bool any_batch_size = false;  // nothing is filled up
  WarmUp warm_up = WarmUp::kIfPossible;
  std::vector<int64_t> warm_up_sizes;
};

//   folder  of the model's version: what relative paths are relative to
//   errors  InvalidArgument: an unknown parameter (with a list of the known ones), a value that is
//           none. Names that begin with TRITON_ are the server's and are left alone.
absl::StatusOr<ModelSettings> ReadSettings(const Parameters& parameters, const std::string& folder);

// InvalidArgument: as ReadSettings.
absl::Status CheckSettings(const Parameters& parameters);

// The sizes of `settings`, ascending, for batches of at most `max_batch` ≥ 1 rows.
//   errors  InvalidArgument: a size beyond max_batch
absl::StatusOr<std::vector<int64_t>> BatchSizes(const ModelSettings& settings, int64_t max_batch);

// The smallest of `sizes` that has room for `rows`; `rows` if there is none.
int64_t SizeFor(const std::vector<int64_t>& sizes, int64_t rows);

}  // namespace onnx_cudnn::triton
