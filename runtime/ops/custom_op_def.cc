#include "runtime/ops/custom_op_def.h"

#include <map>
#include <memory>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "runtime/ops/small_types.h"

namespace onnx_cudnn {
namespace {

constexpr DTypeSet kTaken = kFixedSizeTypes | kSmallTypes | DTypeSet{DType::kC64, DType::kC128};

absl::Status Reference(const ReferenceArgs& args) {
  std::vector<CustomOperand> in, out;
  for (const TensorRef& t : args.in) in.push_back({t.dtype, t.dims, const_cast<void*>(t.data)});
  for (const MutableTensorRef& t : args.out) out.push_back({t.dtype, t.dims, t.data});
  return RunCustomOp(*FindCustomOp(args.node), args.node, in, out);
}

Support Check(const Node& node) {
  for (absl::Span<Value* const> values : {node.inputs(), node.outputs()}) {
    for (const Value* v : values) {
      if (v == nullptr || kTaken.Has(v->dtype())) continue;
      return Support::No(
          absl::StrCat(v->name(), " is ", NameOf(v->dtype()), ", ops of libraries take numbers"));
    }
  }
  return Support::Yes();
}

Cost CustomCost(const Node& node) {
  const onnx_cudnn_op_price price = PriceOfCustomOp(*FindCustomOp(node), node);
  return {.flops = price.flops, .bytes = price.bytes > 0 ? price.bytes : IoBytes(node)};
}

struct DefTable {
  absl::Mutex mutex;
  std::map<const CustomOp*, std::unique_ptr<const OpDef>> defs ABSL_GUARDED_BY(mutex);
};

}  // namespace

const OpDef& DefOf(const CustomOp& op) {
  static DefTable& table = *new DefTable;
  absl::MutexLock lock(table.mutex);
  std::unique_ptr<const OpDef>& def = table.defs[&op];
  if (def == nullptr) {
    def = std::make_unique<OpDef>(OpDef{.type = op.name,
                                        .domain = op.domain,
                                        .since = {op.functions.since_version},
                                        .types = kTaken,
                                        .check = Check,
                                        .reference = Reference,
                                        .cost = CustomCost});
  }
  return *def;
}

}  // namespace onnx_cudnn
