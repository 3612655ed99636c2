// Programs created by hand, without Engines.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "runtime/plan/program.h"

namespace onnx_cudnn {

inline constexpr int64_t kElements = 16;  // per f32 Value
inline constexpr int64_t kBytes = kElements * 4;
using Floats = std::vector<float>;

// The function that a Step computes per element.
using Formula = std::function<float(const std::vector<float>& in)>;
Formula Times(float factor);
float Sum(const std::vector<float>& in);

class FormulaStep : public Step {
 public:
  FormulaStep(Formula formula, std::vector<Derived> constants)
      : formula_(std::move(formula)), constants_(std::move(constants)) {}
  int64_t workspace_bytes() const override { return kBytes; }
  absl::Span<const Derived> constants() const override { return constants_; }
  absl::Status Launch(const LaunchArgs& args) const override;
  std::string Save() const override { return ""; }

 private:
  Formula formula_;
  std::vector<Derived> constants_;
};

// A Value is a graph input (-1 - i) or the result of a Step (its number).
class ProgramMaker {
 public:
  int Input();
  int Add(std::shared_ptr<const Step> step, std::vector<int> in);
  int Add(Formula formula, std::vector<int> in);
  int AddWithConstant(Formula formula, std::vector<int> in, HostTensor constant);
  int AddInPlace(Formula formula, int in);
  int AddView(int in);
  // Makes the Step's result a graph output.
  void Output(int step);
  std::shared_ptr<Program> Make(int streams) &&;

 private:
  void Place(const StepOrder& order);
  Operand OperandOf(int value) const;

  std::shared_ptr<Program> program_ = std::make_shared<Program>();
  std::vector<std::vector<int>> reads_;
  std::vector<std::optional<int>> aliases_;
  std::vector<int> outputs_;  // by Step: index of the graph output that it writes, -1: none
};

// Parallel branches that join twice, with in-place Steps and a view; a Step also reads the last
// output. Branch b computes (b + 1) · (−1)^b · 3 times 2x.
std::shared_ptr<Program> Branches(int streams);
Floats Inputs();
// Whether these are the outputs of Branches.
bool IsRight(const Floats& x, const Floats& total, const Floats& last);

}  // namespace onnx_cudnn
