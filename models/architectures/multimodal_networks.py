"""Networks of transformers for images, sound and both with text: small as text_networks."""

from architectures.example import ids, normal, ones, uniform
from architectures.text_networks import SMALL, WORDS, built, network
from architectures.torch_export import DYNAMO, DYNAMO_SYMBOLIC, SCRIPT, SCRIPT_SYMBOLIC, Network, outputs_of, variants_of

EAGER = {"attn_implementation": "eager"}
TINY = {**EAGER, "hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 48}
PIXELS = {"pixel_values": normal("N", 3, 32, 32)}
PATCHES = {**TINY, "image_size": 32, "patch_size": 8}
HIDDEN = ("last_hidden_state",)
DETECTIONS = ("logits", "pred_boxes")


def resnet_config():
    import transformers

    stages = ["stage2", "stage3", "stage4"]
    return transformers.ResNetConfig(embedding_size=16, hidden_sizes=[16, 32, 32, 64], depths=[1, 1, 1, 1], layer_type="basic", out_features=stages)


def later(kind, config, outputs, variants, inputs, options, constants=None):
    """network() whose options are made when transformers is there."""
    return Network(outputs_of(lambda: built(kind, config, options()), list(inputs), outputs, **(constants or {})), inputs, variants)


def detr_options(**more):
    return lambda: {
        **EAGER, "use_timm_backbone": False, "use_pretrained_backbone": False, "backbone": None, "backbone_config": resnet_config(), "d_model": 32,
        "encoder_layers": 1, "decoder_layers": 2, "encoder_attention_heads": 4, "decoder_attention_heads": 4, "encoder_ffn_dim": 48, "decoder_ffn_dim": 48,
        "num_queries": 6, **more,
    }  # fmt: skip


def clip_options():
    text = {**SMALL, "projection_dim": 16, "bos_token_id": 1, "eos_token_id": 2, "pad_token_id": 0}
    return {"text_config": text, "vision_config": {**PATCHES, "projection_dim": 16}, "projection_dim": 16}


SPEECH = {
    **TINY, "conv_dim": (16, 16, 16), "conv_stride": (5, 2, 2), "conv_kernel": (10, 3, 2), "num_feat_extract_layers": 3, "num_conv_pos_embeddings": 16,
    "num_conv_pos_embedding_groups": 4, "vocab_size": 32, "apply_spec_augment": False,
}  # fmt: skip
SAM_VISION = {**EAGER, "hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "mlp_dim": 48, "image_size": 64, "patch_size": 8, "window_size": 4,
              "global_attn_indexes": [1], "output_channels": 32, "num_pos_feats": 16}  # fmt: skip
SAM_DECODER = {"hidden_size": 32, "mlp_dim": 48, "num_hidden_layers": 1, "num_attention_heads": 4, "iou_head_hidden_dim": 32}

NETWORKS = {
    "vit_hf": network("ViTModel", "ViTConfig", HIDDEN, (SCRIPT_SYMBOLIC,), PIXELS, **PATCHES),
    "dinov2": network("Dinov2Model", "Dinov2Config", HIDDEN, (DYNAMO,), PIXELS, **PATCHES),
    "segformer": network("SegformerForSemanticSegmentation", "SegformerConfig", ("logits",), (SCRIPT, DYNAMO), {"pixel_values": normal("N", 3, 64, 64)}, **EAGER,
                         hidden_sizes=[16, 16, 32, 32], depths=[1, 1, 1, 1], num_attention_heads=[1, 2, 2, 4], decoder_hidden_size=16, num_labels=5),
    "dpt": network("DPTForDepthEstimation", "DPTConfig", ("predicted_depth",), (DYNAMO,), PIXELS, **{**PATCHES, "num_hidden_layers": 4},
                   backbone_out_indices=[0, 1, 2, 3], neck_hidden_sizes=[16, 16, 32, 32], fusion_hidden_size=16, is_hybrid=False),
    "glpn": network("GLPNForDepthEstimation", "GLPNConfig", ("predicted_depth",), (SCRIPT,), {"pixel_values": normal("N", 3, 64, 64)}, **EAGER,
                    hidden_sizes=[16, 16, 32, 32], depths=[1, 1, 1, 1], num_attention_heads=[1, 2, 2, 4], decoder_hidden_size=16),
    "yolos": network("YolosForObjectDetection", "YolosConfig", DETECTIONS, (DYNAMO,), {"pixel_values": normal(1, 3, 32, 32)},
                     **{**PATCHES, "image_size": [32, 32]}, num_detection_tokens=5),
    "detr": later("DetrForObjectDetection", "DetrConfig", DETECTIONS, (SCRIPT, DYNAMO), {"pixel_values": normal(1, 3, 64, 96)}, detr_options()),
    "conditional_detr": later("ConditionalDetrForObjectDetection", "ConditionalDetrConfig", DETECTIONS, (DYNAMO,), {"pixel_values": normal(1, 3, 64, 64)},
                              detr_options()),
    "deformable_detr": later("DeformableDetrForObjectDetection", "DeformableDetrConfig", DETECTIONS, (DYNAMO,), {"pixel_values": normal(1, 3, 64, 64)},
                             detr_options(num_feature_levels=3, encoder_n_points=2, decoder_n_points=2)),
    "sam": later("SamModel", "SamConfig", ("iou_scores", "pred_masks"), (SCRIPT, DYNAMO),
                 {"pixel_values": normal(1, 3, 64, 64), "input_points": uniform(1, 1, 2, 2), "input_labels": ones(1, 1, 2)},
                 lambda: {"vision_config": SAM_VISION, "mask_decoder_config": SAM_DECODER,
                          "prompt_encoder_config": {"hidden_size": 32, "image_size": 64, "patch_size": 8, "mask_input_channels": 4}},
                 {"multimask_output": True}),
    "clip": later("CLIPModel", "CLIPConfig", ("logits_per_image", "text_embeds", "image_embeds"), (SCRIPT, DYNAMO),
                  {"input_ids": ids(WORDS, "N", "L"), "pixel_values": normal("N", 3, 32, 32), "attention_mask": ones("N", "L")}, clip_options),
    "siglip": later("SiglipModel", "SiglipConfig", ("logits_per_image",), (DYNAMO,), {"input_ids": ids(WORDS, 2, 8), "pixel_values": normal(2, 3, 32, 32)},
                    lambda: {"text_config": {**SMALL, "max_position_embeddings": 8, "projection_size": 32}, "vision_config": PATCHES}),
    "whisper": network("WhisperModel", "WhisperConfig", HIDDEN, (DYNAMO,), {"input_features": normal("N", 16, 80), "decoder_input_ids": ids(WORDS, "N", "S")},
                       {"use_cache": False}, **EAGER, vocab_size=WORDS, num_mel_bins=16, d_model=32, encoder_layers=2, decoder_layers=2, encoder_attention_heads=4,
                       decoder_attention_heads=4, encoder_ffn_dim=48, decoder_ffn_dim=48, max_source_positions=40, max_target_positions=32, pad_token_id=0,
                       bos_token_id=1, eos_token_id=2, decoder_start_token_id=1),
    "wav2vec2": network("Wav2Vec2ForCTC", "Wav2Vec2Config", ("logits",), (SCRIPT_SYMBOLIC, DYNAMO), {"input_values": normal("N", 1200)}, **SPEECH),
    "hubert": network("HubertModel", "HubertConfig", HIDDEN, (SCRIPT,), {"input_values": normal("N", 1200)}, **SPEECH, feat_extract_norm="layer",
                      do_stable_layer_norm=True),
    "wavlm": network("WavLMModel", "WavLMConfig", HIDDEN, (SCRIPT,), {"input_values": normal("N", 1200)}, **SPEECH),
    "sew": network("SEWModel", "SEWConfig", HIDDEN, (DYNAMO,), {"input_values": normal("N", 1200)}, **SPEECH, squeeze_factor=2),
    "audio_spectrogram": network("ASTModel", "ASTConfig", HIDDEN, (DYNAMO,), {"input_values": normal("N", 64, 32)}, **TINY, max_length=64, num_mel_bins=32,
                                 patch_size=8, frequency_stride=8, time_stride=8),
    "encodec": network("EncodecModel", "EncodecConfig", ("audio_codes", "audio_values"), (SCRIPT,), {"input_values": normal(1, 1, 640)}, num_filters=8,
                       upsampling_ratios=[4, 2], hidden_size=16, codebook_dim=16, codebook_size=32, sampling_rate=8000, target_bandwidths=[10.0]),
    "layoutlm": network("LayoutLMModel", "LayoutLMConfig", HIDDEN, (SCRIPT,), {"input_ids": ids(WORDS, "N", "L"), "bbox": ones("N", "L", 4)}, **SMALL,
                        max_2d_position_embeddings=64),
    "patchtst": network("PatchTSTForPrediction", "PatchTSTConfig", ("prediction_outputs",), (DYNAMO,), {"past_values": normal("N", 32, 2)}, num_input_channels=2,
                        context_length=32, patch_length=8, patch_stride=8, prediction_length=8, d_model=16, num_attention_heads=2, num_hidden_layers=2, ffn_dim=32,
                        use_cls_token=False),
    "mobilenet_v1_hf": network("MobileNetV1Model", "MobileNetV1Config", HIDDEN, (DYNAMO_SYMBOLIC,), {"pixel_values": normal("N", 3, 32, 32)}, depth_multiplier=0.25),
}


def variants():
    return variants_of("transformers", NETWORKS)
