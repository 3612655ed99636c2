// soak [RUNS [SECONDS]]: Runs of one Session on the CPU device, over 50 sets of input shapes, from
// 8 threads. Its table keeps 16 Programs, so Programs are built and dropped all the time. Every
// output must agree with the ops' references and be bit-identical in every Run; memory must not
// grow. The last line is JSON.
//   exit codes  0 done; 1 an output differs, a Run failed or memory grew; 2 SECONDS were too few
#include <malloc.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cmath>
#include <cstring>
#include <fstream>
#include <iostream>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "absl/log/check.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "onnx_cudnn/session.h"
#include "passes/build_program.h"
#include "runtime/import/expand_function.h"
#include "runtime/import/onnx_loader.h"
#include "runtime/ops/evaluate.h"
#include "tests/support/graph_text.h"

namespace onnx_cudnn {
namespace {

constexpr int kShapes = 50, kThreads = 8, kPrograms = 16, kRounds = 20;
// The first rounds fill caches of the allocator and of each thread.
constexpr int kWarmUpRounds = 4;
// From the end of warm-up to the end of all Runs, with the same Programs in the table. A leak of 16
// bytes in each of 80,000 Runs exceeds the first limit.
constexpr int64_t kMostGrowthInUse = int64_t{1} << 20;
constexpr int64_t kMostGrowthResident = int64_t{16} << 20;

// Views, a residual, a pool, a product, and a Shape that decides a Reshape.
constexpr std::string_view kModel = R"(
    g (float[N,3,H,8] x) => (float[N,4] y, float[N,M] z)
      <float[4,3,3,3] w = {WEIGHTS}, float[4] b = {0.5, -0.5, 0.25, 0}, float[4,4] p = {1, 0, 0, 2, 0, 1, 3, 0, 0, 1, 1, 0, 2, 0, 0, 1},
       int64[1] zero = {0}, int64[1] one = {1}, int64[1] rest = {-1}> {
        c = Conv <pads = [1, 1, 1, 1]> (x, w, b)
        r = Relu(c)
        d = Add(r, c)
        a = GlobalAveragePool(d)
        f = Flatten(a)
        m = MatMul(f, p)
        y = Softmax(m)
        s = Shape(x)
        n = Slice(s, zero, one)
        shape = Concat <axis = 0> (n, rest)
        z = Reshape(d, shape)
      })";

std::string Model() {
  std::string text(kModel), weights;
  for (int i = 0; i < 4 * 3 * 3 * 3; ++i) absl::StrAppend(&weights, i == 0 ? "" : ", ", i % 7 - 3);
  text.replace(text.find("WEIGHTS"), strlen("WEIGHTS"), weights);
  return ModelBytesFromText(text).value();
}

// One set of input shapes with its outputs.
struct Case {
  std::vector<int64_t> dims;
  std::vector<float> x;
  std::vector<Tensor> outputs;
};

Case MakeCase(int index) {
  Case made{.dims = {1 + index % 10, 3, 2 + index / 10, 8}};
  made.x.resize(made.dims[0] * made.dims[1] * made.dims[2] * made.dims[3]);
  for (size_t i = 0; i < made.x.size(); ++i) {
    made.x[i] = static_cast<float>((i * 7 + index) % 17) / 4 - 2;
  }
  return made;
}

// The results of the ops' references for the case's input.
std::vector<HostTensor> Expected(const Graph& graph, const Case& c) {
  const Dims dims(c.dims.begin(), c.dims.end());
  const Graph bound = BindShapes(graph, {{"x", dims}}, {.functions = &kOnnxFunctions}).value();
  return Evaluate(bound, {HostTensor::Of<float>(DType::kF32, dims, c.x)}).value();
}

bool AreClose(const Tensor& a, const HostTensor& b) {
  if (a.elements() != b.elements()) return false;
  for (int64_t i = 0; i < a.elements(); ++i) {
    if (!(std::abs(a.data<float>()[i] - b.data<float>()[i]) <= 1e-4f)) return false;
  }
  return true;
}

bool AreSame(const std::vector<Tensor>& a, const std::vector<Tensor>& b) {
  for (size_t i = 0; i < a.size(); ++i) {
    if (a[i].shape() != b[i].shape()) return false;
    if (std::memcmp(a[i].raw(), b[i].raw(), a[i].bytes()) != 0) return false;
  }
  return a.size() == b.size();
}

struct Memory {
  int64_t in_use = 0;  // bytes that were allocated and not freed
  int64_t resident = 0;
};

Memory MemoryNow() {
  const struct mallinfo2 info = mallinfo2();
  int64_t pages = 0, resident = 0;
  std::ifstream("/proc/self/statm") >> pages >> resident;
  return {.in_use = static_cast<int64_t>(info.uordblks + info.hblkhd),
          .resident = resident * sysconf(_SC_PAGESIZE)};
}

class Soak {
 public:
  Soak() : session_(Session::LoadBytes(Model(), kOptions).value()) {
    const Graph graph = LoadModelBytes(Model()).value();
    for (int i = 0; i < kShapes; ++i) {
      Case& c = cases_.emplace_back(MakeCase(i));
      c.outputs = session_.Run({View(c.x.data(), c.dims)}).value();
      const std::vector<HostTensor> expected = Expected(graph, c);
      for (size_t o = 0; o < expected.size(); ++o) {
        CHECK(AreClose(c.outputs[o], expected[o])) << "output " << o << " of shapes " << i;
      }
    }
  }

