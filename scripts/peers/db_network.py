"""DB, which finds text (Liao et al. 2020, "Real-time scene text detection with differentiable binarization"), in PyTorch with
ptrain's names: a ResNet-18, a pyramid of its maps and two heads, and the loss, written from the paper; and PP-OCRv6's
detector, which has the same heads, written from PaddleOCR's names and published graph."""
import torch
import torchvision
from torch import nn
from torchvision.models._utils import IntermediateLayerGetter

import text_network

NEGATIVES_PER_TEXT, STEEPNESS = 3, 50


class Pyramid(nn.Module):
    """Each map as wide as `width`, added to the next coarser, then narrowed and enlarged to the finest's size."""

    def __init__(self, inputs, width):
        super().__init__()
        self.inner_blocks = nn.ModuleList(nn.Sequential(nn.Conv2d(channels, width, 1)) for channels in inputs)
        self.layer_blocks = nn.ModuleList(nn.Sequential(nn.Conv2d(width, width // 4, 3, padding=1)) for _ in inputs)

    def forward(self, maps):
        sums = [block(x) for block, x in zip(self.inner_blocks, maps)]
        for i in reversed(range(len(sums) - 1)):
            sums[i] = sums[i] + nn.functional.interpolate(sums[i + 1], scale_factor=2)
        levels = [block(x) for block, x in zip(self.layer_blocks, sums)]
        return torch.cat([nn.functional.interpolate(x, scale_factor=2**i) for i, x in enumerate(levels)], 1)


class Head(nn.Module):
    """Norms are named `norm` and a number."""

    def __init__(self, width, norm="bn"):
        super().__init__()
        inner = width // 4
        self.conv1 = nn.Conv2d(width, inner, 3, padding=1, bias=False)
        self.conv2, self.conv3 = nn.ConvTranspose2d(inner, inner, 2, 2), nn.ConvTranspose2d(inner, 1, 2, 2)
        self.norms = [f"{norm}1", f"{norm}2"]
        for name in self.norms:
            self.add_module(name, nn.BatchNorm2d(inner))

    def forward(self, x):
        for name, layer in zip(self.norms, (self.conv1, self.conv2)):
            x = torch.relu(getattr(self, name)(layer(x)))
        return self.conv3(x)[:, 0]


class DbNet(nn.Module):
    """Logits of text and of thresholds [N, H, W] of images [N, 3, H, W]."""

    def __init__(self, width=256):
        super().__init__()
        body = torchvision.models.resnet18(weights=None)
        maps = [64, 128, 256, 512]
        self.backbone = nn.Module()
        self.backbone.body = IntermediateLayerGetter(body, {f"layer{i + 1}": str(i) for i in range(len(maps))})
        self.backbone.fpn = Pyramid(maps, width)
        self.head = nn.Module()
        self.head.probability, self.head.threshold = Head(width), Head(width)

    def forward(self, images):
        features = self.backbone.fpn(list(self.backbone.body(images).values()))
        return self.head.probability(features), self.head.threshold(features)


class AddedExcitation(text_network.Excitation):
    def forward(self, x):
        means = x.mean((2, 3), keepdim=True)
        return x + x * (0.2 * self.conv2(torch.relu(self.conv1(means))) + 0.5).clamp(0, 1)


class PpocrNeck(nn.Module):
    def __init__(self, inputs, width):
        super().__init__()
        self.ins_conv, self.inp_conv_dw = nn.ModuleList(), nn.ModuleList()
        for channels in inputs:
            self.ins_conv.append(nn.Sequential())
            self.ins_conv[-1].add_module("in_conv", nn.Conv2d(channels, width, 1, bias=False))
            self.ins_conv[-1].add_module("se_block", AddedExcitation(width))
            self.inp_conv_dw.append(nn.Sequential())
            self.inp_conv_dw[-1].add_module("lk_origin", nn.Conv2d(width, width, 7, padding=3, groups=width, bias=False))
            self.inp_conv_dw[-1].add_module("origin_bn", nn.BatchNorm2d(width))
        self.inp_conv_pw = nn.ModuleList(nn.Conv2d(width, width // 4, 1, bias=False) for _ in inputs)
        self.inp_conv_se = nn.ModuleList(AddedExcitation(width // 4) for _ in inputs)

    def forward(self, maps):
        sums = [block(x) for block, x in zip(self.ins_conv, maps)]
        for i in reversed(range(len(sums) - 1)):
            sums[i] = sums[i] + nn.functional.interpolate(sums[i + 1], scale_factor=2)
        levels = [se(pw(dw(x))) for se, pw, dw, x in zip(self.inp_conv_se, self.inp_conv_pw, self.inp_conv_dw, sums)]
        return torch.cat([nn.functional.interpolate(x, scale_factor=2**i) for i, x in enumerate(levels)][::-1], 1)


class PpocrDetector(nn.Module):
    """PP-OCRv6's small detector: logits of text and of thresholds [N, H, W] of images [N, 3, H, W]. Its parallel convolutions
    are merged, as in PaddleOCR's published files."""
    STAGES = {"blocks_s1": [(1, 1, 1), (1, 1, 0)], "blocks_s2": [(2, 2, 0), (2, 1, 1), (2, 1, 0)],
              "blocks_s3": [(4, 2, 0)] + [(4, 1, 1), (4, 1, 0)] * 2, "blocks_s4": [(8, 2, 0), (8, 1, 1), (8, 1, 0)]}

    def __init__(self, channels=48, neck_channels=96):
        super().__init__()
        self.backbone, self.head = nn.Module(), nn.Module()
        self.backbone.stem = text_network.PpocrStem(channels)
        self.neck = PpocrNeck(text_network.add_stages(self.backbone, self.STAGES, channels), neck_channels)
        self.head.binarize, self.head.thresh = Head(neck_channels, "conv_bn"), Head(neck_channels, "conv_bn")

    def forward(self, images):
        maps = [self.backbone.stem(images)]
        for name in self.STAGES:
            maps.append(getattr(self.backbone, name)(maps[-1]))
        features = self.neck(maps[1:])
        return self.head.binarize(features), self.head.thresh(features)


@torch.no_grad()
def find_limit(probabilities, wanted, halvings=16):
    """The largest multiple of 2^-16 that at least `wanted` of the probabilities are above; 0 if there are none."""
    limit = 0.0
    for i in range(1, halvings + 1):
        if (probabilities > limit + 2.0**-i).sum() >= wanted:
            limit += 2.0**-i
    return limit


def get_loss(logits, thresholds, text_map, threshold_map):
    """text_map: 1 text, 0 none, -1 not learnt; threshold_map: -1 where not learnt. Of pixels without text the likeliest are
    learnt, three for each of text."""
    text, known = (text_map >= 1).to(logits.dtype), (text_map >= 0).to(logits.dtype)
    others, texts = known - text, text.sum()
    probabilities, limits = torch.sigmoid(logits), torch.sigmoid(thresholds)
    losses = text * nn.functional.softplus(-logits) + others * nn.functional.softplus(logits)
    wanted = NEGATIVES_PER_TEXT * texts
    candidates = (probabilities * others).detach()
    hardest = (candidates > find_limit(candidates, wanted)).to(logits.dtype)
    cross_entropy = (losses * (text + hardest)).sum() / (texts + torch.minimum(wanted, others.sum())).clamp_min(1)
    limited = (threshold_map >= 0).to(logits.dtype)
    distance = ((limits - threshold_map).abs() * limited).sum() / limited.sum().clamp_min(1)
    binary = torch.sigmoid(STEEPNESS * (probabilities - limits)) * known
    dice = 1 - 2 * (binary * text).sum() / (binary.sum() + text.sum() + 1e-6)
    return 5 * cross_entropy + 10 * distance + dice
