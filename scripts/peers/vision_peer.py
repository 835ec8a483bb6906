#!/usr/bin/env python3
"""Training of a vision network in PyTorch, the same work as `ptrain run` with synthetic images; prints one line of JSON.

torchvision's network of that name, or else timm's, channels-last, fused SGD with momentum, a batch that is in memory already.
"""
import torch
import torchvision

import peer_common
import segment_network


def build_model(name, classes, stem):
    if hasattr(torchvision.models, name):
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
        labels = torch.randint(options.classes, (options.batch,), device=options.device)
        images = torch.randn(options.batch * options.frames, 3, options.size, options.size, device=options.device).to(
            dtype=dtype, memory_format=torch.channels_last)
        run = peer_common.compiled(options, model)
        return lambda step: torch.nn.functional.cross_entropy(run(images).float(), labels), optimizer

    peer_common.measure(options, build, options.batch)


if __name__ == "__main__":
    main()
