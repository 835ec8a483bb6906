"""NeXtVLAD in PyTorch, written from its paper; names are ptrain's."""
import torch
from torch import nn
from torch.nn import functional

RGB, AUDIO = 1024, 128  # features of a frame
GATE_REDUCTION = 8


class Aggregation(nn.Module):
    """[N, clusters * group] of frames [N,F,C]."""

    def __init__(self, width, expansion, groups, clusters):
        super().__init__()
        expanded = expansion * width
        self.groups, self.clusters_count, self.group = groups, clusters, expanded // groups
        self.expansion = nn.Linear(width, expanded)
        self.attention = nn.Linear(expanded, groups)
        self.clusters = nn.Linear(expanded, groups * clusters, bias=False)
        self.cluster_bn = nn.BatchNorm1d(groups * clusters)
        self.centres = nn.Parameter(torch.empty(clusters, self.group))
        self.vlad_bn = nn.BatchNorm1d(clusters * self.group)

    def forward(self, frames, mask):
        rows = len(frames)
        x = self.expansion(frames)
        attention = torch.sigmoid(self.attention(x)) * mask[:, :, None]
        nearness = self.cluster_bn(self.clusters(x).flatten(0, 1))
        shares = torch.softmax(nearness.reshape(rows, -1, self.clusters_count), dim=2)
        weights = shares * attention.reshape(rows, -1, 1)
        groups = x.reshape(rows, -1, self.group)
        vlad = weights.transpose(1, 2) @ groups - weights.sum(dim=1)[:, :, None] * self.centres
        vlad = vlad * vlad.square().sum(dim=2, keepdim=True).clamp(min=1e-12).rsqrt()
        return self.vlad_bn(vlad.flatten(1))


class Gate(nn.Sequential):
    def __init__(self, hidden):
        super().__init__(nn.Linear(hidden, hidden // GATE_REDUCTION, bias=False),
                         nn.Linear(hidden // GATE_REDUCTION, hidden, bias=False))


class NextVlad(nn.Module):
    """The logits of the classes of videos."""

    def __init__(self, classes, expansion, groups, clusters, hidden):
        super().__init__()
        self.video = Aggregation(RGB, expansion, groups, clusters)
        self.audio = Aggregation(AUDIO, expansion, groups, clusters)
        features = clusters * (self.video.group + self.audio.group)
        self.hidden = nn.Linear(features, hidden, bias=False)
        self.hidden_bn = nn.BatchNorm1d(hidden)
        self.gate = Gate(hidden)
        self.gate_bn = nn.BatchNorm1d(hidden // GATE_REDUCTION)
        self.classifier = nn.Linear(hidden, classes)

    def forward(self, rgb, audio, mask):
        x = self.hidden_bn(self.hidden(torch.cat([self.video(rgb, mask), self.audio(audio, mask)], dim=1)))
        gates = functional.relu(self.gate_bn(self.gate[0](x)))
        return self.classifier(x * torch.sigmoid(self.gate[1](gates)))


def get_loss(logits, labels):
    """Summed over classes, the mean of videos."""
    return functional.binary_cross_entropy_with_logits(logits, labels, reduction="none").sum(dim=1).mean()
