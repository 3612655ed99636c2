// What this host has for runs on a GPU, what is missing, and what brings it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "onnx_cudnn/export.h"
#include "onnx_cudnn/version.h"

namespace onnx_cudnn {

// A GPU that is visible to this process.
struct GpuFacts {
  int ordinal = 0;
  std::string product;         // "NVIDIA H200"
  int compute_capability = 0;  // 90 for 9.0
  int64_t memory_bytes = 0;
};

// A shared library that is opened at run time.
struct LibraryFacts {
  std::string name;     // "cuDNN", "cuDNN graph"
  std::string version;  // "9.19.0"; empty: it does not tell
  std::string file;     // as the system's loader opened it; empty: missing
};

// What is missing, or is there and cannot be used.
struct DoctorFinding {
  std::string what;       // "found no NVIDIA driver, needs one for CUDA 13.0 or later"
  std::string remedy;     // the command that brings it; several: one per line
  std::string without;    // what works as long as it is missing
  bool is_needed = true;  // false: models run on a GPU without it
};

struct PlanCacheFacts {
  std::string path;          // empty: none was given
  int64_t entries = 0;       // measurements
  int64_t for_this_gpu = 0;  // entries that belong to the first GPU
  int64_t failed = 0;        // candidates that are never tried again
};

struct DoctorReport {
  BuildFacts build;
  bool gpu_runs = false;    // nothing is missing that a run on a GPU needs
  std::string driver;       // "580.95.05"; empty: none, or it does not tell
  std::string driver_cuda;  // newest CUDA version that the driver runs, "13.0"; empty: no driver
  std::vector<GpuFacts> gpus;
  std::vector<LibraryFacts> libraries;
  std::string tune_worker;   // the program that measures; empty: missing
  int cores = 0;             // of the host; 0: the system does not tell
  int threads = 0;           // that this process may run at once: the default of a Run
  int64_t memory_bytes = 0;  // of the host
  PlanCacheFacts plan_cache;
  std::vector<DoctorFinding> findings;  // those that are needed first
};

struct DoctorOptions {
  std::string plan_cache;   // a file to report on; empty: none
  std::string tune_worker;  // as in SessionOptions
};

// Examines the host. Creates a CUDA context on the first GPU, to see that the kernels of this build
// run there, and opens the libraries; nothing else runs. Takes at most a second, less without a
// GPU. Never fails: what cannot be read is left empty or becomes a finding.
ONNX_CUDNN_API DoctorReport Doctor(const DoctorOptions& options = {});

}  // namespace onnx_cudnn
