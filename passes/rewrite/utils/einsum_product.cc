#include "passes/rewrite/utils/einsum_product.h"

#include <algorithm>
#include <initializer_list>
#include <utility>

namespace onnx_cudnn {
namespace {

bool Has(std::string_view labels, char label) { return labels.find(label) != labels.npos; }

// The labels of `group` in the order of `labels`; `group` itself if they are not all there.
std::string InOrderOf(std::string_view labels, const std::string& group) {
  std::string ordered;
  for (char label : labels) {
    if (Has(group, label)) ordered += label;
  }
  return ordered.size() == group.size() ? ordered : group;
}

// The different orders of `group` in `sources`.
std::vector<std::string> OrdersOf(const std::string& group,
                                  std::initializer_list<std::string_view> sources) {
  std::vector<std::string> orders;
  for (std::string_view labels : sources) {
    std::string order = InOrderOf(labels, group);
    if (std::find(orders.begin(), orders.end(), order) == orders.end())
      orders.push_back(std::move(order));
  }
  return orders;
}

// The labels of a product a[batch, m, k] · b[batch, k, n] in order. One of the factors may have
// further labels before its matrices, over which the other one is broadcast.
struct Groups {
  std::string batch, m, n, k;
  std::string more_of_a, more_of_b;
};

Groups GroupsOf(std::string_view a, std::string_view b, std::string_view needed) {
  Groups groups;
  for (char label : a) {
    std::string& group = !Has(b, label) ? groups.m : Has(needed, label) ? groups.batch : groups.k;
    group += label;
  }
  for (char label : b) {
    if (!Has(a, label)) groups.n += label;
  }
  return groups;
}

// Axes of a batch, each of its own, followed by `merged` ones.
Axes Matrices(std::string_view batch, std::initializer_list<std::string> merged) {
  Axes axes = AxesOf(batch);
  axes.insert(axes.end(), merged.begin(), merged.end());
  return axes;
}

// Whether a factor is stored as the transposes of matrices of `rows` and `columns`. Swapping the
// last two axes is free: libraries read transposed matrices.
bool IsTransposed(std::string_view labels, const std::string& batch, const std::string& rows,
                  const std::string& columns) {
  return labels != batch + rows + columns && labels == batch + columns + rows;
}

// The forms of a factor up to the operand of a MatMul.
std::vector<Axes> OperandForms(std::string_view labels, const std::string& batch,
                               const std::string& rows, const std::string& columns) {
  if (IsTransposed(labels, batch, rows, columns))
    return {Matrices(batch, {columns, rows}), Matrices(batch, {rows, columns})};
  return {AxesOf(batch + rows + columns), Matrices(batch, {rows, columns})};
}

// Leaves the last label of `labels`; returns those before it.
std::string SplitLast(std::string& labels) {
  std::string rest = labels.substr(0, labels.size() - 1);
  labels.erase(0, labels.size() - 1);
  return rest;
}

struct PricedProduct {
  EinsumProduct product;
  double moved = 0;  // elements
  int nodes = 0;

  bool IsBetterThan(const PricedProduct& other) const {
    return std::pair(moved, nodes) < std::pair(other.moved, other.nodes);
  }
};

// Tries the forms of one product.
class ProductPlanner {
 public:
  ProductPlanner(const EinsumFactor& a, const EinsumFactor& b, std::string_view needed,
                 std::string_view output, const Extents& extents)
      : a_(a), b_(b), needed_(needed), output_(output), extents_(extents) {}

  std::optional<EinsumProduct> Best() {
    const Groups groups = GroupsOf(a_.labels, b_.labels, needed_);
    if (groups.k.empty()) {
      TryMul(groups);
    } else {
      TryMatMuls(a_, b_, /*swaps=*/false);
      TryMatMuls(b_, a_, /*swaps=*/true);
    }
    if (!best_) return std::nullopt;
    return std::move(best_->product);
  }

 private:
  void TryMatMuls(const EinsumFactor& a, const EinsumFactor& b, bool swaps) {
    const Groups g = GroupsOf(a.labels, b.labels, needed_);
    for (const std::string& batch : OrdersOf(g.batch, {output_, a.labels, b.labels})) {
      for (const std::string& m : OrdersOf(g.m, {output_, a.labels})) {
        for (const std::string& n : OrdersOf(g.n, {output_, b.labels})) {
          for (const std::string& k : OrdersOf(g.k, {a.labels, b.labels}))
            TryForms(a, b, {.batch = batch, .m = m, .n = n, .k = k}, swaps);
        }
      }
    }
  }

