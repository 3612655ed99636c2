// The messages of a worker program, as lines of JSON on its standard output:
//   {"trying": 7, "device": "h200", "signature": …, "engine": …, "variant": …, "version": …}
//   {"tried": 7}                trial 7 has ended
//   {"progress": [8, 40]}       signatures measured, of those known to be needed
//   {"note": "…"}               a note of the Tuner
//   {"done": true}              everything is measured and written; the last line
//   {"error": "…"}              the last line of a worker that failed
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
  Kind kind = Kind::kNone;      // kNone: not a line of this protocol
  int64_t id = 0;               // kTrying, kTried
  FailedVariant variant = {};   // kTrying: the record to store if it fails
  int64_t done = 0, total = 0;  // kProgress
  std::string text = {};        // kNote, kError
};

WorkerLine ParseWorkerLine(std::string_view line);

// Writes the messages of a worker to `fd`. Thread-safe. SIGPIPE ends a worker whose caller is gone.
class WorkerLines {
 public:
  explicit WorkerLines(Descriptor fd) : fd_(std::move(fd)) {}
  TuneObserver Observer();  // must not outlive this
  void Done(const TunerStats& stats);
  void Error(std::string_view message);

 private:
  void Write(std::string_view line);

  const Descriptor fd_;
  absl::Mutex mutex_;
};

}  // namespace onnx_cudnn
