"""Recognisers of text in PyTorch, for images in colour, with ptrain's names: CRNN, written from its paper (Shi et al. 2015),
and PP-OCRv6's, written from PaddleOCR's names and published graph."""
import torch
from torch import nn


class Crnn(nn.Module):
    """Scores of characters [N, T, classes] at each step, of images [N, 3, H, W]."""

    def __init__(self, classes, channels=64, units=256):
        super().__init__()
        c = channels
        self.cnn = nn.Sequential()

        def add(index, inputs, outputs, norm=False, kernel=3, padding=1, pool=None):
            self.cnn.add_module(f"conv{index}", nn.Conv2d(inputs, outputs, kernel, padding=padding, bias=not norm))
            if norm:
                self.cnn.add_module(f"batchnorm{index}", nn.BatchNorm2d(outputs))
            self.cnn.add_module(f"relu{index}", nn.ReLU())
            if pool:
                self.cnn.add_module(f"pooling{index}", nn.MaxPool2d(pool))

        add(0, 3, c, pool=2)
        add(1, c, 2 * c, pool=2)
        add(2, 2 * c, 4 * c)
        add(3, 4 * c, 4 * c, pool=(2, 1))
        add(4, 4 * c, 8 * c, norm=True)
        add(5, 8 * c, 8 * c, norm=True, pool=(2, 1))
        add(6, 8 * c, 8 * c, kernel=2, padding=0)
        self.rnn = nn.LSTM(8 * c, units, num_layers=2, bidirectional=True, batch_first=True)
        self.fc = nn.Linear(2 * units, classes)

    def forward(self, images):
        columns = self.cnn(images).mean(2).transpose(1, 2)
        return self.fc(self.rnn(columns)[0])


