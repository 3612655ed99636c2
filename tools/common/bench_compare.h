// A bench's records against those of earlier runs or of peers (tools/bench/peers.py).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "tools/common/bench.h"

namespace onnx_cudnn {

// The records of a JSON list as tools/bench/results holds them, with who, model, precision, batch,
// median_ms and commit, which may be missing; nothing else of them is read. Those with an "error"
// (a peer that failed) are left out.
//   errors  InvalidArgument: another form, with the first field that is missing or wrong
absl::StatusOr<std::vector<BenchRecord>> RecordsFromJson(std::string_view text);
// Those of all files. Errors as above and those of the files, with the file's name.
absl::StatusOr<std::vector<BenchRecord>> ReadRecords(const std::vector<std::string>& paths);

struct Comparison {
  BenchRecord ours, theirs;  // of one model, precision and batch
  double ratio() const { return theirs.median_ms / ours.median_ms; }  // > 1: ours is faster
};

// Every pair of ours and theirs.
//   errors  InvalidArgument: there is none
absl::StatusOr<std::vector<Comparison>> CompareRecords(const std::vector<BenchRecord>& ours,
                                                       const std::vector<BenchRecord>& theirs);

// One line for people.
std::string ComparisonText(const Comparison& comparison);

}  // namespace onnx_cudnn
