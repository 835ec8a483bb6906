"""Attention Cluster in PyTorch, written from its paper; names are ptrain's."""
import torch
from torch import nn

from nextvlad import AUDIO, RGB


class Attention(nn.Module):
    """[N, heads * width] of frames [N,F,width]."""

    def __init__(self, width, heads):
        super().__init__()
        self.attention = nn.Linear(width, heads)
        self.scale = nn.Parameter(torch.empty(heads))
        self.shift = nn.Parameter(torch.empty(heads))

    def forward(self, frames, mask):
        scores = self.attention(frames).transpose(1, 2).masked_fill(mask[:, None, :] == 0, -torch.inf)
        x = torch.softmax(scores, dim=2) @ frames * self.scale[:, None] + self.shift[:, None]
        x = x * x.square().sum(dim=2, keepdim=True).clamp(min=1e-12).rsqrt()
        return x.flatten(1) / len(self.scale) ** 0.5


class AttentionCluster(nn.Module):
    """The logits of the classes of videos."""

    def __init__(self, classes, heads, first, second):
        super().__init__()
        self.video = Attention(RGB, heads)
        self.audio = Attention(AUDIO, heads)
        self.layers = nn.ModuleList([nn.Linear((RGB + AUDIO) * heads, first), nn.Linear(first, second)])
        self.classifier = nn.Linear(second, classes)

    def forward(self, rgb, audio, mask):
        x = torch.cat([self.video(rgb, mask), self.audio(audio, mask)], dim=1)
        for layer in self.layers:
            x = torch.tanh(layer(x))
        return self.classifier(x)
