"""export.py KIND EXPORTER FILE: a decoder with key/value cache, of two layers with seeded weights, as PyTorch exports it.

KIND is gpt2 or llama, EXPORTER is script (torch.onnx.export with dynamo=False) or dynamo. The files beside this one were made with torch 2.11.0; those of
"script" with transformers 4.46.3, which the older exporter still traces, those of "dynamo" with 4.57.1. Needs no network: the weights are drawn.
"""

import sys

import onnx
import torch
from transformers import DynamicCache, GPT2Config, GPT2LMHeadModel, LlamaConfig, LlamaForCausalLM

LAYERS, HEADS, POSITIONS, VOCABULARY = 2, 2, 224, 50


def model_of(kind):
    torch.manual_seed(7)
    if kind == "gpt2":
        model = GPT2LMHeadModel(GPT2Config(vocab_size=VOCABULARY, n_positions=POSITIONS, n_embd=16, n_layer=LAYERS, n_head=HEADS, attn_implementation="eager"))
    else:
        model = LlamaForCausalLM(
            LlamaConfig(
                vocab_size=VOCABULARY,
                hidden_size=16,
                intermediate_size=24,
                num_hidden_layers=LAYERS,
                num_attention_heads=2 * HEADS,
                num_key_value_heads=HEADS,
                max_position_embeddings=POSITIONS,
                attn_implementation="eager",
            )
        )
    for parameter in model.parameters():
        if parameter.dim() > 1:  # larger than for training, so that tokens do not repeat
            torch.nn.init.normal_(parameter, std=0.7)
    return model.eval()


class Step(torch.nn.Module):
    """logits and the longer cache, of tokens and a cache."""

    def __init__(self, kind):
        super().__init__()
        self.model = model_of(kind)
        self.takes_tuples = kind == "gpt2" and not hasattr(DynamicCache(), "layers")

    def forward(self, tokens, mask, positions, *past):
        pairs = tuple(zip(past[::2], past[1::2]))
        cache = pairs
        if not self.takes_tuples:
            cache = DynamicCache()
            for layer, (key, value) in enumerate(pairs):
                cache.update(key, value, layer)
        result = self.model(input_ids=tokens, attention_mask=mask, position_ids=positions, past_key_values=cache, use_cache=True)
        cache = result.past_key_values
        if self.takes_tuples:
            pairs = cache
        elif hasattr(cache, "layers"):
            pairs = [(layer.keys, layer.values) for layer in cache.layers]
        else:
            pairs = list(zip(cache.key_cache, cache.value_cache))
        return (result.logits, *(tensor for pair in pairs for tensor in pair))


def strip(model):
    """Without stack traces and the folder that it was exported in."""
    for thing in [model, model.graph, *model.graph.node, *model.graph.input, *model.graph.output, *model.graph.initializer]:
        thing.doc_string = ""
        del thing.metadata_props[:]
    del model.graph.value_info[:]
    return model


def main(kind, exporter, file):
    channels = 8 if kind == "gpt2" else 4
    past, length = 5, 3
    arguments = [torch.ones(1, length, dtype=torch.long), torch.ones(1, past + length, dtype=torch.long), torch.full((1, length), past)]
    names = ["input_ids", "attention_mask", "position_ids"]
    for layer in range(LAYERS):
        for part in ("key", "value"):
            arguments.append(torch.randn(1, HEADS, past, channels))
            names.append(f"past_key_values.{layer}.{part}")
    outputs = ["logits", *(name.replace("past_key_values", "present") for name in names[3:])]
    if exporter == "script":
        dims = {"input_ids": {1: "sequence_length"}, "attention_mask": {1: "total_sequence_length"}, "position_ids": {1: "sequence_length"}, "logits": {1: "sequence_length"}}
        dims.update({name: {2: "past_sequence_length"} for name in names[3:]})
        dims.update({name: {2: "total_sequence_length"} for name in outputs[1:]})
        torch.onnx.export(Step(kind), tuple(arguments), file, input_names=names, output_names=outputs, dynamic_axes=dims, opset_version=17, dynamo=False)
    else:
        auto = torch.export.Dim.AUTO
        dims = ({1: auto}, {1: auto}, {1: auto}, tuple({2: auto} for _ in names[3:]))
        torch.onnx.export(Step(kind), tuple(arguments), file, input_names=names, output_names=outputs, dynamic_shapes=dims, dynamo=True, external_data=False)
    onnx.save(strip(onnx.load(file)), file)


if __name__ == "__main__":
    main(*sys.argv[1:])
