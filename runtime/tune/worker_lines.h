// What a worker program says while it measures, in lines of JSON on its standard output:
//   {"trying": 7, "device": "h200", "signature": …, "engine": …, "variant": …, "version": …}
//   {"tried": 7}                the trial 7 is over
//   {"progress": [8, 40]}       signatures measured, of those known to be needed
//   {"note": "…"}               of the Tuner's
//   {"done": true}              all was measured and written; the last line
//   {"error": "…"}              the last line of a worker that could not go on
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "absl/synchronization/mutex.h"
#include "runtime/base/file.h"
#include "runtime/tune/trials.h"
#include "runtime/tune/tuner.h"

namespace onnx_cudnn {

struct WorkerLine {
  enum class Kind { kTrying, kTried, kProgress, kNote, kDone, kError, kNone };
  Kind kind = Kind::kNone;      // kNone: no line of this protocol
  int64_t id = 0;               // kTrying, kTried
  FailedVariant variant = {};   // kTrying: as it is to be noted should it fail
  int64_t done = 0, total = 0;  // kProgress
  std::string text = {};        // kNote, kError
};

WorkerLine ParseWorkerLine(std::string_view line);

// Writes the lines of a worker to `fd`. Thread-safe. SIGPIPE ends a worker whose caller is gone.
class WorkerLines {
 public:
  explicit WorkerLines(Descriptor fd) : fd_(std::move(fd)) {}
  TuneObserver Observer();  // which this outlives
  void Done(const TunerStats& stats);
  void Error(std::string_view message);

 private:
  void Write(std::string_view line);

  const Descriptor fd_;
  absl::Mutex mutex_;
};

}  // namespace onnx_cudnn
