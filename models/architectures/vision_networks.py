"""Classification and segmentation networks of torchvision: few blocks, small images; widths as published where they are cheap."""

import functools

from architectures.example import normal, uniform
from architectures.torch_export import DYNAMO, DYNAMO_SYMBOLIC, SCRIPT, SCRIPT_SYMBOLIC, Network, variants_of

CLASSES = 10


def resnet(block, **options):
    from torchvision.models import resnet as module

    return module.ResNet(getattr(module, block), [1, 1, 1, 1], num_classes=CLASSES, **options)


def model(name, **options):
    import torchvision

    return torchvision.models.get_model(name, weights=None, num_classes=CLASSES, **options)


def alexnet():
    from torch import nn

    return nn.Sequential(model("alexnet").features, nn.AdaptiveAvgPool2d(2), nn.Flatten(), nn.Linear(1024, 64), nn.ReLU(), nn.Linear(64, CLASSES))


def vgg():
    from torch import nn
    from torchvision.models.vgg import make_layers

    features = make_layers([16, 16, "M", 32, 32, "M", 64, 64, "M"], batch_norm=True)
    return nn.Sequential(features, nn.AdaptiveAvgPool2d(2), nn.Flatten(), nn.Linear(256, 64), nn.ReLU(), nn.Linear(64, CLASSES))


def densenet():
    from torchvision.models import DenseNet

    return DenseNet(growth_rate=8, block_config=(2, 3, 3, 2), num_init_features=16, num_classes=CLASSES)


def convnext():
    from torchvision.models.convnext import CNBlockConfig, ConvNeXt

    return ConvNeXt([CNBlockConfig(24, 48, 1), CNBlockConfig(48, 96, 2), CNBlockConfig(96, None, 1)], num_classes=CLASSES)


def swin(version):
    from torchvision.models import swin_transformer as module

    parts = {1: (module.SwinTransformerBlock, module.PatchMerging), 2: (module.SwinTransformerBlockV2, module.PatchMergingV2)}[version]
    return module.SwinTransformer([4, 4], 24, [2, 2], [2, 4], [4, 4], num_classes=CLASSES, block=parts[0], downsample_layer=parts[1])


def vit():
    from torchvision.models import VisionTransformer

    made = VisionTransformer(32, 8, 2, 2, 32, 64, num_classes=CLASSES)
    made.heads.head.weight.data.normal_(0, 0.1)  # zeros as torch starts it
    return made


def maxvit():
    from torchvision.models import MaxVit

    return MaxVit((64, 64), 16, 2, [16, 32], [1, 1], 8, 0.0, num_classes=CLASSES)


class Out:
    """Makes a segmentation network that returns its tensor."""

    def __init__(self, make):
        self.make = make

    def __call__(self):
        import torch

        class Segmented(torch.nn.Module):
            def __init__(self, inner):
                super().__init__()
                self.inner = inner

            def forward(self, x):
                return self.inner(x)["out"]

        return Segmented(self.make())


def segmentation(name):
    import torchvision

    return torchvision.models.get_model(name, weights=None, weights_backbone=None, num_classes=5)


def fcn():
    from torchvision.models.segmentation.fcn import _fcn_resnet

    return _fcn_resnet(resnet("Bottleneck", replace_stride_with_dilation=[False, True, True]), 5, None)


def raft():
    import torchvision

    class Flow(torchvision.models.optical_flow.RAFT):
        def forward(self, first, second):
            return super().forward(first, second, num_flow_updates=2)[-1]

    from torchvision.models.optical_flow import raft as module

    feature = module.FeatureEncoder(block=module.BottleneckBlock, layers=(32, 32, 64, 96, 128), norm_layer=module.nn.InstanceNorm2d)
    context = module.FeatureEncoder(block=module.BottleneckBlock, layers=(32, 32, 64, 96, 160), norm_layer=None)
    motion = module.MotionEncoder(in_channels_corr=4 * 49, corr_layers=(96,), flow_layers=(64, 32), out_channels=82)
    recurrent = module.RecurrentBlock(input_size=82 + 64, hidden_size=96, kernel_size=(3,), padding=(1,))
    update = module.UpdateBlock(motion_encoder=motion, recurrent_block=recurrent, flow_head=module.FlowHead(in_channels=96, hidden_size=128))
    return Flow(feature_encoder=feature, context_encoder=context, corr_block=module.CorrBlock(num_levels=4, radius=3), update_block=update)