  // Libraries broadcast a factor over the whole batch, but not over a part of it.
  void TryForms(const EinsumFactor& a, const EinsumFactor& b, const Groups& g, bool swaps) {
    TryMatMul(a, b, g, swaps);
    if (!g.batch.empty()) return;
    if (g.m.size() > 1) {
      Groups split = g;
      split.more_of_a = SplitLast(split.m);
      TryMatMul(a, b, split, swaps);
    }
    if (g.n.size() > 1) {
      Groups split = g;
      split.more_of_b = SplitLast(split.n);
      TryMatMul(a, b, split, swaps);
    }
  }

  void TryMatMul(const EinsumFactor& a, const EinsumFactor& b, const Groups& g, bool swaps) {
    const std::string of_a = g.more_of_a + g.batch, of_b = g.more_of_b + g.batch;
    const std::string& stack = of_a.empty() ? of_b : of_a;
    PricedProduct plan = {.product = {.op = "MatMul", .swaps = swaps}};
    (swaps ? plan.product.b : plan.product.a) = OperandForms(a.labels, of_a, g.m, g.k);
    (swaps ? plan.product.a : plan.product.b) = OperandForms(b.labels, of_b, g.k, g.n);
    plan.product.product = Matrices(stack, {g.m, g.n});
    plan.product.results = {AxesOf(stack + g.m + g.n)};
    if (IsTransposed(a.labels, of_a, g.m, g.k)) Discount(a, plan);
    if (IsTransposed(b.labels, of_b, g.k, g.n)) Discount(b, plan);
    Consider(std::move(plan));
  }

  // A swap of the last two axes costs nothing.
  void Discount(const EinsumFactor& factor, PricedProduct& plan) const {
    plan.moved -= CostOfMoving(factor);
    --plan.nodes;
  }

  // Each factor in the order of the result, with axes of 1 for the labels that it has not.
  void TryMul(const Groups& g) {
    const std::string result = InOrderOf(output_, g.batch + g.m + g.n);
    PricedProduct plan = {.product = {.op = "Mul", .product = AxesOf(result)}};
    const auto forms = [&](const std::string& labels) -> std::vector<Axes> {
      Axes axes;
      for (char label : result) {
        if (Has(labels, label)) axes.emplace_back(1, label);
        if (!Has(labels, label) && !axes.empty()) axes.emplace_back();
      }
      return {AxesOf(InOrderOf(result, labels)), std::move(axes)};
    };
    plan.product.a = forms(a_.labels);
    plan.product.b = forms(b_.labels);
    Consider(std::move(plan));
  }

  double CostOfMoving(const EinsumFactor& factor) const {
    return factor.is_constant ? 0 : extents_.Weight(factor.labels);
  }

  // Adds the cost of `forms`; false: a Reshape among them cannot be expressed.
  bool Follow(Axes from, const std::vector<Axes>& forms, double cost_of_moving,
              PricedProduct& plan) const {
    for (const Axes& to : forms) {
      if (from == to) continue;
      ++plan.nodes;
      if (IsPermutation(from, to)) {
        plan.moved += cost_of_moving;
      } else if (!extents_.ShapeOperand(from, to)) {
        return false;
      }
      from = to;
    }
    return true;
  }

  void Consider(PricedProduct plan) {
    EinsumProduct& product = plan.product;
    if (!output_.empty()) product.results.push_back(AxesOf(output_));
    if (Follow(AxesOf(a_.labels), product.a, CostOfMoving(a_), plan) &&
        Follow(AxesOf(b_.labels), product.b, CostOfMoving(b_), plan) &&
        Follow(product.product, product.results, extents_.Weight(LabelsOf(product.product)),
               plan) &&
        (!best_ || plan.IsBetterThan(*best_))) {
      best_ = std::move(plan);
    }
  }

  const EinsumFactor &a_, &b_;
  const std::string_view needed_, output_;
  const Extents& extents_;
  std::optional<PricedProduct> best_;
};

}  // namespace

std::optional<EinsumProduct> PlanProduct(const EinsumFactor& a, const EinsumFactor& b,
                                         std::string_view needed, std::string_view output,
                                         const Extents& extents) {
  return ProductPlanner(a, b, needed, output, extents).Best();
}

}  // namespace onnx_cudnn
