"""Language networks of transformers: two layers, small widths, as published otherwise."""

import functools

from architectures.example import ids, normal, ones
from architectures.torch_export import DYNAMO, DYNAMO_SYMBOLIC, SCRIPT, SCRIPT_SYMBOLIC, Network, outputs_of, variants_of

WORDS = 100
# Names that most configurations share; each takes those that it knows and says the others itself.
SMALL = {
    "vocab_size": WORDS, "hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 48, "max_position_embeddings": 64,
    "attn_implementation": "eager",
}  # fmt: skip
TEXT = {"input_ids": ids(WORDS, "N", "L"), "attention_mask": ones("N", "L")}


def built(kind, config, options):
    import transformers

    made = getattr(transformers, kind)(getattr(transformers, config)(**options))
    made.config.use_cache = options.get("use_cache", False)
    return made


def network(kind, config, outputs, variants, inputs=TEXT, constants=None, **options):
    make = functools.partial(built, kind, config, options)
    return Network(outputs_of(make, list(inputs), outputs, **(constants or {})), inputs, variants)


def encoder(name, *variants, kind="Model", inputs=TEXT, outputs=("last_hidden_state",), **options):
    return network(f"{name}{kind}", f"{name}Config", outputs, variants, inputs, **{**SMALL, **options})


def decoder(name, *variants, kind="ForCausalLM", **options):
    return network(f"{name}{kind}", f"{name}Config", ("logits",), variants, TEXT, {"use_cache": False}, **{**SMALL, **options})


def gpt(name, *variants, kind="LMHeadModel", **options):
    """Configurations with the names of GPT-2."""
    small = {"vocab_size": WORDS, "n_embd": 32, "n_layer": 2, "n_head": 4, "n_positions": 64, "attn_implementation": "eager"}
    return network(f"{name}{kind}", f"{name}Config", ("logits",), variants, TEXT, {"use_cache": False}, **{**small, **options})


def translator(name, *variants, kind="Model", **options):
    small = {
        "vocab_size": WORDS, "d_model": 32, "encoder_layers": 2, "decoder_layers": 2, "encoder_attention_heads": 4, "decoder_attention_heads": 4,
        "encoder_ffn_dim": 48, "decoder_ffn_dim": 48, "max_position_embeddings": 64, "pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2,
        "decoder_start_token_id": 2, "forced_eos_token_id": None, "attn_implementation": "eager",
    }  # fmt: skip
    inputs = {**TEXT, "decoder_input_ids": ids(WORDS, "N", "S")}
    return network(f"{name}{kind}", f"{name}Config", ("last_hidden_state",), variants, inputs, {"use_cache": False}, **{**small, **options})


def t5(name, *variants, **options):
    small = {"vocab_size": WORDS, "d_model": 32, "d_kv": 8, "d_ff": 48, "num_layers": 2, "num_heads": 4, "pad_token_id": 0, "decoder_start_token_id": 0,
             "attn_implementation": "eager"}  # fmt: skip
    inputs = {**TEXT, "decoder_input_ids": ids(WORDS, "N", "S")}
    return network(f"{name}ForConditionalGeneration", f"{name}Config", ("logits",), variants, inputs, {"use_cache": False}, **{**small, **options})


