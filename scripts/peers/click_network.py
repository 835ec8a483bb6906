"""Wide & Deep in plain PyTorch, for dense and hashed categorical features."""
import torch


class WideDeep(torch.nn.Module):
    """Wide & Deep: a weight per feature (wide), and all features through layers (deep)."""
    TABLES = ("wide.words.weight", "deep.words.weight")

    def __init__(self, numbers, categories, hash_buckets, embedding_size):
        super().__init__()
        sizes = [categories * embedding_size + numbers, 512, 256, 128, 32]
        self.wide = torch.nn.ModuleDict({"numbers": torch.nn.Linear(numbers, 1),
                                         "words": torch.nn.EmbeddingBag(hash_buckets, 1, mode="sum")})
        self.deep = torch.nn.ModuleDict({
            "words": torch.nn.Embedding(hash_buckets, embedding_size),
            "layers": torch.nn.ModuleList(torch.nn.Linear(*pair) for pair in zip(sizes, sizes[1:])),
            "output": torch.nn.Linear(sizes[-1], 1)})

    def forward(self, numbers, words):
        x = torch.cat([self.deep["words"](words).flatten(1), numbers], dim=1)
        for layer in self.deep["layers"]:
            x = torch.relu(layer(x))
        return self.wide["numbers"](numbers) + self.wide["words"](words) + self.deep["output"](x)