class Unit(nn.Module):
    """A convolution and a norm, called `norm`, and an activation."""

    def __init__(self, inputs, outputs, kernel, stride=1, groups=1, norm="bn", activation=None):
        super().__init__()
        self.same = kernel == 2  # padded at the right and the bottom
        self.conv = nn.Conv2d(inputs, outputs, kernel, stride, 0 if self.same else kernel // 2, groups=groups, bias=False)
        self.norm_name, self.activation = norm, activation or nn.Identity()
        self.add_module(norm, nn.BatchNorm2d(outputs))

    def forward(self, x):
        x = nn.functional.pad(x, (0, 1, 0, 1)) if self.same else x
        return self.activation(getattr(self, self.norm_name)(self.conv(x)))


class PpocrStem(nn.Module):
    def __init__(self, channels):
        super().__init__()
        half, relu = channels // 2, nn.ReLU()
        self.stem1 = Unit(3, half, 3, 2, activation=relu)
        self.stem2a = Unit(half, half // 2, 2, activation=relu)
        self.stem2b = Unit(half // 2, half, 2, activation=relu)
        self.stem3 = Unit(channels, half, 3, 2, activation=relu)
        self.stem4 = Unit(half, channels, 1, activation=relu)

    def forward(self, x):
        x = self.stem1(x)
        pooled = nn.functional.max_pool2d(nn.functional.pad(x, (0, 1, 0, 1)), 2, 1)  # of numbers from 0 on
        return self.stem4(self.stem3(torch.cat([pooled, self.stem2b(self.stem2a(x))], 1)))


class Excitation(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.conv1 = nn.Conv2d(channels, channels // 4, 1)
        self.conv2 = nn.Conv2d(channels // 4, channels, 1)

    def forward(self, x):
        means = x.mean((2, 3), keepdim=True)
        return x * nn.functional.hardsigmoid(self.conv2(torch.relu(self.conv1(means))))


class PpocrBlock(nn.Module):
    def __init__(self, inputs, outputs, stride, excites):
        super().__init__()
        self.residual = inputs == outputs and stride == 1
        self.token_mixer, self.channel_mixer = nn.Sequential(), nn.Sequential()
        self.token_mixer.add_module("rep_dw" if self.residual else "dw_conv",
                                    Unit(inputs, inputs, 3, stride, inputs))
        if excites:
            self.token_mixer.add_module("se", Excitation(inputs))
        self.channel_mixer.add_module("expand", Unit(inputs, 2 * inputs, 1, activation=nn.GELU()))
        self.channel_mixer.add_module("compress", Unit(2 * inputs, outputs, 1))

    def forward(self, x):
        x = self.token_mixer(x)
        y = self.channel_mixer(x)
        return x + y if self.residual else y


def add_stages(module, stages, channels):
    """Adds a Sequential of blocks for each stage, whose blocks have a widening of `channels`, a stride, and whether they
    excite. Gives each stage's outputs."""
    inputs, outputs = channels, []
    for name, forms in stages.items():
        blocks = nn.Sequential()
        for widening, stride, excites in forms:
            blocks.append(PpocrBlock(inputs, widening * channels, stride, excites))
            inputs = widening * channels
        module.add_module(name, blocks)
        outputs.append(inputs)
    return outputs


class PpocrMixer(nn.Module):
    def __init__(self, channels, heads):
        super().__init__()
        self.heads = heads
        self.qkv, self.proj = nn.Linear(channels, 3 * channels), nn.Linear(channels, channels)

    def forward(self, x):
        n, steps, channels = x.shape
        q, k, v = self.qkv(x).reshape(n, steps, 3, self.heads, channels // self.heads).permute(2, 0, 3, 1, 4)
        weights = (q @ k.transpose(-1, -2) * (channels // self.heads) ** -0.5).softmax(-1)
        return self.proj((weights @ v).transpose(1, 2).reshape(x.shape))


class PpocrAttentionBlock(nn.Module):
    def __init__(self, channels, heads):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(channels), nn.LayerNorm(channels)
        self.mixer = PpocrMixer(channels, heads)
        self.mlp = nn.Module()
        self.mlp.fc1, self.mlp.fc2 = nn.Linear(channels, 2 * channels), nn.Linear(2 * channels, channels)

    def forward(self, x):
        x = x + self.mixer(self.norm1(x))
        return x + self.mlp.fc2(nn.functional.silu(self.mlp.fc1(self.norm2(x))))


class PpocrNeck(nn.Module):
    def __init__(self, inputs, channels, heads):
        super().__init__()
        self.skip_conv, self.conv_reduce = (Unit(inputs, channels, 1, norm="norm", activation=nn.SiLU()) for _ in range(2))
        self.local_conv = nn.Sequential(nn.Conv2d(channels, channels, (1, 7), padding=(0, 3), groups=channels, bias=False),
                                        nn.BatchNorm2d(channels), nn.SiLU())
        self.svtr_block = nn.ModuleList([PpocrAttentionBlock(channels, heads) for _ in range(2)])
        self.norm = nn.LayerNorm(channels, eps=1e-6)

    def forward(self, x):
        y = self.conv_reduce(x)
        y = (y + self.local_conv(y)).squeeze(2).transpose(1, 2)
        for block in self.svtr_block:
            y = block(y)
        return self.norm(y) + self.skip_conv(x).squeeze(2).transpose(1, 2)


class PpocrRecognizer(nn.Module):
    """PP-OCRv6's small recogniser without dropout: scores of characters [N, T, classes] of images [N, 3, H, W], where T is
    an eighth of W. Its parallel convolutions are merged, as in PaddleOCR's published files."""
    STAGES = {"blocks2": [(1, 1, 1)], "blocks3": [(1, 1, 0)] * 2, "blocks4": [(2, (2, 1), 0)] + [(2, 1, 1), (2, 1, 0)] * 3,
              "blocks5": [(4, (2, 1), 0), (4, 1, 1), (4, 1, 0)]}

    def __init__(self, classes, channels=96, neck_channels=120, heads=8):
        super().__init__()
        self.backbone, self.head = nn.Module(), nn.Module()
        self.backbone.conv1 = PpocrStem(channels)
        inputs = add_stages(self.backbone, self.STAGES, channels)[-1]
        self.head.ctc_encoder, self.head.ctc_head = nn.Module(), nn.Module()
        self.head.ctc_encoder.encoder = PpocrNeck(inputs, neck_channels, heads)
        self.head.ctc_head.fc = nn.Linear(neck_channels, classes)

    def forward(self, images):
        x = self.backbone.conv1(images)
        for name in self.STAGES:
            x = getattr(self.backbone, name)(x)
        x = nn.functional.avg_pool2d(x, (x.shape[2], 2))
        return self.head.ctc_head.fc(self.head.ctc_encoder.encoder(x))


def get_loss(logits, labels, blank=0):
    """The mean over samples of the CTC loss of labels [N, L], which end before the first entry below 0."""
    lengths = (labels >= 0).sum(1)
    steps = torch.full_like(lengths, logits.shape[1])
    scores = logits.log_softmax(-1).transpose(0, 1)
    losses = nn.functional.ctc_loss(scores, labels.clamp_min(0), steps, lengths, blank, "none", zero_infinity=True)
    return losses.mean()
