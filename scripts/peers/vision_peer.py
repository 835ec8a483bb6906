#!/usr/bin/env python3
"""Training of a vision network in PyTorch, the same work as `ptrain run` with synthetic images; prints one line of JSON.

torchvision's network of that name, or else timm's, channels-last, fused SGD with momentum, a batch that is in memory already.
Of torchvision's networks for segmentation the auxiliary head is trained too, with half the weight.
"""
import torch
import torchvision

import peer_common
import segment_network


AUXILIARY_WEIGHT = 0.5  # in torchvision's references


def is_segmentation(name):
    return hasattr(torchvision.models.segmentation, name)


def build_model(name, classes, stem):
    if is_segmentation(name):
        model = getattr(torchvision.models.segmentation, name)(weights_backbone=None, num_classes=classes, aux_loss=True)
    elif hasattr(torchvision.models, name):
        model = getattr(torchvision.models, name)(num_classes=classes)
    else:
        import timm
        model = timm.create_model(name, num_classes=classes)
    if stem == "small":  # for small images: 3x3, no stride, no pooling
        model.conv1 = torch.nn.Conv2d(3, 64, 3, stride=1, padding=1, bias=False)
        model.maxpool = torch.nn.Identity()
    return model


def main():
    options = peer_common.parse_options(
        __doc__.splitlines()[0], model=("resnet50", "torchvision's or timm's model"), batch=(32, "images per step"),
        size=(224, "px, height and width"), classes=(1000, "output classes"), stem=("imagenet", "imagenet or small"),
        frames=(1, "of a clip, which a sample is then: Temporal Segment Networks on ResNet-50"), lr=(0.01, "learning rate"))
    peer_common.prepare(options)

    def build():
        dtype = torch.bfloat16 if options.dtype == "pure-bf16" else torch.float32
        if options.frames > 1:
            model = segment_network.Recognizer(options.classes, options.frames).train()
        else:
            model = build_model(options.model, options.classes, options.stem).train()
        model = model.to(options.device, dtype=dtype, memory_format=torch.channels_last)
        optimizer = torch.optim.SGD(model.parameters(), lr=options.lr, momentum=0.9, weight_decay=1e-4, fused=True)
        of_pixels = (options.size, options.size) if is_segmentation(options.model) else ()
        labels = torch.randint(options.classes, (options.batch, *of_pixels), device=options.device)
        images = torch.randn(options.batch * options.frames, 3, options.size, options.size, device=options.device).to(
            dtype=dtype, memory_format=torch.channels_last)
        run = peer_common.compiled(options, model)

        def step_loss(_):
            def loss(logits):
                return torch.nn.functional.cross_entropy(logits.float(), labels)
            output = run(images)
            return loss(output["out"]) + AUXILIARY_WEIGHT * loss(output["aux"]) if of_pixels else loss(output)
        return step_loss, optimizer

    peer_common.measure(options, build, options.batch)


if __name__ == "__main__":
    main()