  // `runs` Runs over all threads; returns false after printing what went wrong.
  bool Round(int round, int64_t runs) {
    std::vector<std::thread> threads;
    for (int t = 0; t < kThreads; ++t) {
      threads.emplace_back([this, round, t, runs] {
        std::mt19937 random(round * kThreads + t);
        for (int64_t i = 0; i < runs / kThreads && good_; ++i) RunOnce(random() % kShapes);
      });
    }
    for (std::thread& thread : threads) thread.join();
    for (int i = 0; i < kPrograms; ++i) RunOnce(i);  // now the table holds these
    return good_;
  }

  int64_t programs_built() const { return session_.stats().programs_built; }

 private:
  inline static const SessionOptions kOptions{.device = DeviceChoice::kCpu,
                                              .max_programs = kPrograms};

  void RunOnce(int index) {
    const Case& c = cases_[index];
    auto outputs = session_.Run({View(c.x.data(), c.dims)});
    std::string wrong;
    if (!outputs.ok()) {
      wrong = outputs.error().message;
    } else if (!AreSame(outputs.value(), c.outputs)) {
      wrong = "an output differs";
    }
    if (!wrong.empty() && good_.exchange(false)) {
      std::cerr << absl::StrFormat("shapes %d: %s\n", index, wrong);
    }
  }

  const Session session_;
  std::vector<Case> cases_;
  std::atomic<bool> good_ = true;
};

struct Outcome {
  int64_t runs = 0;
  bool good = true;  // false: an output differs or a Run failed
  Memory warm, end;
  int64_t grown_in_use() const { return end.in_use - warm.in_use; }
  int64_t grown_resident() const { return end.resident - warm.resident; }
  bool flat() const {
    return grown_in_use() <= kMostGrowthInUse && grown_resident() <= kMostGrowthResident;
  }
};

double SecondsSince(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

int Main(int64_t runs, double seconds) {
  const auto start = std::chrono::steady_clock::now();
  Soak soak;
  Outcome outcome;
  bool in_time = true;
  for (int round = 0; round < kRounds && outcome.good && in_time; ++round) {
    outcome.good = soak.Round(round, runs / kRounds);
    outcome.runs += runs / kRounds;
    outcome.end = MemoryNow();
    if (round < kWarmUpRounds) outcome.warm = outcome.end;
    in_time = SecondsSince(start) < seconds || round == kRounds - 1;
    std::cout << absl::StrFormat("%d runs, %.0f s: %d kB in use, %d kB resident\n", outcome.runs,
                                 SecondsSince(start), outcome.end.in_use / 1024,
                                 outcome.end.resident / 1024)
              << std::flush;
  }
  if (!outcome.flat()) {
    std::cerr << absl::StrFormat(
        "memory grew by %d bytes in use, %d resident; allowed are %d, %d\n", outcome.grown_in_use(),
        outcome.grown_resident(), kMostGrowthInUse, kMostGrowthResident);
  }
  std::cout << absl::StrFormat(
      R"({"runs": %d, "shapes": %d, "threads": %d, "programs_kept": %d, "programs_built": %d, )"
      R"("seconds": %.1f, "in_use_bytes": %d, "grown_in_use_bytes": %d, "resident_bytes": %d, )"
      R"("grown_resident_bytes": %d})"
      "\n",
      outcome.runs, kShapes, kThreads, kPrograms, soak.programs_built(), SecondsSince(start),
      outcome.end.in_use, outcome.grown_in_use(), outcome.end.resident, outcome.grown_resident());
  if (!outcome.good || !outcome.flat()) return 1;
  return in_time ? 0 : 2;
}

}  // namespace
}  // namespace onnx_cudnn

int main(int argc, char** argv) {
  int64_t runs = 100'000;
  double seconds = 3600;
  if (argc > 3 || (argc > 1 && !absl::SimpleAtoi(argv[1], &runs)) ||
      (argc > 2 && !absl::SimpleAtod(argv[2], &seconds))) {
    std::cerr << "usage: soak [RUNS [SECONDS]]\n";
    return 1;
  }
  return onnx_cudnn::Main(runs, seconds);
}
