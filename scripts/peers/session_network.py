"""GRU4Rec and SSR in plain PyTorch, over whole sessions; GRU4Rec's parameters have the names of its authors' code."""
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


class ResettingGru(torch.nn.Module):
    """A GRU whose reset gate acts on the state before its product, as Paddle's dynamic_gru does; rows of its matrices are of
    the reset gate, the update gate and the candidate."""

    def __init__(self, inputs, units):
        super().__init__()
        self.weight_ih = torch.nn.Parameter(torch.zeros(3 * units, inputs))
        self.weight_hh = torch.nn.Parameter(torch.zeros(3 * units, units))
        self.bias_ih = torch.nn.Parameter(torch.zeros(3 * units))

    def forward(self, x, state):
        units = state.shape[-1]
        gates = x @ self.weight_ih.T + self.bias_ih
        both = torch.sigmoid(gates[:, :2 * units] + state @ self.weight_hh[:2 * units].T)
        reset, update = both[:, :units], both[:, units:]
        candidate = torch.tanh(gates[:, 2 * units:] + (reset * state) @ self.weight_hh[2 * units:].T)
        return (1 - update) * candidate + update * state


class Ssr(torch.nn.Module):
    """Cosines after each item of a session: of a layer of a GRU's largest states so far, and of a layer of each item's row."""

    def __init__(self, items, units):
        super().__init__()
        self.item_embedding = torch.nn.Embedding(items, units)
        self.gru = ResettingGru(units, units)
        self.user_fc = torch.nn.Linear(units, units)
        self.item_fc = torch.nn.Linear(units, units)

    def forward(self, ids):
        state = self.item_embedding.weight.new_zeros(len(ids), self.item_embedding.embedding_dim)
        states = []
        for step in ids.T:
            state = self.gru(self.item_embedding(step), state)
            states.append(state)
        users = self.user_fc(torch.cummax(torch.stack(states, dim=1), dim=1).values)
        items = self.item_fc(self.item_embedding.weight)
        return torch.nn.functional.normalize(users, dim=-1) @ torch.nn.functional.normalize(items, dim=-1).T
