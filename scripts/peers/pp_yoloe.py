"""PP-YOLOE+ in PyTorch, written from its paper and PaddleDetection's names: the network, its assignment and its losses."""
import torch
from torch import nn
from torch.nn import functional

STRIDES = (32, 16, 8)  # px
BINS = 17  # distances of a side, from 0 on
CANDIDATES = 13  # anchors that may learn an object


class Unit(nn.Module):
    """A convolution, a norm and swish."""

    def __init__(self, inputs, outputs, kernel, stride=1, active=True):
        super().__init__()
        self.conv = nn.Conv2d(inputs, outputs, kernel, stride, kernel // 2, bias=False)
        self.bn = nn.BatchNorm2d(outputs)
        self.active = active

    def forward(self, x):
        x = self.bn(self.conv(x))
        return functional.silu(x) if self.active else x


class ParallelUnits(nn.Module):
    def __init__(self, channels, scaled):
        super().__init__()
        self.conv1 = Unit(channels, channels, 3, active=False)
        self.conv2 = Unit(channels, channels, 1, active=False)
        self.alpha = nn.Parameter(torch.ones(1)) if scaled else None

    def forward(self, x):
        factor = 1 if self.alpha is None else self.alpha
        return functional.silu(self.conv1(x) + factor * self.conv2(x))


class Block(nn.Module):
    def __init__(self, channels, residual):
        super().__init__()
        self.conv1 = Unit(channels, channels, 3)
        self.conv2 = ParallelUnits(channels, scaled=residual)
        self.residual = residual

    def forward(self, x):
        y = self.conv2(self.conv1(x))
        return x + y if self.residual else y


class Excitation(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.fc = nn.Conv2d(channels, channels, 1)

    def forward(self, x):
        return x * functional.hardsigmoid(self.fc(x.mean((2, 3), keepdim=True)))


class Stage(nn.Module):
    def __init__(self, inputs, outputs, blocks):
        super().__init__()
        middle = (inputs + outputs) // 2
        self.conv_down = Unit(inputs, middle, 3, stride=2)
        self.conv1 = Unit(middle, middle // 2, 1)
        self.conv2 = Unit(middle, middle // 2, 1)
        self.blocks = nn.Sequential(*(Block(middle // 2, residual=True) for _ in range(blocks)))
        self.attn = Excitation(middle // 2 * 2)
        self.conv3 = Unit(middle // 2 * 2, outputs, 1)

    def forward(self, x):
        x = self.conv_down(x)
        return self.conv3(self.attn(torch.cat([self.conv1(x), self.blocks(self.conv2(x))], dim=1)))


class Backbone(nn.Module):
    def __init__(self, width, depth):
        super().__init__()
        channels = [max(round(width * each), 1) for each in (64, 128, 256, 512, 1024)]
        self.stem = nn.Sequential()
        self.stem.add_module("conv1", Unit(3, channels[0] // 2, 3, stride=2))
        self.stem.add_module("conv2", Unit(channels[0] // 2, channels[0] // 2, 3))
        self.stem.add_module("conv3", Unit(channels[0] // 2, channels[0], 3))
        self.stages = nn.ModuleList(Stage(channels[i], channels[i + 1], max(round(depth * blocks), 1))
                                    for i, blocks in enumerate((3, 6, 6, 3)))
        self.channels = channels[:1:-1]

    def forward(self, x):
        x, maps = self.stem(x), []
        for stage in self.stages:
            x = stage(x)
            maps.append(x)
        return maps[:0:-1]


class SpatialPyramid(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.conv = Unit(4 * channels, channels, 1)

    def forward(self, x):
        return self.conv(torch.cat([x, *(functional.max_pool2d(x, window, 1, window // 2) for window in (5, 9, 13))], dim=1))


class NeckStage(nn.Module):
    def __init__(self, inputs, outputs, blocks, pyramid):
        super().__init__()
        middle = outputs // 2
        self.conv1 = Unit(inputs, middle, 1)
        self.conv2 = Unit(inputs, middle, 1)
        self.convs = nn.Sequential()
        for i in range(blocks):
            self.convs.add_module(str(i), Block(middle, residual=False))
            if pyramid and i == (blocks - 1) // 2:
                self.convs.add_module("spp", SpatialPyramid(middle))
        self.conv3 = Unit(2 * middle, outputs, 1)

    def forward(self, x):
        return self.conv3(torch.cat([self.conv1(x), self.convs(self.conv2(x))], dim=1))


class Neck(nn.Module):
    def __init__(self, maps, width, depth):
        super().__init__()
        outputs, blocks = [max(round(width * each), 1) for each in (768, 384, 192)], max(round(depth * 3), 1)
        inputs = [maps[0], *(maps[i] + outputs[i - 1] // 2 for i in (1, 2))]
        self.fpn_stages = nn.ModuleList(nn.Sequential(NeckStage(inputs[i], outputs[i], blocks, i == 0)) for i in range(3))
        self.fpn_routes = nn.ModuleList(Unit(outputs[i], outputs[i] // 2, 1) for i in range(2))
        self.pan_routes = nn.ModuleList(Unit(outputs[i + 1], outputs[i + 1], 3, stride=2) for i in range(2))
        self.pan_stages = nn.ModuleList(nn.Sequential(NeckStage(outputs[i] + outputs[i + 1], outputs[i], blocks, False))
                                        for i in range(2))
        self.channels = outputs

    def forward(self, maps):
        levels, route = [], None
        for i, x in enumerate(maps):
            levels.append(self.fpn_stages[i](x if route is None else torch.cat([route, x], dim=1)))
            if i < 2:
                route = functional.interpolate(self.fpn_routes[i](levels[i]), scale_factor=2, mode="nearest")
        for i in (1, 0):
            levels[i] = self.pan_stages[i](torch.cat([self.pan_routes[i](levels[i + 1]), levels[i]], dim=1))
        return levels


class HeadStem(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.fc = nn.Conv2d(channels, channels, 1)
        self.conv = Unit(channels, channels, 1)

    def forward(self, x, means):
        return self.conv(x * torch.sigmoid(self.fc(means)))


class Head(nn.Module):
    def __init__(self, channels, classes):
        super().__init__()
        self.stem_cls = nn.ModuleList(HeadStem(each) for each in channels)
        self.stem_reg = nn.ModuleList(HeadStem(each) for each in channels)
        self.pred_cls = nn.ModuleList(nn.Conv2d(each, classes, 3, padding=1) for each in channels)
        self.pred_reg = nn.ModuleList(nn.Conv2d(each, 4 * BINS, 3, padding=1) for each in channels)

    def forward(self, levels):
        """Logits of classes [N, A, classes] and of distances [N, A, 4, BINS]."""
        logits, bins = [], []
        for i, x in enumerate(levels):
            means = x.mean((2, 3), keepdim=True)
            logits.append(self.pred_cls[i](self.stem_cls[i](x, means) + x).flatten(2).transpose(1, 2))
            bins.append(self.pred_reg[i](self.stem_reg[i](x, means)).flatten(2).transpose(1, 2))
        return torch.cat(logits, dim=1), torch.cat(bins, dim=1).unflatten(2, (4, BINS))


class PpYoloe(nn.Module):
    def __init__(self, classes, width=0.5, depth=0.33):
        super().__init__()
        self.backbone = Backbone(width, depth)
        self.neck = Neck(self.backbone.channels, width, depth)
        self.yolo_head = Head(self.neck.channels, classes)

    def forward(self, images):
        return self.yolo_head(self.neck(self.backbone(images)))


def cells(size, dtype):
    """The centres [A, 2] in px and strides [A, 1] of the locations of an image of size x size px."""
    centres, strides = [], []
    for stride in STRIDES:
        at = (torch.arange(size // stride, dtype=dtype) + 0.5) * stride
        y, x = torch.meshgrid(at, at, indexing="ij")
        centres.append(torch.stack([x, y], dim=-1).reshape(-1, 2))
        strides.append(torch.full((len(centres[-1]), 1), stride, dtype=dtype))
    return torch.cat(centres), torch.cat(strides)


def boxes_around(centres, distances):
    return torch.cat([centres - distances[..., :2], centres + distances[..., 2:]], dim=-1)


def predicted_distances(bins):
    return bins.softmax(dim=-1) @ torch.arange(BINS, dtype=bins.dtype)


@torch.no_grad()
def assign(logits, boxes, centres, labels, objects):
    """Task-aligned assignment in one image: for each anchor an object or -1, and its score."""
    from torchvision.ops import box_iou
    overlaps = box_iou(objects, boxes)  # [objects, anchors]
    alignments = logits.sigmoid()[:, labels].T * overlaps**6
    sides = torch.cat([centres[None] - objects[:, None, :2], objects[:, None, 2:] - centres[None]], dim=-1)
    inside = sides.amin(dim=-1) > 1e-9
    best = (alignments * inside).topk(CANDIDATES, dim=1).indices
    learns = torch.zeros_like(inside).scatter_(1, best, True) & inside & (alignments > 0)
    contested = learns.sum(dim=0) > 1
    nearest = torch.zeros_like(learns).scatter_(0, overlaps.argmax(dim=0, keepdim=True), True)
    learns = torch.where(contested, nearest, learns)
    own = alignments * learns
    scores = own / (own.amax(dim=1, keepdim=True) + 1e-9) * (overlaps * learns).amax(dim=1, keepdim=True)
    return torch.where(learns.any(dim=0), learns.int().argmax(dim=0), -1), scores.amax(dim=0)


def overlap_losses(boxes, wanted):
    """1 - GIoU."""
    def area(corners):
        return (corners[:, 2:] - corners[:, :2]).clamp(min=0).prod(dim=1)
    common = area(torch.cat([torch.maximum(boxes[:, :2], wanted[:, :2]), torch.minimum(boxes[:, 2:], wanted[:, 2:])], dim=1))
    hull = area(torch.cat([torch.minimum(boxes[:, :2], wanted[:, :2]), torch.maximum(boxes[:, 2:], wanted[:, 2:])], dim=1))
    both = area(boxes) + area(wanted) - common
    return 1 - (common / both - (hull - both) / hull)


def distribution_losses(bins, distances):
    """The cross entropy of the whole distances around each, means over the four sides."""
    distances = distances.clamp(0, BINS - 1 - 0.01)
    below = distances.long()
    above = distances - below
    entropies = -bins.log_softmax(dim=-1)
    def pick(index):
        return entropies.gather(-1, index[..., None]).squeeze(-1)
    return ((1 - above) * pick(below) + above * pick(below + 1)).mean(dim=-1)


def get_loss(outputs, objects, size):
    """The training loss of a batch; `objects` [N, M, 5] are class, left, top, right and bottom."""
    logits, bins = outputs
    centres, strides = cells(size, logits.dtype)
    distances = predicted_distances(bins)
    owners, scores = [], []
    for image, rows in enumerate(objects):
        boxes = boxes_around(centres, distances[image] * strides)
        owner, score = assign(logits[image], boxes, centres, rows[:, 0], rows[:, 1:].to(logits.dtype))
        owners.append(owner)
        scores.append(score)
    owners, scores = torch.stack(owners), torch.stack(scores)
    image, anchor = (owners >= 0).nonzero(as_tuple=True)
    own = objects[image, owners[image, anchor]]
    total = scores.sum().clamp(min=1)

    targets, is_own = torch.zeros_like(logits), torch.zeros_like(logits, dtype=torch.bool)
    targets[image, anchor, own[:, 0]] = scores[image, anchor]
    is_own[image, anchor, own[:, 0]] = True
    weights = torch.where(is_own, targets, 0.75 * logits.sigmoid()**2)
    classes = (weights * functional.binary_cross_entropy_with_logits(logits, targets, reduction="none")).sum()

    at = (centres / strides)[anchor]
    wanted = own[:, 1:].to(logits.dtype) / strides[anchor]
    score = scores[image, anchor]
    overlap = (overlap_losses(boxes_around(at, distances[image, anchor]), wanted) * score).sum()
    sides = torch.cat([at - wanted[:, :2], wanted[:, 2:] - at], dim=1)
    distribution = (distribution_losses(bins[image, anchor], sides) * score).sum()
    return (classes + 2.5 * overlap + 0.5 * distribution) / total
