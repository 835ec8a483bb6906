#!/usr/bin/env python3
"""Training of torchvision's RetinaNet or Mask R-CNN on ResNet-50 with FPN, the same work as `ptrain run` with synthetic boxes; one
line of JSON.

Frozen norms, first layers frozen as for fine-tuning, channels-last, fused SGD with momentum, a batch that is in memory already.
--compile compiles backbone and RetinaNet's heads; anchors, their matching and the losses are lists of varying sizes, which do not compile.
"""
import torch
from torchvision.models import resnet50
from torchvision.models.detection import MaskRCNN, RetinaNet
from torchvision.models.detection.backbone_utils import _resnet_fpn_extractor
from torchvision.models.detection.retinanet import _default_anchorgen
from torchvision.ops import FrozenBatchNorm2d
from torchvision.ops.feature_pyramid_network import LastLevelP6P7

import peer_common


def build_model(options):
    """torchvision's model of that name as with a pretrained backbone, but with random weights."""
    body = resnet50(norm_layer=FrozenBatchNorm2d)
    trainable = 3  # stages
    if options.model == "maskrcnn_resnet50_fpn":
        return MaskRCNN(_resnet_fpn_extractor(body, trainable), options.classes, min_size=options.size, max_size=options.size)
    backbone = _resnet_fpn_extractor(body, trainable, returned_layers=[2, 3, 4], extra_blocks=LastLevelP6P7(256, 256))
    return RetinaNet(backbone, options.classes, min_size=options.size, max_size=options.size, anchor_generator=_default_anchorgen())


def make_targets(options):
    """Boxes of 1/8 to 1/2 of the image, inside it; masks fill them."""
    sizes = torch.rand(options.batch, options.boxes, 2) * 0.375 + 0.125
    corners = torch.rand(options.batch, options.boxes, 2) * (1 - sizes)
    boxes = torch.cat([corners, corners + sizes], dim=2) * options.size
    labels = torch.randint(1, options.classes, (options.batch, options.boxes))
    at = torch.arange(options.size)
    inside = (at >= boxes[..., :2, None]) & (at < boxes[..., 2:, None])  # of each image and box, across and down
    masks = (inside[:, :, 0, None, :] & inside[:, :, 1, :, None]).to(torch.uint8)
    return [{"boxes": box.to(options.device), "labels": label.to(options.device), "masks": mask.to(options.device)}
            for box, label, mask in zip(boxes, labels, masks)]


def main():
    options = peer_common.parse_options(
        __doc__.splitlines()[0], batch=(2, "images per step"), size=(320, "px, height and width"), classes=(91, "output classes"),
        boxes=(3, "objects in an image"), model=("retinanet_resnet50_fpn", "or maskrcnn_resnet50_fpn"), lr=(0.001, "learning rate"))
    peer_common.prepare(options)

    def build():
        model = build_model(options).train().to(options.device, memory_format=torch.channels_last)
        model.backbone = peer_common.compiled(options, model.backbone)
        if options.model == "retinanet_resnet50_fpn":
            model.head = peer_common.compiled(options, model.head)
        trained = [parameter for parameter in model.parameters() if parameter.requires_grad]
        optimizer = torch.optim.SGD(trained, lr=options.lr, momentum=0.9, weight_decay=1e-4, fused=True)
        images = list(torch.rand(options.batch, 3, options.size, options.size, device=options.device))
        targets = make_targets(options)
        return lambda step: sum(model(images, targets).values()), optimizer

    peer_common.measure(options, build, options.batch)


if __name__ == "__main__":
    main()
