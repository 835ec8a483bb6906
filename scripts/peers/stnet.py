"""stNet on ResNet-50 in PyTorch, written from PaddlePaddle/models' description; the trunk has torchvision's names, the rest ptrain's."""
import torch
import torchvision
from torch import nn

FRAMES = 5  # of a segment, stacked to one image


def over_segments(channels, outputs, kernel, groups=1):
    """A convolution over T of [N,C,T,pixels]."""
    return nn.Conv2d(channels, outputs, (kernel, 1), padding=(kernel // 2, 0), groups=groups)


class TemporalBlock(nn.Module):
    def __init__(self, channels, segments):
        super().__init__()
        self.segments = segments
        self.conv = over_segments(channels, channels, 3)
        self.bn = nn.BatchNorm2d(channels)

    def forward(self, x):
        """[clips * segments, C, H, W], and the same again."""
        clips = x.unflatten(0, (-1, self.segments)).transpose(1, 2).flatten(3)
        clips = clips + self.bn(torch.relu(self.conv(clips)))
        return clips.transpose(1, 2).reshape(x.shape)


class Xception(nn.Module):
    def __init__(self, channels, outputs):
        super().__init__()
        self.bn1 = nn.BatchNorm2d(channels)
        self.depthwise1 = over_segments(channels, channels, 3, groups=channels)
        self.pointwise1 = over_segments(channels, outputs, 1)
        self.bn2 = nn.BatchNorm2d(outputs)
        self.depthwise2 = over_segments(outputs, outputs, 3, groups=outputs)
        self.pointwise2 = over_segments(outputs, outputs, 1)
        self.shortcut = over_segments(channels, outputs, 1)
        self.bn3 = nn.BatchNorm2d(outputs)

    def forward(self, x):
        """[clips, C, segments, 1] to the same of other channels."""
        x = self.bn1(x)
        y = torch.relu(self.bn2(self.pointwise1(self.depthwise1(x))))
        return torch.relu(self.bn3(self.shortcut(x) + self.pointwise2(self.depthwise2(y))))


class Stnet(nn.Module):
    def __init__(self, classes, segments):
        super().__init__()
        net = torchvision.models.resnet50()
        self.segments = segments
        self.conv1 = nn.Conv2d(3 * FRAMES, 64, 7, stride=2, padding=3, bias=False)
        self.bn1 = net.bn1
        for name in ("layer1", "layer2", "layer3", "layer4"):
            self.add_module(name, getattr(net, name))
        self.temporal2 = TemporalBlock(512, segments)
        self.temporal3 = TemporalBlock(1024, segments)
        self.xception = Xception(2048, 1024)
        self.fc = nn.Linear(1024, classes)

    def forward(self, images):
        """[clips * segments * FRAMES, 3, H, W], the frames of a clip consecutive: [clips, classes]."""
        x = images.unflatten(0, (-1, FRAMES)).flatten(1, 2)
        x = nn.functional.max_pool2d(torch.relu(self.bn1(self.conv1(x))), 3, stride=2, padding=1)
        x = self.temporal2(self.layer2(self.layer1(x)))
        x = self.layer4(self.temporal3(self.layer3(x)))
        clips = x.mean((2, 3)).unflatten(0, (-1, self.segments)).transpose(1, 2)[..., None]
        return self.fc(self.xception(clips).amax((2, 3)))
