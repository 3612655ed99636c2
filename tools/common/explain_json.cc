#include "tools/common/explain_json.h"

#include <nlohmann/json.hpp>

#include "tools/common/json_text.h"

namespace onnx_cudnn {

using Json = nlohmann::ordered_json;

DEFINE_JSON_FIELDS(OperandReport, value, type, format)
DEFINE_JSON_FIELDS(DevicePeaks, f16_flops_per_us, tf32_flops_per_us, f32_flops_per_us, bytes_per_us)
DEFINE_JSON_FIELDS(Refusal, engine, says, remedy)
DEFINE_JSON_FIELDS(Offer, engine, us, chosen_us, other_ops)
DEFINE_JSON_FIELDS(LostCandidate, engine, formats, us)
DEFINE_JSON_FIELDS(FormatCost, kind, value, from, to, bytes, us)
DEFINE_JSON_FIELDS(CallersCopies, bytes, device_us, host_us)
DEFINE_JSON_FIELDS(Totals, launches, us, floor_us, flops, bytes, format_us, format_bytes)

static void to_json(Json& json, const PartitionReport& p) {
  ADD_JSON_FIELDS(json, p, engine, variant, nodes, ops, links, inputs, outputs);
  json["us"] = p.cost.us;
  json["floor_us"] = p.floor_us;
  ADD_JSON_FIELDS(json, p.cost, flops, bytes);
  json["cost_from"] = p.cost.from;
  ADD_JSON_FIELDS(json, p, stream, launches, lost);
}

static void to_json(Json& json, const EdgeReport& e) {
  ADD_JSON_FIELDS(json, e, value, producer, producer_op, consumer, consumer_op);
  if (e.offer.has_value()) json["offer"] = *e.offer;
  json["refusals"] = e.refusals;
}

static void to_json(Json& json, const BufferReport& b) {
  json = {{"name", b.name},     {"space", b.space == Space::kHost ? "host" : "device"},
          {"offset", b.offset}, {"bytes", b.bytes},
          {"first", b.first},   {"last", b.last}};
}

static void to_json(Json& json, const MemoryReport& m) {
  ADD_JSON_FIELDS(json, m, weight_bytes, arena_bytes, host_arena_bytes, peak_bytes, needed_bytes,
                  device_bytes);
  json["fits"] = m.fits();
  ADD_JSON_FIELDS(json, m, buffers, live_bytes);
}

std::string ExplainJson(const Explanation& e) {
  Json json = {{"target", e.target}, {"prices", e.prices.empty() ? "measurements" : e.prices}};
  ADD_JSON_FIELDS(json, e, peaks, streams, totals, partitions, edges, formats, copies, memory);
  return JsonText(json, /*indent=*/1);
}

}  // namespace onnx_cudnn
