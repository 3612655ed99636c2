#include "runtime/graph/onnx_schemas.h"

#include <algorithm>
#include <memory>
#include <mutex>
#include <vector>

#include "absl/base/no_destructor.h"
#include "absl/container/flat_hash_map.h"
#include "onnx/defs/operator_sets.h"
#include "onnx/defs/operator_sets_ml.h"
#include "onnx/defs/operator_sets_preview.h"

namespace onnx_cudnn {
namespace {

struct LazySchema {
  std::string_view op;
  int since;
  onnx::OpSchema (*make)();

  std::once_flag once = {};
  const onnx::OpSchema* made = nullptr;  // never freed
};

#define SCHEMA(op, since, name) {#op, since, &onnx::GetOpSchema<onnx::name>},
LazySchema schemas[] = {
#include "onnx_schemas.inc"
};
#undef SCHEMA

using SchemasOfOps = absl::flat_hash_map<std::string_view, std::vector<LazySchema*>>;

// Newest first.
SchemasOfOps GroupByOp() {
  SchemasOfOps of_ops;
  for (LazySchema& schema : schemas) of_ops[schema.op].push_back(&schema);
  for (auto& [op, versions] : of_ops) {
    std::sort(versions.begin(), versions.end(),
              [](const LazySchema* a, const LazySchema* b) { return a->since > b->since; });
  }
  return of_ops;
}

const onnx::OpSchema& Made(LazySchema& schema) {
  std::call_once(schema.once, [&] {
    auto made = std::make_unique<onnx::OpSchema>(schema.make());
    made->Finalize();
    schema.made = made.release();
  });
  return *schema.made;
}

}  // namespace

const onnx::OpSchema* FindSchema(std::string_view op, int opset, std::string_view domain) {
  static const absl::NoDestructor<SchemasOfOps> of_ops(GroupByOp());
  const auto versions = of_ops->find(op);
  if (versions == of_ops->end()) return nullptr;
  for (LazySchema* schema : versions->second) {
    if (schema->since <= opset && Made(*schema).domain() == domain) return schema->made;
  }
  return nullptr;
}

}  // namespace onnx_cudnn
