"""Image networks of timm that torchvision lacks, in their smallest configurations or cut to fewer blocks."""

import functools

from architectures.example import normal
from architectures.torch_export import DYNAMO, DYNAMO_SYMBOLIC, SCRIPT, SCRIPT_SYMBOLIC, Network, variants_of


def model(name, **options):
    import timm

    return timm.create_model(name, pretrained=False, num_classes=10, **options)


def network(name, size, *variants, **options):
    return Network(functools.partial(model, name, **options), {"x": normal("N", 3, size, size)}, variants)


def mixer(block, mlp_ratio=(0.5, 4.0), **more):
    """A network of products alone, of two blocks."""
    from timm import layers
    from timm.models import mlp_mixer

    options = {key: getattr(layers, value, None) or getattr(mlp_mixer, value) for key, value in more.items()}
    return mlp_mixer.MlpMixer(num_classes=10, img_size=64, patch_size=16, num_blocks=2, embed_dim=48, mlp_ratio=mlp_ratio, block_layer=getattr(mlp_mixer, block), **options)


def mvit_v2():
    from timm.models.mvitv2 import MultiScaleVit, MultiScaleVitCfg

    return MultiScaleVit(MultiScaleVitCfg(depths=(1, 1, 1, 1), embed_dim=24), img_size=64, num_classes=10)


IMAGE = {"x": normal("N", 3, 64, 64)}
NETWORKS = {
    # Convolutions
    "nfnet": network("test_nfnet", 64, SCRIPT, DYNAMO_SYMBOLIC),
    "byobnet": network("test_byobnet", 64, DYNAMO),
    "efficientnet_ln": network("test_efficientnet_ln", 64, SCRIPT),
    "efficientnet_evonorm": network("test_efficientnet_evos", 64, DYNAMO),
    "convnext_v2": network("test_convnext3", 64, SCRIPT_SYMBOLIC),
    "mambaout": network("test_mambaout", 64, DYNAMO),
    "ghostnet": network("ghostnet_050", 64, SCRIPT),
    "hrnet": network("hrnet_w18_small", 64, DYNAMO),
    "dla": network("dla46_c", 64, SCRIPT),
    "res2net": network("res2net50_14w_8s", 64, SCRIPT, layers=[1, 1, 1, 1]),
    "resnest": network("resnest14d", 64, DYNAMO, layers=[1, 1, 1, 1]),
    "sknet": network("skresnet18", 64, SCRIPT_SYMBOLIC, layers=[1, 1, 1, 1]),
    "xception": network("xception41p", 64, DYNAMO),
    "mobilenet_v4": network("mobilenetv4_conv_small_050", 64, DYNAMO_SYMBOLIC),
    "mobileone": network("mobileone_s0", 64, SCRIPT),
    "repvgg": network("repvgg_a0", 64, DYNAMO),
    "vovnet": network("ese_vovnet19b_slim_dw", 64, SCRIPT),
    "rexnet": network("rexnet_100", 64, DYNAMO),
    "darknet": network("cspdarknet53", 64, SCRIPT),
    "hgnet": network("hgnetv2_b0", 64, SCRIPT),
    "starnet": network("starnet_s050", 64, DYNAMO),
    "inception_next": network("inception_next_atto", 64, SCRIPT_SYMBOLIC),
    "selecsls": network("selecsls42b", 64, DYNAMO),
    "lcnet": network("lcnet_035", 64, SCRIPT),
    "tinynet": network("tinynet_e", 64, DYNAMO_SYMBOLIC),
    # Attention
    "cait": network("cait_xxs24_224", 64, SCRIPT, DYNAMO, img_size=64, depth=2),
    "deit": network("deit_tiny_distilled_patch16_224", 64, SCRIPT_SYMBOLIC, img_size=64, depth=2),
    "beit": network("beitv2_base_patch16_224", 64, SCRIPT, img_size=64, depth=2, embed_dim=48, num_heads=4),
    "eva": network("eva02_tiny_patch14_224", 56, DYNAMO, img_size=56, depth=2),
    "levit": network("levit_128s", 64, SCRIPT, img_size=64),
    "mobilevit": network("mobilevit_xxs", 64, SCRIPT, DYNAMO_SYMBOLIC),
    "mobilevit_v2": network("mobilevitv2_050", 64, DYNAMO),
    "pit": network("pit_ti_224", 64, SCRIPT, img_size=64),
    "tnt": network("tnt_s_patch16_224", 64, DYNAMO, img_size=64, depth=2),
    "twins": network("twins_svt_small", 64, SCRIPT, img_size=64, depths=(1, 1, 2, 1)),
    "coat": network("coat_lite_tiny", 64, DYNAMO, img_size=64),
    "crossvit": network("crossvit_9_240", 240, SCRIPT),
    "poolformer": network("poolformer_s12", 64, SCRIPT_SYMBOLIC),
    "caformer": network("caformer_s18", 64, DYNAMO),
    "edgenext": network("edgenext_xx_small", 64, SCRIPT),
    "efficientformer": network("efficientformer_l1", 224, SCRIPT),
    "fastvit": network("fastvit_t8", 64, DYNAMO),
    "davit": network("davit_tiny", 64, SCRIPT, depths=(1, 1, 1, 1), embed_dims=(24, 48, 96, 192), num_heads=(1, 2, 4, 8)),
    "gcvit": network("gcvit_xxtiny", 64, DYNAMO, img_size=64),
    "coatnet": network("coatnet_pico_rw_224", 64, SCRIPT, img_size=64),
    "nest": network("nest_tiny", 64, SCRIPT, img_size=64),
    "volo": network("volo_d1_224", 64, DYNAMO, img_size=64),
    "visformer": network("visformer_tiny", 64, DYNAMO, img_size=64),
    "xcit": network("xcit_nano_12_p16_224", 64, SCRIPT, img_size=64, depth=2),
    "hiera": network("hiera_tiny_224", 64, SCRIPT, img_size=64, stages=(1, 1, 2, 1)),
    "repvit": network("repvit_m0_9", 64, SCRIPT),
    "focalnet": network("focalnet_tiny_srf", 64, SCRIPT_SYMBOLIC),
    "swiftformer": network("swiftformer_xs", 224, DYNAMO),
    "tiny_vit": network("tiny_vit_5m_224", 224, SCRIPT, depths=(1, 1, 1, 1)),
    "efficientvit": network("efficientvit_b0", 64, SCRIPT, DYNAMO_SYMBOLIC),
    "efficientvit_msra": network("efficientvit_m0", 224, DYNAMO),
    "pvt_v2": network("pvt_v2_b0", 64, SCRIPT),
    "mvit_v2": Network(mvit_v2, IMAGE, (DYNAMO,)),
    "shvit": network("shvit_s1", 224, SCRIPT),
    # Neither
    "mlp_mixer": Network(functools.partial(mixer, "MixerBlock"), IMAGE, (SCRIPT,)),
    "gmlp": Network(functools.partial(mixer, "SpatialGatingBlock", mlp_ratio=4, mlp_layer="GatedMlp"), IMAGE, (DYNAMO,)),
    "resmlp": Network(functools.partial(mixer, "ResBlock", mlp_ratio=4, norm_layer="Affine"), IMAGE, (SCRIPT,)),
    "convmixer": network("convmixer_768_32", 64, DYNAMO),
    "sequencer": network("sequencer2d_s", 224, SCRIPT, layers=(1, 1, 1, 1), embed_dims=(32, 32, 32, 32), hidden_sizes=(8, 8, 8, 8)),
}


def variants():
    return variants_of("timm", NETWORKS)
