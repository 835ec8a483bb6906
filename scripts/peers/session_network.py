"""GRU4Rec in plain PyTorch, over whole sessions; parameters have the names of its authors' code."""
import torch


class Gru4Rec(torch.nn.Module):
    """The scores of all items after each item of a session: a row of a table, a GRU, products with all rows."""

    def __init__(self, items, units):
        super().__init__()
        self.Wy = torch.nn.Embedding(items, units)
        self.By = torch.nn.Embedding(items, 1)
        self.G = torch.nn.ModuleList([torch.nn.GRUCell(units, units)])

    def forward(self, ids):
        state = self.Wy.weight.new_zeros(len(ids), self.Wy.embedding_dim)
        scores = []
        for step in ids.T:
            state = self.G[0](self.Wy(step), state)
            scores.append(state @ self.Wy.weight.T + self.By.weight.T)
        return torch.stack(scores, dim=1)
