"""Networks for click prediction in plain PyTorch, for dense and hashed categorical features, with ptrain's names.

`bag`, "sum" or "mean", is for multi-hot features, bags of words; without it each feature has one word.
"""
import torch


def make_layers(sizes):
    return torch.nn.ModuleList(torch.nn.Linear(*pair) for pair in zip(sizes, sizes[1:]))


def apply_layers(layers, x):
    for layer in layers:
        x = torch.relu(layer(x))
    return x


def make_deep(inputs, *sizes, **parts):
    """What scores all features through layers of these sizes; `parts` are its own besides."""
    return torch.nn.ModuleDict({**parts, "layers": make_layers([inputs, *sizes]), "output": torch.nn.Linear(sizes[-1], 1)})


def score_deeply(deep, x):
    return deep["output"](apply_layers(deep["layers"], x))


class Bags(torch.nn.EmbeddingBag):
    """The sum or mean of the rows of each bag of words [B, categories, bag_size], padded with the table's last row."""

    def __init__(self, hash_buckets, embedding_size, bag):
        super().__init__(hash_buckets, embedding_size, mode=bag, padding_idx=hash_buckets - 1)

    def forward(self, words):
        return super().forward(words.flatten(0, 1)).unflatten(0, words.shape[:2])


def make_table(hash_buckets, embedding_size, bag):
    return Bags(hash_buckets, embedding_size, bag) if bag else torch.nn.Embedding(hash_buckets, embedding_size)


def make_linear(numbers, hash_buckets, bag):
    words = Bags(hash_buckets, 1, bag) if bag else torch.nn.EmbeddingBag(hash_buckets, 1, mode="sum")
    return torch.nn.ModuleDict({**({"numbers": torch.nn.Linear(numbers, 1)} if numbers else {}), "words": words})


def weigh_features(linear, numbers, words):
    weights = linear["words"](words)
    if words.dim() == 3:
        weights = weights.sum(1)
    return linear["numbers"](numbers) + weights if "numbers" in linear else weights


class WideDeep(torch.nn.Module):
    """A weight per feature (wide), and all features through layers (deep)."""
    TABLES = ("wide.words.weight", "deep.words.weight")

    def __init__(self, numbers, categories, hash_buckets, embedding_size, bag=None):
        super().__init__()
        self.wide = make_linear(numbers, hash_buckets, bag)
        self.deep = make_deep(categories * embedding_size + numbers, 512, 256, 128, 32,
                              words=make_table(hash_buckets, embedding_size, bag))

    def forward(self, numbers, words):
        x = torch.cat([self.deep["words"](words).flatten(1), numbers], dim=1)
        return weigh_features(self.wide, numbers, words) + score_deeply(self.deep, x)


class CtrDnn(torch.nn.Module):
    """All features through layers."""
    TABLES = ("deep.words.weight",)

    def __init__(self, numbers, categories, hash_buckets, embedding_size, bag=None):
        super().__init__()
        self.deep = make_deep(categories * embedding_size + numbers, 400, 400, 400,
                              words=make_table(hash_buckets, embedding_size, bag))

    def forward(self, numbers, words):
        return score_deeply(self.deep, torch.cat([self.deep["words"](words).flatten(1), numbers], dim=1))


class DeepFm(torch.nn.Module):
    """A linear model, the products of all pairs of fields, and all fields through layers."""
    TABLES = ("linear.words.weight", "fields.words.weight")

    def __init__(self, numbers, categories, hash_buckets, embedding_size, bag=None):
        super().__init__()
        self.linear = make_linear(numbers, hash_buckets, bag)
        vectors = torch.nn.Module()
        vectors.weight = torch.nn.Parameter(torch.randn(numbers, embedding_size) * 0.1)
        self.fields = torch.nn.ModuleDict({"words": make_table(hash_buckets, embedding_size, bag), "numbers": vectors})
        self.deep = make_deep((numbers + categories) * embedding_size, 400, 400, 400)

    def forward(self, numbers, words):
        fields = torch.cat([self.fields["words"](words), numbers[:, :, None] * self.fields["numbers"].weight], dim=1)
        pairs = 0.5 * (fields.sum(1) ** 2 - (fields**2).sum(1)).sum(1, keepdim=True)
        return weigh_features(self.linear, numbers, words) + pairs + score_deeply(self.deep, fields.flatten(1))


class Cross(torch.nn.Module):
    """torchrec's LowRankCrossNet, one layer of it."""

    def __init__(self, width, rank):
        super().__init__()
        self.v = torch.nn.Linear(width, rank, bias=False)
        self.w = torch.nn.Linear(rank, width)

    def forward(self, inputs, x):
        return inputs * self.w(self.v(x)) + x


class DlrmDcnV2(torch.nn.Module):
    """Dense features to a vector, all vectors crossed, layers over that (torchrec's DLRM_DCN)."""
    TABLES = ("words.weight",)

    def __init__(self, numbers, categories, hash_buckets, embedding_size, bag=None):
        super().__init__()
        width = (1 + categories) * embedding_size
        self.bottom = make_layers([numbers, 512, 256, embedding_size])
        self.words = make_table(hash_buckets, embedding_size, bag)
        self.cross = torch.nn.ModuleList(Cross(width, 512) for _ in range(3))
        self.top = make_layers([width, 1024, 1024, 512, 256])
        self.output = torch.nn.Linear(256, 1)

    def forward(self, numbers, words):
        inputs = torch.cat([apply_layers(self.bottom, numbers), self.words(words).flatten(1)], dim=1)
        x = inputs
        for cross in self.cross:
            x = cross(inputs, x)
        return self.output(apply_layers(self.top, x))


NETWORKS = {"wide_deep": WideDeep, "ctr_dnn": CtrDnn, "deepfm": DeepFm, "dlrm_dcnv2": DlrmDcnV2}
