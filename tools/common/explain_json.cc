#include "tools/common/explain_json.h"

#include <nlohmann/json.hpp>

#include "tools/common/json_text.h"

namespace onnx_cudnn {
namespace {

using Json = nlohmann::ordered_json;

template <typename T>
Json ListOf(const std::vector<T>& items, Json (*json_of)(const T&)) {
  Json list = Json::array();
  for (const T& item : items) list.push_back(json_of(item));
  return list;
}

Json OperandJson(const OperandReport& o) {
  return {{"value", o.value}, {"type", o.type}, {"format", o.format}};
}

Json PartitionJson(const PartitionReport& p) {
  return {{"engine", p.engine},
          {"variant", p.variant},
          {"nodes", p.nodes},
          {"ops", p.ops},
          {"inputs", ListOf(p.inputs, OperandJson)},
          {"outputs", ListOf(p.outputs, OperandJson)},
          {"us", p.cost.us},
          {"floor_us", p.floor_us},
          {"flops", p.cost.flops},
          {"bytes", p.cost.bytes},
          {"cost_from", p.cost.from},
          {"stream", p.stream},
          {"launches", p.launches}};
}

Json RefusalJson(const Refusal& r) {
  return {{"engine", r.engine}, {"says", r.says}, {"remedy", r.remedy}};
}

Json EdgeJson(const EdgeReport& e) {
  Json json = {{"value", e.value},
               {"producer", e.producer},
               {"producer_op", e.producer_op},
               {"consumer", e.consumer},
               {"consumer_op", e.consumer_op}};
  if (e.offer.has_value()) {
    json["offer"] = {
        {"engine", e.offer->engine}, {"us", e.offer->us}, {"chosen_us", e.offer->chosen_us}};
  }
  json["refusals"] = ListOf(e.refusals, RefusalJson);
  return json;
}

Json FormatJson(const FormatCost& f) {
  return {{"kind", f.kind}, {"value", f.value}, {"from", f.from},
          {"to", f.to},     {"bytes", f.bytes}, {"us", f.us}};
}

Json BufferJson(const BufferReport& b) {
  return {{"name", b.name},     {"space", b.space == Space::kHost ? "host" : "device"},
          {"offset", b.offset}, {"bytes", b.bytes},
          {"first", b.first},   {"last", b.last}};
}

Json TotalsJson(const Totals& t) {
  return {{"launches", t.launches},
          {"us", t.us},
          {"floor_us", t.floor_us},
          {"flops", t.flops},
          {"bytes", t.bytes},
          {"format_us", t.format_us},
          {"format_bytes", t.format_bytes}};
}

Json MemoryJson(const MemoryReport& m) {
  return {{"weight_bytes", m.weight_bytes},
          {"arena_bytes", m.arena_bytes},
          {"host_arena_bytes", m.host_arena_bytes},
          {"peak_bytes", m.peak_bytes},
          {"needed_bytes", m.needed_bytes},
          {"device_bytes", m.device_bytes},
          {"fits", m.fits()},
          {"buffers", ListOf(m.buffers, BufferJson)},
          {"live_bytes", m.live_bytes}};
}

}  // namespace

std::string ExplainJson(const Explanation& e) {
  const Json json = {{"target", e.target},
                     {"prices", e.prices.empty() ? "measurements" : e.prices},
                     {"streams", e.streams},
                     {"totals", TotalsJson(e.totals)},
                     {"partitions", ListOf(e.partitions, PartitionJson)},
                     {"edges", ListOf(e.edges, EdgeJson)},
                     {"formats", ListOf(e.formats, FormatJson)},
                     {"copies",
                      {{"bytes", e.copies.bytes},
                       {"device_us", e.copies.device_us},
                       {"host_us", e.copies.host_us}}},
                     {"memory", MemoryJson(e.memory)}};
  return JsonText(json, /*indent=*/1);
}

}  // namespace onnx_cudnn