def step(name, heads, **options):
    """A decoder that takes the keys and values of the past, and returns those of past and present."""

    def make():
        import torch
        import transformers

        class Step(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.inner = built(f"{name[0]}", f"{name[1]}", {**options, "use_cache": True})

            def forward(self, input_ids, attention_mask, *past):
                cache = transformers.DynamicCache()
                for layer in range(len(past) // 2):
                    cache.update(past[2 * layer], past[2 * layer + 1], layer)
                answer = self.inner(input_ids=input_ids, attention_mask=attention_mask, past_key_values=cache, use_cache=True)
                present = [tensor for layer in answer.past_key_values.layers for tensor in (layer.keys, layer.values)]
                return answer.logits, *present

        return Step()

    past = {f"past_{layer}_{part}": normal("N", heads, "P", 8) for layer in range(2) for part in ("key", "value")}
    return Network(make, {"input_ids": ids(WORDS, "N", 1), "attention_mask": ones("N", "P+1"), **past}, (SCRIPT_SYMBOLIC, DYNAMO_SYMBOLIC))


LLAMA = {**SMALL, "num_key_value_heads": 2}

NETWORKS = {
    # Encoders
    "bert": encoder("Bert", SCRIPT, SCRIPT_SYMBOLIC, DYNAMO, DYNAMO_SYMBOLIC, outputs=("last_hidden_state", "pooler_output")),
    "roberta": encoder("Roberta", DYNAMO, pad_token_id=0),
    "distilbert": encoder("DistilBert", SCRIPT_SYMBOLIC, dim=32, n_layers=2, n_heads=4, hidden_dim=48),
    "albert": encoder("Albert", DYNAMO_SYMBOLIC, embedding_size=16),
    "electra": encoder("Electra", SCRIPT, embedding_size=16),
    "mobilebert": encoder("MobileBert", DYNAMO, embedding_size=32, intra_bottleneck_size=32, true_hidden_size=32),
    "deberta": encoder("Deberta", SCRIPT, relative_attention=True, pos_att_type=["c2p", "p2c"]),
    "deberta_v2": encoder("DebertaV2", SCRIPT, DYNAMO, relative_attention=True, pos_att_type=["c2p", "p2c"], position_buckets=8, share_att_key=True,
                          conv_kernel_size=3, conv_act="gelu", norm_rel_ebd="layer_norm", position_biased_input=False),
    "mpnet": encoder("MPNet", SCRIPT_SYMBOLIC, pad_token_id=0),
    "squeezebert": encoder("SqueezeBert", DYNAMO, embedding_size=32, q_groups=2, k_groups=2, v_groups=2, post_attention_groups=1, intermediate_groups=2,
                           output_groups=2),
    "convbert": encoder("ConvBert", SCRIPT, embedding_size=16, head_ratio=2, conv_kernel_size=3),
    "roformer": encoder("RoFormer", DYNAMO, embedding_size=32),
    "fnet": encoder("FNet", DYNAMO, inputs={"input_ids": ids(WORDS, "N", "L")}),
    "xlnet": network("XLNetModel", "XLNetConfig", ("last_hidden_state",), (SCRIPT,), TEXT, {"use_mems": False}, vocab_size=WORDS, d_model=32, n_layer=2, n_head=4,
                     d_inner=48),
    "funnel": network("FunnelModel", "FunnelConfig", ("last_hidden_state",), (SCRIPT,), vocab_size=WORDS, block_sizes=[1, 1], d_model=32, n_head=4, d_head=8,
                      d_inner=48, num_decoder_layers=1),
    "modernbert": encoder("ModernBert", DYNAMO, pad_token_id=0, bos_token_id=1, eos_token_id=2, cls_token_id=1, sep_token_id=2, local_attention=4),
    # Decoders
    "gpt2": gpt("GPT2", SCRIPT, SCRIPT_SYMBOLIC, DYNAMO, DYNAMO_SYMBOLIC),
    "gpt2_step": step(("GPT2LMHeadModel", "GPT2Config"), 4, vocab_size=WORDS, n_embd=32, n_layer=2, n_head=4, n_positions=64, attn_implementation="eager"),
    "gptj": gpt("GPTJ", DYNAMO, kind="ForCausalLM", rotary_dim=4),
    "gpt_neo": network("GPTNeoForCausalLM", "GPTNeoConfig", ("logits",), (SCRIPT,), TEXT, {"use_cache": False}, vocab_size=WORDS, hidden_size=32, num_layers=2,
                       num_heads=4, attention_types=[[["global", "local"], 1]], window_size=4, max_position_embeddings=64),
    "gpt_neox": decoder("GPTNeoX", DYNAMO_SYMBOLIC),
    "opt": decoder("OPT", SCRIPT_SYMBOLIC, ffn_dim=48, word_embed_proj_dim=32, pad_token_id=0),
    "bloom": decoder("Bloom", DYNAMO, n_layer=2, n_head=4),
    "codegen": gpt("CodeGen", SCRIPT, kind="ForCausalLM", rotary_dim=4, n_ctx=64),
    "llama": decoder("Llama", SCRIPT, DYNAMO, DYNAMO_SYMBOLIC, num_key_value_heads=2),
    "llama_step": step(("LlamaForCausalLM", "LlamaConfig"), 2, **LLAMA),
    "mistral": decoder("Mistral", SCRIPT_SYMBOLIC, num_key_value_heads=2, sliding_window=4),
    "qwen3": decoder("Qwen3", DYNAMO, num_key_value_heads=2, head_dim=8),
    "phi": decoder("Phi", DYNAMO_SYMBOLIC, partial_rotary_factor=0.5),
    "gemma": decoder("Gemma2", DYNAMO, num_key_value_heads=2, head_dim=8, sliding_window=4, query_pre_attn_scalar=8, pad_token_id=0),
    "falcon": decoder("Falcon", SCRIPT),
    "stablelm": decoder("StableLm", DYNAMO, num_key_value_heads=2),
    "olmo": decoder("Olmo2", SCRIPT, num_key_value_heads=2, pad_token_id=0),
    "mixtral": decoder("Mixtral", DYNAMO, num_key_value_heads=2, num_local_experts=4, experts_implementation="batched_mm"),
    "mamba": network("MambaForCausalLM", "MambaConfig", ("logits",), (DYNAMO,), {"input_ids": ids(WORDS, "N", "L")}, {"use_cache": False}, vocab_size=WORDS,
                     hidden_size=32, state_size=8, num_hidden_layers=2),
    "rwkv": network("RwkvForCausalLM", "RwkvConfig", ("logits",), (SCRIPT,), {"input_ids": ids(WORDS, "N", "L")}, {"use_cache": False}, vocab_size=WORDS,
                    hidden_size=32, attention_hidden_size=32, intermediate_size=48, num_hidden_layers=2, context_length=64),
    # Both
    "t5": t5("T5", SCRIPT_SYMBOLIC, DYNAMO),
    "mt5": t5("MT5", DYNAMO_SYMBOLIC, feed_forward_proj="gated-gelu"),
    "bart": translator("Bart", SCRIPT, DYNAMO),
    "marian": translator("Marian", SCRIPT_SYMBOLIC),
    "pegasus": translator("Pegasus", DYNAMO),
}


def variants():
    return variants_of("transformers", NETWORKS)