def video_resnet():
    from torchvision.models.video import resnet as module

    return module.VideoResNet(module.BasicBlock, [module.Conv2Plus1D] * 4, [1, 1, 1, 1], module.R2Plus1dStem, num_classes=CLASSES)


def mvit():
    from torchvision.models.video.mvit import MSBlockConfig, MViT

    blocks = [MSBlockConfig(1, 24, 48, [3, 3, 3], [1, 2, 2], [1, 1, 1], [1, 4, 4]), MSBlockConfig(2, 48, 48, [3, 3, 3], [1, 1, 1], [3, 3, 3], [1, 2, 2])]
    return MViT((32, 32), 4, blocks, True, False, 0.5, 0.0, 0.0, num_classes=CLASSES)


def image(size, batch="N"):
    return {"x": normal(batch, 3, size, size)}


NETWORKS = {
    "alexnet": Network(alexnet, image(96), (SCRIPT,)),
    "vgg": Network(vgg, image(32), (DYNAMO,)),
    "resnet": Network(functools.partial(resnet, "BasicBlock"), image(64), (SCRIPT, DYNAMO_SYMBOLIC)),
    "resnext": Network(functools.partial(resnet, "Bottleneck", groups=32, width_per_group=4), image(64), (SCRIPT_SYMBOLIC,)),
    "squeezenet": Network(functools.partial(model, "squeezenet1_1"), image(64), (SCRIPT,)),
    "densenet": Network(densenet, image(64), (SCRIPT, DYNAMO)),
    "googlenet": Network(functools.partial(model, "googlenet", aux_logits=False, init_weights=False), image(64), (DYNAMO,)),
    "inception_v3": Network(functools.partial(model, "inception_v3", aux_logits=False, init_weights=False), image(96), (SCRIPT,)),
    "mobilenet_v2": Network(functools.partial(model, "mobilenet_v2", width_mult=0.35), image(64), (SCRIPT, DYNAMO_SYMBOLIC)),
    "mobilenet_v3": Network(functools.partial(model, "mobilenet_v3_small"), image(64), (SCRIPT_SYMBOLIC, DYNAMO)),
    "mnasnet": Network(functools.partial(model, "mnasnet0_5"), image(64), (SCRIPT,)),
    "shufflenet_v2": Network(functools.partial(model, "shufflenet_v2_x0_5"), image(64), (SCRIPT_SYMBOLIC, DYNAMO)),
    "efficientnet": Network(functools.partial(model, "efficientnet_b0"), image(64), (DYNAMO,)),
    "regnet": Network(functools.partial(model, "regnet_y_400mf"), image(64), (SCRIPT,)),
    "convnext": Network(convnext, image(64), (SCRIPT_SYMBOLIC, DYNAMO)),
    "swin": Network(functools.partial(swin, 1), image(32), (SCRIPT, DYNAMO_SYMBOLIC)),
    "swin_v2": Network(functools.partial(swin, 2), image(32), (DYNAMO,)),
    "vit": Network(vit, image(32), (SCRIPT_SYMBOLIC, DYNAMO)),
    "maxvit": Network(maxvit, image(64), (SCRIPT, DYNAMO)),
    "fcn": Network(Out(fcn), {"x": normal(1, 3, "H", "W")}, (SCRIPT_SYMBOLIC,)),
    "deeplab_v3": Network(Out(functools.partial(segmentation, "deeplabv3_mobilenet_v3_large")), image(96), (DYNAMO,)),
    "lraspp": Network(Out(functools.partial(segmentation, "lraspp_mobilenet_v3_large")), image(64), (SCRIPT, DYNAMO)),
    "raft": Network(raft, {"first": uniform(1, 3, 128, 128), "second": uniform(1, 3, 128, 128)}, (SCRIPT,)),
    "r2plus1d": Network(video_resnet, {"x": normal(1, 3, 4, 32, 32)}, (DYNAMO,)),
    "mvit": Network(mvit, {"x": normal(1, 3, 4, 32, 32)}, (DYNAMO,)),
}


def variants():
    return variants_of("torchvision", NETWORKS)
