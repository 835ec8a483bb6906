"""Temporal Segment Networks on ResNet-50 in plain PyTorch: torchvision's modules under mmaction2's names, and mmaction2's TSNHead.

Its order: the mean over each frame, the mean over a clip's frames, (dropout, left out here,) the classifier.
"""
import torch
import torchvision


class ConvModule(torch.nn.Module):
    """mmcv's, without its activation."""

    def __init__(self, conv, bn):
        super().__init__()
        self.conv, self.bn = conv, bn

    def forward(self, x):
        return self.bn(self.conv(x))


class Bottleneck(torch.nn.Module):
    def __init__(self, block):
        super().__init__()
        self.conv1 = ConvModule(block.conv1, block.bn1)
        self.conv2 = ConvModule(block.conv2, block.bn2)
        self.conv3 = ConvModule(block.conv3, block.bn3)
        if block.downsample is not None:
            self.downsample = ConvModule(*block.downsample)

    def forward(self, x):
        y = self.conv3(torch.relu(self.conv2(torch.relu(self.conv1(x)))))
        return torch.relu(y + (self.downsample(x) if hasattr(self, "downsample") else x))


class Recognizer(torch.nn.Module):
    def __init__(self, classes, frames):
        super().__init__()
        net = torchvision.models.resnet50(num_classes=classes)
        self.frames = frames
        self.backbone = torch.nn.Module()
        self.backbone.conv1 = ConvModule(net.conv1, net.bn1)
        for name in ("layer1", "layer2", "layer3", "layer4"):
            self.backbone.add_module(name, torch.nn.Sequential(*map(Bottleneck, getattr(net, name))))
        self.cls_head = torch.nn.Module()
        self.cls_head.fc_cls = net.fc

    def forward(self, images):
        """[clips * frames, 3, H, W], the frames of a clip consecutive: [clips, classes]."""
        x = torch.nn.functional.max_pool2d(torch.relu(self.backbone.conv1(images)), 3, stride=2, padding=1)
        for name in ("layer1", "layer2", "layer3", "layer4"):
            x = getattr(self.backbone, name)(x)
        x = x.mean((2, 3)).unflatten(0, (-1, self.frames)).mean(1)
        return self.cls_head.fc_cls(x)
