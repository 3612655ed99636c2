"""Whole detectors of torchvision: the resizing and normalization of images before the network and the choice of boxes behind it are in the graph."""

from architectures.example import uniform
from architectures.torch_export import SCRIPT, Network, variants_of
from architectures.vision_networks import resnet

# Every box takes part: with random weights a threshold would leave none.
CHOICE = {"min_size": 96, "max_size": 160}
REGIONS = {**CHOICE, "rpn_pre_nms_top_n_test": 60, "rpn_post_nms_top_n_test": 20, "box_score_thresh": 0.02, "box_detections_per_img": 10}


def pyramid(levels=(2, 3, 4), extra=None):
    from torchvision.models.detection.backbone_utils import _resnet_fpn_extractor
    from torchvision.ops.feature_pyramid_network import LastLevelP6P7

    return _resnet_fpn_extractor(resnet("Bottleneck"), 5, returned_layers=list(levels), extra_blocks=LastLevelP6P7(256, 256) if extra else None)


def spread(module):
    """Scores and boxes that differ: torch starts the last layers of heads with weights near zero."""
    import torch

    for name, part in module.named_modules():
        if isinstance(part, (torch.nn.Conv2d, torch.nn.Linear)) and any(word in name for word in ("cls", "bbox", "head", "logits")):
            torch.nn.init.kaiming_normal_(part.weight)
            with torch.no_grad():
                part.weight.mul_(0.5)
    return module


def listed(make, keys):
    """A module of one image that returns a tuple of the detections' fields."""

    def wrapped():
        import torch

        class One(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.inner = spread(make())

            def forward(self, image):
                found = self.inner([image])[0]
                return tuple(found[key] for key in keys)

        return One()

    return wrapped


def faster_rcnn():
    from torchvision.models.detection import FasterRCNN
    from torchvision.models.detection.anchor_utils import AnchorGenerator
    from torchvision.models.detection.faster_rcnn import FastRCNNPredictor, TwoMLPHead
    from torchvision.ops import MultiScaleRoIAlign

    anchors = AnchorGenerator(((16,), (32,), (64,), (128,)), ((0.5, 1.0, 2.0),) * 4)
    pool = MultiScaleRoIAlign(["0", "1", "2"], 3, 2)
    heads = {"box_head": TwoMLPHead(256 * 9, 64), "box_predictor": FastRCNNPredictor(64, 5)}
    return FasterRCNN(pyramid(), rpn_anchor_generator=anchors, box_roi_pool=pool, **heads, **REGIONS)


def mask_rcnn():
    from torchvision.models.detection import MaskRCNN
    from torchvision.models.detection.anchor_utils import AnchorGenerator

    anchors = AnchorGenerator(((16,), (32,), (64,), (128,)), ((0.5, 1.0, 2.0),) * 4)
    return MaskRCNN(pyramid(), 5, rpn_anchor_generator=anchors, **REGIONS)


def keypoint_rcnn():
    from torchvision.models.detection import KeypointRCNN
    from torchvision.models.detection.anchor_utils import AnchorGenerator

    anchors = AnchorGenerator(((16,), (32,), (64,), (128,)), ((0.5, 1.0, 2.0),) * 4)
    return KeypointRCNN(pyramid(), 2, num_keypoints=3, rpn_anchor_generator=anchors, **REGIONS)


def retinanet():
    from torchvision.models.detection import RetinaNet

    return RetinaNet(pyramid((2, 3, 4), extra=True), 5, topk_candidates=40, detections_per_img=10, score_thresh=0.005, **CHOICE)


def fcos():
    from torchvision.models.detection import FCOS

    return FCOS(pyramid((2, 3, 4), extra=True), 5, topk_candidates=40, detections_per_img=10, score_thresh=0.05, **CHOICE)


def ssdlite():
    import torch
    from torchvision.models.detection import ssdlite320_mobilenet_v3_large

    made = ssdlite320_mobilenet_v3_large(weights=None, weights_backbone=None, num_classes=5, topk_candidates=30, detections_per_img=20, score_thresh=0.1)
    for part in made.modules():
        if isinstance(part, torch.nn.Conv2d):
            torch.nn.init.kaiming_normal_(part.weight, nonlinearity="linear")  # torchvision's are so small that scores are equal
    return made


BOXES = ("boxes", "labels", "scores")
IMAGE = {"image": uniform(3, 96, 128)}

NETWORKS = {
    "faster_rcnn": Network(listed(faster_rcnn, BOXES), IMAGE, (SCRIPT,)),
    "mask_rcnn": Network(listed(mask_rcnn, (*BOXES, "masks")), IMAGE, (SCRIPT,)),
    "keypoint_rcnn": Network(listed(keypoint_rcnn, (*BOXES, "keypoints")), IMAGE, (SCRIPT,)),
    "retinanet": Network(listed(retinanet, BOXES), IMAGE, (SCRIPT,)),
    "fcos": Network(listed(fcos, BOXES), IMAGE, (SCRIPT,)),
    "ssdlite": Network(listed(ssdlite, BOXES), IMAGE, (SCRIPT,)),
}


def variants():
    return variants_of("torchvision", NETWORKS)
