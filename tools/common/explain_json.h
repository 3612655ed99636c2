#pragma once

#include <string>

#include "passes/explain/explanation.h"

namespace onnx_cudnn {

// Serializes all of `explanation`:
// {"target", "prices", "peaks": {"f16_flops_per_us", "tf32_flops_per_us", "f32_flops_per_us",
//  "bytes_per_us"}, "streams",
//  "totals": {"launches", "us", "floor_us", "flops", "bytes", "format_us", "format_bytes"},
//  "partitions": [{"engine", "variant", "nodes": […], "ops": […], "links": [[from, to], …] (of
//    nodes), "inputs": [{"value", "type", "format"}], "outputs": […], "us", "floor_us", "flops",
//    "bytes", "cost_from", "stream", "launches"}],
//  "edges": [{"value", "producer", "producer_op", "consumer", "consumer_op", "offer": {"engine",
//    "us", "chosen_us", "other_ops"}, "refusals": [{"engine", "says", "remedy"}]}],
//  "formats": [{"kind", "value", "from", "to", "bytes", "us"}],
//  "memory": {"weight_bytes", "arena_bytes", "host_arena_bytes", "peak_bytes", "workspace_bytes",
//    "buffers": [{"name", "space", "offset", "bytes", "first", "last"}], "live_bytes": […]}}
// indented, one field per line. "offer" is present only if there is one.
std::string ExplainJson(const Explanation& explanation);

}  // namespace onnx_cudnn
