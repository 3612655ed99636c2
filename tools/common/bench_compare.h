// Compares benchmark records with those of earlier runs or of peers (tools/bench/peers.py).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "tools/common/bench.h"

namespace onnx_cudnn {

// Reads a JSON list of records as in tools/bench/results: who, model, precision, batch, median_ms
// and commit (optional); other fields are ignored. Records with an "error" (a peer that failed) are
// skipped.
//   errors  InvalidArgument: another form; names the first field that is missing or wrong
absl::StatusOr<std::vector<BenchRecord>> RecordsFromJson(std::string_view text);
// Reads the records of all files. Errors as above and those of the files, with the file's name.
absl::StatusOr<std::vector<BenchRecord>> ReadRecords(const std::vector<std::string>& paths);

struct Comparison {
  BenchRecord ours, theirs;  // of equal model, precision and batch
  double ratio() const { return theirs.median_ms / ours.median_ms; }  // > 1: ours is faster
};

// Every pair of comparable records.
//   errors  InvalidArgument: there is none
absl::StatusOr<std::vector<Comparison>> CompareRecords(const std::vector<BenchRecord>& ours,
                                                       const std::vector<BenchRecord>& theirs);

// One line of text.
std::string ComparisonText(const Comparison& comparison);

}  // namespace onnx_cudnn
