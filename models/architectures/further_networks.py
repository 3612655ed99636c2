"""Less common networks of transformers: long texts, state spaces, mixtures of experts, time series, speech, video, masks and depth."""

from architectures.example import ids, normal, ones
from architectures.multimodal_networks import EAGER, HIDDEN, PATCHES, PIXELS, SPEECH
from architectures.text_networks import SMALL, WORDS, decoder, encoder, network, translator
from architectures.torch_export import DYNAMO, DYNAMO_SYMBOLIC, SCRIPT, SCRIPT_SYMBOLIC, variants_of

LONG = {"input_ids": ids(WORDS, 1, 16), "attention_mask": ones(1, 16)}
VIDEO = {"pixel_values": normal(1, 4, 3, 32, 32)}
LARGER = {"pixel_values": normal(1, 3, 64, 64)}
SPECIAL = {"pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2}


NETWORKS = {
    # Texts
    "longformer": encoder("Longformer", SCRIPT, inputs=LONG, attention_window=[4, 4], **SPECIAL, sep_token_id=2),
    "big_bird": encoder("BigBird", SCRIPT, inputs=LONG, attention_type="original_full", **SPECIAL),
    "xlm": network("XLMModel", "XLMConfig", HIDDEN, (SCRIPT,), vocab_size=WORDS, emb_dim=32, n_layers=2, n_heads=4, max_position_embeddings=64),
    "ibert": encoder("IBert", SCRIPT, pad_token_id=0, quant_mode=False),
    "megatron_bert": encoder("MegatronBert", SCRIPT_SYMBOLIC),
    "rembert": encoder("RemBert", DYNAMO, input_embedding_size=16, output_embedding_size=16),
    "m2m_100": translator("M2M100", SCRIPT),
    "blenderbot": translator("Blenderbot", DYNAMO),
    "ctrl": network("CTRLLMHeadModel", "CTRLConfig", ("logits",), (DYNAMO,), {"input_ids": ids(WORDS, "N", "L")}, {"use_cache": False}, vocab_size=WORDS,
                    n_positions=64, n_embd=32, dff=48, n_layer=2, n_head=4),
    "openai_gpt": network("OpenAIGPTLMHeadModel", "OpenAIGPTConfig", ("logits",), (SCRIPT_SYMBOLIC,), {"input_ids": ids(WORDS, "N", "L")}, vocab_size=WORDS,
                          n_positions=64, n_embd=32, n_layer=2, n_head=4),
    "xglm": decoder("XGLM", SCRIPT, d_model=32, ffn_dim=48, num_layers=2, attention_heads=4),
    "biogpt": decoder("BioGpt", DYNAMO, **SPECIAL),
    "gpt_bigcode": network("GPTBigCodeForCausalLM", "GPTBigCodeConfig", ("logits",), (DYNAMO,), vocab_size=WORDS, n_positions=64, n_embd=32, n_layer=2,
                           n_head=4, attn_implementation="eager"),
    "starcoder2": decoder("Starcoder2", DYNAMO_SYMBOLIC, num_key_value_heads=2, **SPECIAL),
    "cohere": decoder("Cohere", DYNAMO, num_key_value_heads=2, **SPECIAL),
    "granite": decoder("Granite", DYNAMO, num_key_value_heads=2),
    "nemotron": decoder("Nemotron", SCRIPT_SYMBOLIC, num_key_value_heads=2, head_dim=8),
    "phi3": decoder("Phi3", DYNAMO, num_key_value_heads=2, **SPECIAL),
    "glm": decoder("Glm", DYNAMO, num_key_value_heads=2, head_dim=8, **SPECIAL),
    "exaone": decoder("Exaone4", DYNAMO, num_key_value_heads=2, **SPECIAL),
    "deepseek_v3": decoder("DeepseekV3", SCRIPT, num_key_value_heads=4, q_lora_rank=16, kv_lora_rank=16, qk_rope_head_dim=8, qk_nope_head_dim=8, v_head_dim=8,
                           n_routed_experts=4, n_group=2, topk_group=1, num_experts_per_tok=2, first_k_dense_replace=1, moe_intermediate_size=16,
                           experts_implementation="batched_mm"),
    "qwen2_moe": decoder("Qwen2Moe", DYNAMO, num_key_value_heads=2, num_experts=4, num_experts_per_tok=2, moe_intermediate_size=16,
                         shared_expert_intermediate_size=16, experts_implementation="batched_mm"),
    "mamba2": network("Mamba2ForCausalLM", "Mamba2Config", ("logits",), (DYNAMO,), {"input_ids": ids(WORDS, 2, 8)}, {"use_cache": False}, vocab_size=WORDS,
                      hidden_size=32, state_size=8, num_hidden_layers=2, num_heads=8, head_dim=8, n_groups=1, chunk_size=4),
    "recurrent_gemma": decoder("RecurrentGemma", SCRIPT, lru_width=32, attention_window_size=8, num_key_value_heads=2, head_dim=8, **SPECIAL),
    # Images
    "pvt": network("PvtModel", "PvtConfig", HIDDEN, (DYNAMO,), LARGER, image_size=64, hidden_sizes=[8, 16, 16, 32], depths=[1, 1, 1, 1],
                   num_attention_heads=[1, 2, 2, 4]),
    "swin2sr": network("Swin2SRForImageSuperResolution", "Swin2SRConfig", ("reconstruction",), (SCRIPT, DYNAMO), {"pixel_values": normal(1, 3, 16, 16)}, image_size=16,
                       patch_size=1, embed_dim=16, depths=[1, 1], num_heads=[2, 2], window_size=4),
    "bit": network("BitModel", "BitConfig", HIDDEN, (DYNAMO,), LARGER, embedding_size=32, hidden_sizes=[32, 32, 64, 64], depths=[1, 1, 1, 1], num_groups=8),
    "vit_det": network("VitDetModel", "VitDetConfig", HIDDEN, (SCRIPT,), PIXELS, **PATCHES, pretrain_image_size=32, window_size=2,
                       use_relative_position_embeddings=True),
    "video_mae": network("VideoMAEModel", "VideoMAEConfig", HIDDEN, (SCRIPT,), VIDEO, **PATCHES, num_frames=4),
    "vivit": network("VivitModel", "VivitConfig", HIDDEN, (DYNAMO,), VIDEO, **PATCHES, num_frames=4, tubelet_size=[2, 8, 8]),
    "timesformer": network("TimesformerModel", "TimesformerConfig", HIDDEN, (SCRIPT,), VIDEO, **PATCHES, num_frames=4),
    # Sound and time series
    "wav2vec2_conformer": network("Wav2Vec2ConformerModel", "Wav2Vec2ConformerConfig", HIDDEN, (SCRIPT,), {"input_values": normal(1, 1200)}, **SPEECH,
                                  position_embeddings_type="relative"),
    "data2vec_audio": network("Data2VecAudioModel", "Data2VecAudioConfig", HIDDEN, (DYNAMO,), {"input_values": normal(1, 1200)}, **SPEECH,
                              num_conv_pos_embeddings_layers=1, conv_pos_kernel_size=3),
    "speech_to_text": network("Speech2TextModel", "Speech2TextConfig", HIDDEN, (DYNAMO,), {"input_features": normal(1, 40, 16), "decoder_input_ids": ids(WORDS, 1, 6)},
                              {"use_cache": False}, **EAGER, vocab_size=WORDS, d_model=32, encoder_layers=1, decoder_layers=1, encoder_attention_heads=4,
                              decoder_attention_heads=4, encoder_ffn_dim=48, decoder_ffn_dim=48, input_feat_per_channel=16, conv_channels=32, max_source_positions=64,
                              max_target_positions=32, **SPECIAL),
    "patch_tsmixer": network("PatchTSMixerForPrediction", "PatchTSMixerConfig", ("prediction_outputs",), (DYNAMO,), {"past_values": normal("N", 32, 2)},
                             context_length=32, patch_length=8, patch_stride=8, num_input_channels=2, prediction_length=8, d_model=16, num_layers=2),
    "trocr": network("TrOCRForCausalLM", "TrOCRConfig", ("logits",), (SCRIPT,), {"input_ids": ids(WORDS, 2, 8)}, {"use_cache": False}, **EAGER,
                     vocab_size=WORDS, d_model=32, decoder_layers=2, decoder_attention_heads=4, decoder_ffn_dim=48, max_position_embeddings=64, **SPECIAL),
    "vit_mae": network("ViTMAEModel", "ViTMAEConfig", HIDDEN, (SCRIPT,), {**PIXELS, "noise": normal("N", 16)}, **PATCHES, mask_ratio=0.5),
    "swin_hf": network("SwinModel", "SwinConfig", HIDDEN, (SCRIPT_SYMBOLIC, DYNAMO_SYMBOLIC), {"pixel_values": normal("N", 3, 32, 32)}, **EAGER, image_size=32,
                       patch_size=2, embed_dim=16, depths=[2, 2], num_heads=[2, 4], window_size=4),
    "dinov3": network("DINOv3ViTModel", "DINOv3ViTConfig", HIDDEN, (DYNAMO,), PIXELS, **PATCHES),
}  # fmt: skip


def variants():
    return variants_of("transformers", NETWORKS)
