"""Attention LSTM in PyTorch, written from PaddlePaddle/models' description; names are ptrain's."""
import torch
from torch import nn

from nextvlad import AUDIO, RGB


class Lstm(nn.Module):
    """The states of an LSTM with peepholes after each frame; its gates are input, forget, candidate and output."""

    def __init__(self, width, units, backward):
        super().__init__()
        self.backward_in_time = backward
        self.inputs = nn.Linear(width, 4 * units)
        self.weight = nn.Parameter(torch.empty(4 * units, units))
        self.peepholes = nn.Parameter(torch.empty(3 * units))

    def forward(self, x, mask):
        gates = self.inputs(x)
        of_input, of_forget, of_output = self.peepholes.chunk(3)
        state = cell = x.new_zeros(len(x), self.weight.shape[1])
        frames = range(x.shape[1])
        states = [None] * x.shape[1]
        for frame in reversed(frames) if self.backward_in_time else frames:
            in_gate, forget, candidate, out = (gates[:, frame] + state @ self.weight.T).chunk(4, dim=1)
            forgotten = torch.sigmoid(forget + of_forget * cell) * cell
            new_cell = forgotten + torch.sigmoid(in_gate + of_input * cell) * torch.tanh(candidate)
            new_state = torch.sigmoid(out + of_output * new_cell) * torch.tanh(new_cell)
            here = mask[:, frame, None]
            cell, state = new_cell * here, new_state * here
            states[frame] = state
        return torch.stack(states, dim=1)


class Attention(nn.Module):
    """[N, 2 units] of frames [N,F,width]."""

    def __init__(self, width, projection, units):
        super().__init__()
        self.projection = nn.Linear(width, projection)
        self.forward_lstm = Lstm(projection, units, backward=False)
        self.backward_lstm = Lstm(projection, units, backward=True)
        self.attention = nn.Linear(2 * units, 1, bias=False)

    def forward(self, frames, mask):
        x = torch.tanh(self.projection(frames))
        states = torch.cat([self.forward_lstm(x, mask), self.backward_lstm(x, mask)], dim=2)
        scores = self.attention(states)[:, :, 0].masked_fill(mask == 0, -torch.inf)
        return (torch.softmax(scores, dim=1)[:, None, :] @ states)[:, 0]


class AttentionLstm(nn.Module):
    """The logits of the classes of videos."""

    def __init__(self, classes, projection, units, first, second):
        super().__init__()
        self.video = Attention(RGB, projection, units)
        self.audio = Attention(AUDIO, projection, units)
        self.layers = nn.ModuleList([nn.Linear(4 * units, first), nn.Linear(first, second)])
        self.classifier = nn.Linear(second, classes)

    def forward(self, rgb, audio, mask):
        x = torch.cat([self.video(rgb, mask), self.audio(audio, mask)], dim=1)
        x = torch.relu(self.layers[0](x))
        return self.classifier(torch.tanh(self.layers[1](x)))
