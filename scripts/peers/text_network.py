"""CRNN in PyTorch, written from its paper (Shi et al. 2015), for images in colour; parameters have ptrain's names."""
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


def get_loss(logits, labels, blank=0):
    """The mean over samples of the CTC loss of labels [N, L], which end before the first entry below 0."""
    lengths = (labels >= 0).sum(1)
    steps = torch.full_like(lengths, logits.shape[1])
    scores = logits.log_softmax(-1).transpose(0, 1)
    losses = nn.functional.ctc_loss(scores, labels.clamp_min(0), steps, lengths, blank, "none", zero_infinity=True)
    return losses.mean()
