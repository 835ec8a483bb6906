"""The reference side of the model goldens: torchvision's, timm's and transformers' models with weights and batches made by hash.

Weights, batches and sketch signs follow from a name and an index alone (splitmix64 over FNV-1a), so that
tests/golden/sketch.h makes the same ones and no weights need to be stored.
"""
import collections
import dataclasses
import math
import pathlib
import sys

import numpy as np
import torch

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "scripts/peers"))  # networks that no library has

STEPS = 10
IGNORED = -1  # the label of a pixel without a class
OBJECTS = 3  # of an image with boxes
CHARACTERS = 6  # of the longest text in an image
SKETCHES = 16


@dataclasses.dataclass
class Case:
    name: str
    batch: int
    size: int  # px, or tokens
    classes: int
    optimizer: dict
    bert: dict = dataclasses.field(default_factory=dict)
    phases: tuple = ()  # (steps, batch, size, factor of the learning rate) in succession; none: STEPS alike
    model: str = ""  # the case's name, unless it says so
    frames: int = 1  # images of a sample
    # Relative L2 of a gradient that may be off. Two values of a max pooling's window that differ by rounding alone send its
    # gradient to one or the other: one of the 32,768 windows after VGG's fourth block moves 1 / sqrt(32768) of it.
    tolerance: float = 1e-4
    clicks: dict = dataclasses.field(default_factory=dict)  # a table's numbers and categories, and its words' rows
    videos: dict = dataclasses.field(default_factory=dict)  # of features of frames, of which `size` is the number
    pixels: bool = False  # each pixel has a class
    lora: dict = dataclasses.field(default_factory=dict)  # PEFT's LoraConfig: adapters beside frozen weights

    @property
    def network(self):
        return self.model or self.name

    @property
    def detects(self):
        return self.name.startswith(("retinanet", "maskrcnn", "ppyoloe"))

    @property
    def aligns(self):
        """Whether what its anchors learn follows from what they predict."""
        return self.name.startswith("ppyoloe")

    @property
    def finds_texts(self):
        return self.name.startswith(("dbnet", "ppocr_det"))

    @property
    def reads_texts(self):
        return self.name.startswith(("crnn", "ppocr_rec"))

    @property
    def finds_masks(self):
        return self.name.startswith("maskrcnn")

    @property
    def steps(self):
        return [phase[1:] for phase in self.phases or [(STEPS, self.batch, self.size, 1)] for _ in range(phase[0])]


ADAMW = {"name": "adamw", "lr": 1e-4, "beta1": 0.9, "beta2": 0.999, "epsilon": 1e-6, "weight_decay": 0.01}
MOMENTUM = {"name": "momentum", "lr": 0.005, "momentum": 0.9, "weight_decay": 1e-4}
TIMM = {"resnet50_vd": "resnet50d", "resnet18_blur": "resnetblur18", "mobilenet_v1": "mobilenetv1_100",
        "deit_small": "deit_small_patch16_224"}  # the others are torchvision's
CASES = {case.name: case for case in (
    Case("resnet50", 8, 64, 10, MOMENTUM),
    Case("resnet50_vd", 4, 64, 10, MOMENTUM),
    Case("resnext50_32x4d", 4, 64, 10, MOMENTUM),
    Case("wide_resnet50_2", 4, 64, 10, MOMENTUM),
    Case("mobilenet_v1", 8, 64, 10, {**MOMENTUM, "lr": 0.001}),
    Case("mobilenet_v2", 8, 64, 10, {**MOMENTUM, "lr": 0.001}),
    Case("mobilenet_v3_large", 8, 64, 10, {**MOMENTUM, "lr": 0.001}),
    Case("resnet50_phases", 8, 64, 10, MOMENTUM, phases=((10, 8, 64, 1), (10, 4, 96, 0.5)), model="resnet50"),
    Case("resnet18_blur", 4, 72, 10, {**MOMENTUM, "lr": 0.0005}, model="resnet18"),
    Case("efficientnet_b0", 8, 64, 10, {**MOMENTUM, "lr": 0.001}),
    Case("regnet_y_400mf", 8, 64, 10, {**MOMENTUM, "lr": 0.001}),
    Case("convnext_tiny", 4, 64, 10, ADAMW),
    Case("vit_b_16", 4, 64, 10, ADAMW),
    Case("deit_small", 4, 64, 10, ADAMW),
    Case("vgg16", 2, 64, 10, {**MOMENTUM, "lr": 1e-7}, tolerance=0.02),
    Case("vgg16_bn", 4, 64, 10, {**MOMENTUM, "lr": 1e-5}, tolerance=0.02),
    Case("tsn_resnet50", 4, 64, 10, {**MOMENTUM, "lr": 0.001}, frames=3),
    Case("stnet_resnet50", 4, 64, 10, {**MOMENTUM, "lr": 2e-5}, frames=15),
    # Of 104 px the features have 13, so that the pyramid's first dilation, 12, reads more than the middle of its filters.
    # The norm of three images' means magnifies rounding: PyTorch's own fp32 is off by 0.005.
    Case("deeplabv3_resnet50", 3, 104, 5, MOMENTUM, tolerance=0.02, pixels=True),
    Case("retinanet_resnet50_fpn", 2, 128, 5, {**MOMENTUM, "lr": 1e-6}),
    Case("maskrcnn_resnet50_fpn", 2, 128, 4, {**MOMENTUM, "lr": 1e-6}),
    Case("maskrcnn_resnet50_c4", 2, 128, 4, {**MOMENTUM, "lr": 1e-6}),
    # Half of the gradients of PyTorch's own fp32 are off by 1.5e-4 or more; a block's alpha is one sum, whose terms nearly cancel.
    Case("ppyoloe_tiny", 2, 128, 4, {**MOMENTUM, "lr": 1e-5}, tolerance=0.005),
    Case("dbnet_resnet18", 2, 64, 2, {**MOMENTUM, "lr": 1e-4}),
    # With images of 96 px the gradients of PyTorch's own fp32 are off by up to 1.8e-4: inputs of rectifiers are near 0.
    Case("ppocr_det_tiny", 2, 128, 2, {**MOMENTUM, "lr": 1e-4}, tolerance=0.001),
    Case("crnn_tiny", 4, 64, 11, {**ADAMW, "lr": 1e-3}),
    Case("ppocr_rec_tiny", 4, 96, 11, {**ADAMW, "lr": 1e-3}),
    Case("bert_base", 4, 64, 2, ADAMW, {"layers": 12, "hidden": 768, "heads": 12, "intermediate": 3072,
                                        "vocab_size": 30522, "max_positions": 512}),
    Case("distilbert", 8, 64, 2, ADAMW, {"layers": 6, "hidden": 768, "heads": 12, "intermediate": 3072,
                                         "vocab_size": 30522, "max_positions": 512}),
    Case("roberta", 8, 64, 2, ADAMW, {"layers": 4, "hidden": 256, "heads": 4, "intermediate": 1024,
                                      "vocab_size": 50265, "max_positions": 512}),
    Case("ernie", 8, 64, 2, ADAMW, {"layers": 4, "hidden": 312, "heads": 12, "intermediate": 1248,
                                    "vocab_size": 40000, "max_positions": 2048}),
    Case("gpt2", 4, 64, 1, ADAMW, {"layers": 4, "hidden": 192, "heads": 6, "intermediate": 768, "vocab_size": 5003,
                                   "max_positions": 96}),
    # Three layers, since what differs is in each; rope scaling bends some of 8 frequencies.
    Case("llama", 4, 64, 1, ADAMW, {"layers": 3, "hidden": 96, "heads": 6, "kv_heads": 2, "head_dim": 16,
                                    "intermediate": 256, "vocab_size": 1009, "max_positions": 96, "tied": True,
                                    "rope_theta": 1000.0, "llama3_factor": 8.0, "original_length": 32}),
    Case("qwen2", 4, 64, 1, ADAMW, {"layers": 3, "hidden": 96, "heads": 4, "kv_heads": 2, "head_dim": 24,
                                    "intermediate": 200, "vocab_size": 1009, "max_positions": 96, "tied": True,
                                    "rope_theta": 1000000.0}),
    Case("qwen3", 4, 64, 1, ADAMW, {"layers": 3, "hidden": 96, "heads": 4, "kv_heads": 1, "head_dim": 32,
                                    "intermediate": 256, "vocab_size": 1009, "max_positions": 96, "tied": False,
                                    "rope_theta": 1000000.0}),
    # Some layers of a joined product adapted, then all of it; weights of GPT-2's are transposed.
    Case("llama_lora", 4, 64, 1, {**ADAMW, "lr": 1e-3},
         {"layers": 2, "hidden": 96, "heads": 6, "kv_heads": 2, "head_dim": 16, "intermediate": 256, "vocab_size": 1009,
          "max_positions": 96, "tied": True, "rope_theta": 1000.0}, model="llama",
         lora={"r": 4, "lora_alpha": 12, "target_modules": ["q_proj", "v_proj", "o_proj", "gate_proj", "down_proj"]}),
    Case("gpt2_lora", 4, 64, 1, {**ADAMW, "lr": 1e-3},
         {"layers": 2, "hidden": 96, "heads": 6, "intermediate": 384, "vocab_size": 1009, "max_positions": 96},
         model="gpt2", lora={"r": 9, "lora_alpha": 6, "use_rslora": True, "target_modules": "all-linear"}),
    Case("transformer", 4, 24, 1, ADAMW, {"layers": 2, "hidden": 64, "heads": 4, "intermediate": 128, "vocab_size": 503,
                                           "max_positions": 24}),
    Case("minilm", 8, 64, 2, ADAMW, {"layers": 6, "hidden": 384, "heads": 12, "intermediate": 1536,
                                     "vocab_size": 30522, "max_positions": 512}),
    *(Case(name, 4, 16, 1, {**ADAMW, "lr": 1e-3}, {"hidden": 24, "vocab_size": 211}) for name in ("gru4rec", "ssr")),
    *(Case(name, 16, 1, 2, {**ADAMW, "lr": lr, "weight_decay": 0.0},
           clicks={"numbers": 13, "categories": 26, "hash_buckets": 1000, "embedding_size": width})
      for name, lr, width in (("wide_deep", 0.01, 9), ("ctr_dnn", 0.01, 10), ("deepfm", 0.01, 9), ("dlrm_dcnv2", 0.001, 8))),
    # Bags, whose padding is the last of 1001 rows.
    Case("wide_deep_mean", 16, 1, 2, {**ADAMW, "lr": 0.01, "weight_decay": 0.0}, model="wide_deep",
         clicks={"numbers": 0, "categories": 6, "hash_buckets": 1001, "embedding_size": 9, "bag_size": 5, "bag": "mean"}),
    Case("dlrm_dcnv2_bags", 16, 1, 2, {**ADAMW, "lr": 0.001, "weight_decay": 0.0}, model="dlrm_dcnv2",
         clicks={"numbers": 13, "categories": 26, "hash_buckets": 1001, "embedding_size": 8, "bag_size": 3, "bag": "sum"}),
    Case("nextvlad", 8, 6, 12, {**ADAMW, "lr": 1e-3},
         videos={"expansion": 1, "groups": 4, "clusters": 8, "hidden": 64}),
    Case("attention_cluster", 8, 6, 12, {**ADAMW, "lr": 1e-3}, videos={"heads": 4, "first": 32, "second": 48}),
    Case("attention_lstm", 8, 6, 12, {**ADAMW, "lr": 1e-3},
         videos={"projection": 24, "units": 16, "first": 32, "second": 48}),
)}


LLAMAS = {"llama": "Llama", "qwen2": "Qwen2", "qwen3": "Qwen3"}
SESSIONS = {"gru4rec": "Gru4Rec", "ssr": "Ssr"}  # classes of session_network.py
WITH_LENGTHS = {*LLAMAS, *SESSIONS}  # of whose sequences each token's next one is learnt; GPT-2's blocks have none
END = 0  # the token after a text, and before its translation
SINUSOIDS = "embed_positions.weight"  # of the Transformer, which are no parameters
TOKEN_TYPES = {"ernie": 4, "roberta": 1}
ROBERTA_FIRST_POSITION = 2


def hashes(name, count):
    """uint64[count]: splitmix64 of (FNV-1a of `name`) + index * golden ratio."""
    seed = 0xCBF29CE484222325
    for byte in name.encode():
        seed = (seed ^ byte) * 0x100000001B3 % 2**64
    with np.errstate(over="ignore"):
        z = np.uint64(seed) + np.arange(1, count + 1, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        return z ^ (z >> np.uint64(31))


def uniform(name, count):
    """float32[count] in [-1, 1), multiples of 2^-23: exact in either language."""
    return ((hashes(name, count) >> np.uint64(40)).astype(np.float32) * np.float32(2.0**-23) - np.float32(1))


# Norms and biases are offset + scale * uniform, by the first match of prefix and suffix. Within ResNet's blocks most ReLUs
# are kept open and the residual branches small: under default initial weights two correct fp32 implementations
# (PyTorch's own two memory layouts) differ by 1e-2 in gradients, because rounding flips ReLUs in fifty layers.
VECTORS = [
    ("layer", "bn3.weight", 0.1, 0.01),
    ("layer", "bn3.bias", 0.0, 0.1),
    ("layer", ".weight", 0.4, 0.04),
    ("layer", ".bias", 1.0, 0.1),
    ("backbone.layer", "conv3.bn.weight", 0.1, 0.01),  # mmaction2's names of the same
    ("backbone.layer", "conv3.bn.bias", 0.0, 0.1),
    ("backbone.layer", "bn3.weight", 0.1, 0.01),  # DeepLab's
    ("backbone.layer", "bn3.bias", 0.0, 0.1),
    ("backbone.layer", ".weight", 0.4, 0.04),
    ("backbone.layer", ".bias", 1.0, 0.1),
    ("backbone.body.layer", "bn3.weight", 0.1, 0.01),  # of detectors
    ("backbone.body.layer", "bn3.bias", 0.0, 0.1),
    ("backbone.body.layer", ".weight", 0.4, 0.04),
    ("backbone.body.layer", ".bias", 1.0, 0.1),
    ("roi_heads.box_head.layer", "bn3.weight", 0.1, 0.01),
    ("roi_heads.box_head.layer", "bn3.bias", 0.0, 0.1),
    ("roi_heads.box_head.layer", ".weight", 0.4, 0.04),
    ("roi_heads.box_head.layer", ".bias", 1.0, 0.1),
    ("backbone.conv1.stem", ".weight", 0.4, 0.04),  # PP-OCR's: a stem with ReLUs, and residual branches
    ("backbone.conv1.stem", ".bias", 1.0, 0.1),
    ("backbone.blocks", "compress.bn.weight", 0.1, 0.01),
    ("trunk_output", "c.1.weight", 0.1, 0.01),
    ("trunk_output", "c.1.bias", 0.0, 0.1),
    ("trunk_output", ".weight", 0.4, 0.04),
    ("trunk_output", ".bias", 1.0, 0.1),
    ("blocks", ".weight", 0.4, 0.04),  # MobileNet's two forms: between ReLU6's two bends
    ("blocks", ".bias", 1.5, 0.1),
    ("features", ".weight", 0.4, 0.04),
    ("features", ".bias", 1.5, 0.1),
    ("", ".alpha", 1.0, 0.1),
    ("", ".weight", 1.0, 0.1),
    ("", "", 0.0, 0.1),
]


def weight(name, shape):
    """Filters: uniform with He's variance; matrices: within 0.04; the rest by VECTORS. The filters that propose regions, and
    the last ones of PP-YOLOE, are a tenth of it: else scores are 1 but for rounding, and boxes fill the image."""
    values = uniform(name, math.prod(shape))
    if len(shape) == 4:
        values *= np.float32(math.sqrt(6.0 / math.prod(shape[1:])) * (0.1 if name.startswith(("rpn.", "yolo_head.pred_")) else 1.0))
    elif len(shape) == 2:
        values *= np.float32(0.04)
    else:
        offset, scale = next((offset, scale) for prefix, suffix, offset, scale in VECTORS
                             if name.startswith(prefix) and name.endswith(suffix))
        values = values * np.float32(scale) + np.float32(offset)
    return torch.from_numpy(values.reshape(shape))


def get_step(name, step, count):
    """Step `step`'s part of the hashes of `name` when every step has `count`."""
    return hashes(name, (step + 1) * count)[step * count:]


def image_batches(case):
    labels, images, masks = [], [], []
    for step, (batch, size, _) in enumerate(case.steps):
        blocks, count = size // 8, batch * case.frames
        labels.append((get_step("labels", step, batch) % np.uint64(case.classes)).astype(np.int32))
        pixels = (get_step("images", step, count * blocks * blocks * 3) >> np.uint64(56)).astype(np.uint8)
        pixels = pixels.reshape(count, blocks, blocks, 3)
        images.append(np.ascontiguousarray(pixels.repeat(8, axis=1).repeat(8, axis=2)))
        classes = (get_step("masks", step, count * blocks * blocks) % np.uint64(case.classes + 1)).astype(np.int32)
        classes[classes == case.classes] = IGNORED
        masks.append(classes.reshape(count, blocks, blocks).repeat(8, axis=1).repeat(8, axis=2))
    return {"masks" if case.pixels else "labels": masks if case.pixels else labels, "images": images,
            **({"objects": object_batches(case)} if case.detects else {}),
            **({"text_map": map_batches(case, "text_map", (1, 1, -1, 0, 0, 0, 0, 0)),
                "threshold_map": map_batches(case, "threshold_map", (-1, 0.375, 0.5, 0.625))} if case.finds_texts else {}),
            **({"characters": character_batches(case)} if case.reads_texts else {})}


def map_batches(case, name, values):
    """Maps of 8x8 px blocks that each have one of `values`."""
    blocks = case.size // 8
    steps = [get_step(name, step, case.batch * blocks * blocks) % np.uint64(len(values)) for step in range(STEPS)]
    return [np.array(values, np.float32)[drawn.astype(np.int64)].reshape(case.batch, blocks, blocks).repeat(8, 1).repeat(8, 2)
            for drawn in steps]


def character_batches(case):
    """Texts of one to CHARACTERS classes but the blank, 0."""
    lengths = [1 + hashed % np.uint64(CHARACTERS) for hashed in (get_step("text_lengths", step, case.batch) for step in range(STEPS))]
    texts = [get_step("characters", step, case.batch * CHARACTERS).reshape(case.batch, CHARACTERS) for step in range(STEPS)]
    places = np.arange(CHARACTERS, dtype=np.uint64)[None, :]
    return [np.where(places < length[:, None], 1 + (text % np.uint64(case.classes - 1)).astype(np.int64), IGNORED)
            for length, text in zip(lengths, texts)]


def object_batches(case):
    """Three objects an image: class, left, top, right, bottom, in whole pixels."""
    half, each = np.uint64(case.size // 2), (case.batch, OBJECTS, 5)
    steps = [get_step("objects", step, math.prod(each)).reshape(each) for step in range(STEPS)]
    def box(hashed):
        left_top, extent = hashed[..., 1:3] % half, np.uint64(8) + hashed[..., 3:5] % (half - np.uint64(8))
        return np.concatenate([hashed[..., :1] % np.uint64(case.classes), left_top, left_top + extent], axis=-1)
    return [box(hashed).astype(np.int64) for hashed in steps]


def click_batches(case):
    def rows(name, width):
        return [get_step(name, step, case.batch * width).reshape(case.batch, width) for step in range(STEPS)]
    labels = [(hashed[:, 0] % np.uint64(case.classes)).astype(np.int32) for hashed in rows("labels", 1)]
    words = [(hashed % np.uint64(case.clicks["hash_buckets"])).astype(np.int32)
             for hashed in rows("categories", case.clicks["categories"])] if "bag" not in case.clicks else bag_batches(case)
    width = case.clicks["numbers"]
    numbers = uniform("numbers", STEPS * case.batch * width).reshape(STEPS, case.batch, width)
    return {"labels": labels, "categories": words, "numbers": list(numbers)}


def bag_batches(case):
    """Of each bag the first ids, none to all of them; the others are padding."""
    bags, size, padding = case.batch * case.clicks["categories"], case.clicks["bag_size"], case.clicks["hash_buckets"] - 1
    ids = [get_step("categories", step, bags * size).reshape(bags, size) % np.uint64(padding) for step in range(STEPS)]
    counts = [get_step("bag_counts", step, bags) % np.uint64(size + 1) for step in range(STEPS)]
    places = np.arange(size, dtype=np.uint64)[None, :]
    return [np.where(places < count[:, None], one, np.uint64(padding)).astype(np.int32).reshape(case.batch, -1, size)
            for one, count in zip(ids, counts)]


def video_batches(case):
    """Features in [-2, 2), half of the frames or more, and a third of the classes."""
    rows, frames = STEPS * case.batch, case.size
    def features(name, width):
        return 2 * uniform(name, rows * frames * width).reshape(STEPS, case.batch, frames, width)
    lengths = frames // 2 + (hashes("lengths", rows) % np.uint64(frames // 2 + 1)).astype(np.int64)
    mask = (np.arange(frames)[None, :] < lengths[:, None]).astype(np.float32)
    labels = (hashes("labels", rows * case.classes) % np.uint64(3) == 0).astype(np.float32)
    return {"rgb": features("rgb", 1024), "audio": features("audio", 128),
            "mask": mask.reshape(STEPS, case.batch, frames), "labels": labels.reshape(STEPS, case.batch, case.classes)}


def text_batches(case, prefix=""):
    half = case.size // 2
    lengths = half + (hashes(prefix + "lengths", STEPS * case.batch) % np.uint64(half + 1)).astype(np.int32)
    ids = hashes(prefix + "input_ids", STEPS * case.batch * case.size) % np.uint64(case.bert["vocab_size"])
    padding = np.arange(case.size)[None, :] >= lengths[:, None]
    ids = np.where(padding, 0, ids.astype(np.int32).reshape(-1, case.size)).astype(np.int32)
    types = np.where(padding, 0, np.arange(case.size)[None, :] >= half // 2).astype(np.int32)
    shape = (STEPS, case.batch, case.size)
    return {prefix + "input_ids": ids.reshape(shape), prefix + "token_type_ids": types.reshape(shape),
            prefix + "lengths": lengths.reshape(STEPS, case.batch)}


def batches(case):
    """By name a tensor for each step. Images: u8 NHWC of 8x8 px blocks; text: ids, lengths from half to all."""
    if case.clicks:
        result = click_batches(case)
    elif case.videos:
        result = video_batches(case)
    elif not case.bert:
        result = image_batches(case)
    else:
        labels = (hashes("labels", STEPS * case.batch) % np.uint64(case.classes)).astype(np.int32)
        result = {"labels": labels.reshape(STEPS, case.batch), **text_batches(case)}
        if case.network == "transformer":
            result |= text_batches(case, "decoder_")
            for ids in result["decoder_input_ids"]:
                ids[:, 0] = END
    return {name: [torch.from_numpy(value) for value in values] for name, values in result.items()}


def text_model(case):
    sizes = case.bert
    if case.network in SESSIONS:
        import session_network
        return getattr(session_network, SESSIONS[case.network])(sizes["vocab_size"], sizes["hidden"])
    import transformers
    if case.network == "gpt2":
        return transformers.GPT2LMHeadModel(transformers.GPT2Config(
            vocab_size=sizes["vocab_size"], n_embd=sizes["hidden"], n_layer=sizes["layers"], n_head=sizes["heads"],
            n_inner=sizes["intermediate"], n_positions=sizes["max_positions"], resid_pdrop=0.0, embd_pdrop=0.0,
            attn_pdrop=0.0, bos_token_id=None, eos_token_id=None))
    if case.network == "transformer":
        model = transformers.MarianMTModel(transformers.MarianConfig(
            vocab_size=sizes["vocab_size"], d_model=sizes["hidden"], encoder_layers=sizes["layers"],
            decoder_layers=sizes["layers"], encoder_attention_heads=sizes["heads"],
            decoder_attention_heads=sizes["heads"], encoder_ffn_dim=sizes["intermediate"],
            decoder_ffn_dim=sizes["intermediate"], max_position_embeddings=sizes["max_positions"],
            activation_function="relu", scale_embedding=True, dropout=0.0, attention_dropout=0.0,
            activation_dropout=0.0, pad_token_id=sizes["vocab_size"] - 1, eos_token_id=END, decoder_start_token_id=END))
        model.model.shared.padding_idx = None  # the padding's token occurs, and learns as the others
        return model
    if case.network in LLAMAS:
        kin = LLAMAS[case.network]
        rope = {"rope_type": "default", "rope_theta": sizes["rope_theta"]}
        if "llama3_factor" in sizes:
            rope.update(rope_type="llama3", factor=sizes["llama3_factor"], low_freq_factor=1.0, high_freq_factor=4.0,
                        original_max_position_embeddings=sizes["original_length"])
        return getattr(transformers, kin + "ForCausalLM")(getattr(transformers, kin + "Config")(
            vocab_size=sizes["vocab_size"], hidden_size=sizes["hidden"], num_hidden_layers=sizes["layers"],
            num_attention_heads=sizes["heads"], num_key_value_heads=sizes["kv_heads"], head_dim=sizes["head_dim"],
            intermediate_size=sizes["intermediate"], max_position_embeddings=sizes["max_positions"],
            tie_word_embeddings=sizes["tied"], rms_norm_eps=1e-5, rope_parameters=rope, attention_dropout=0.0))
    if case.name == "distilbert":
        return transformers.DistilBertForSequenceClassification(transformers.DistilBertConfig(
            vocab_size=sizes["vocab_size"], dim=sizes["hidden"], n_layers=sizes["layers"], n_heads=sizes["heads"],
            hidden_dim=sizes["intermediate"], max_position_embeddings=sizes["max_positions"], dropout=0.0,
            attention_dropout=0.0, seq_classif_dropout=0.0, num_labels=case.classes))
    kin = {"ernie": "Ernie", "roberta": "Roberta"}.get(case.name, "Bert")
    own = {"layer_norm_eps": 1e-5} if case.name == "roberta" else {}
    before = ROBERTA_FIRST_POSITION if case.name == "roberta" else 0
    return getattr(transformers, kin + "ForSequenceClassification")(getattr(transformers, kin + "Config")(
        vocab_size=sizes["vocab_size"], hidden_size=sizes["hidden"], num_hidden_layers=sizes["layers"],
        num_attention_heads=sizes["heads"], intermediate_size=sizes["intermediate"],
        max_position_embeddings=sizes["max_positions"] + before, hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0,
        type_vocab_size=TOKEN_TYPES.get(case.name, 2), num_labels=case.classes, **own))


def detector(case):
    """torchvision's RetinaNet as its published weights have it, with frozen norms, but none of its layers frozen."""
    from torchvision.models.detection import backbone_utils, retinanet
    from torchvision.models.resnet import resnet50
    from torchvision.ops import FrozenBatchNorm2d, feature_pyramid_network
    body = resnet50(norm_layer=FrozenBatchNorm2d)
    pyramid = backbone_utils._resnet_fpn_extractor(
        body, 5, returned_layers=[2, 3, 4], extra_blocks=feature_pyramid_network.LastLevelP6P7(256, 256))
    return retinanet.RetinaNet(pyramid, case.classes)


def set_frozen_norms(model):
    from torchvision.ops import FrozenBatchNorm2d
    for name, part in model.named_modules():
        if isinstance(part, FrozenBatchNorm2d):
            part.weight.copy_(weight(name + ".weight", part.weight.shape))
            part.bias.copy_(weight(name + ".bias", part.bias.shape))


PROPOSALS, FOUND = 16, 20  # of an image, which keep the second stage small


def mask_detector(case):
    """torchvision's Mask R-CNN likewise, which samples all anchors and regions."""
    from torchvision.models.detection import MaskRCNN, backbone_utils
    from torchvision.models.resnet import resnet50
    from torchvision.ops import FrozenBatchNorm2d
    resnet, classes = resnet50(norm_layer=FrozenBatchNorm2d), case.classes + 1
    limits = {f"rpn_{when}_nms_top_n_{mode}": PROPOSALS for when in ("pre", "post") for mode in ("train", "test")}
    limits |= {"rpn_batch_size_per_image": 10**6, "rpn_positive_fraction": 1.0, "box_batch_size_per_image": 10**6,
               "box_positive_fraction": 1.0, "box_detections_per_img": FOUND}
    if case.name == "maskrcnn_resnet50_fpn":
        return MaskRCNN(backbone_utils._resnet_fpn_extractor(resnet, 5), classes, **limits)
    return MaskRCNN(FourthMap(resnet), **last_stage_heads(resnet.layer4, classes), **limits)


class FourthMap(torch.nn.Module):
    """The feature map C4 of a ResNet-50."""
    out_channels = 1024

    def __init__(self, resnet):
        from torchvision.models._utils import IntermediateLayerGetter
        super().__init__()
        self.body = IntermediateLayerGetter(resnet, {"layer3": "0"})

    def forward(self, images):
        return self.body(images)


def last_stage_heads(stage, classes):
    """What makes torchvision's Mask R-CNN that on C4 (He et al. 2017): both heads share the ResNet's last stage."""
    from torchvision.models.detection import faster_rcnn, mask_rcnn
    from torchvision.models.detection.anchor_utils import AnchorGenerator
    from torchvision.ops import MultiScaleRoIAlign
    pool, features = MultiScaleRoIAlign(["0"], output_size=14, sampling_ratio=2), 2048
    box_head = torch.nn.Sequential(collections.OrderedDict(layer4=stage, mean=torch.nn.AdaptiveAvgPool2d(1)))
    return {"rpn_anchor_generator": AnchorGenerator(((32, 64, 128, 256, 512),), ((0.5, 1.0, 2.0),)),
            "box_roi_pool": pool, "box_head": box_head, "box_predictor": faster_rcnn.FastRCNNPredictor(features, classes),
            "mask_roi_pool": pool, "mask_head": stage, "mask_predictor": mask_rcnn.MaskRCNNPredictor(features, 256, classes)}


def own_size(case):
    """The image size for a transformer of patches, whose positions are for one size."""
    return {"vit_b_16": {"image_size": case.size}, "deit_small": {"img_size": case.size}}.get(case.name, {})


def build(case, dtype):
    """The model in training mode without dropout, weights by hash (running statistics as they start)."""
    if case.clicks:
        import click_network
        model = click_network.NETWORKS[case.network](**{key: size for key, size in case.clicks.items() if key != "bag_size"})
    elif case.videos:
        import attention_cluster
        import attention_lstm
        import nextvlad
        networks = {"nextvlad": nextvlad.NextVlad, "attention_cluster": attention_cluster.AttentionCluster,
                    "attention_lstm": attention_lstm.AttentionLstm}
        model = networks[case.name](case.classes, **case.videos)
    elif case.bert:
        model = text_model(case)
    elif case.reads_texts:
        import text_network
        model = (text_network.Crnn(case.classes, channels=16, units=64) if case.name.startswith("crnn") else
                 text_network.PpocrRecognizer(case.classes, channels=16, neck_channels=24, heads=4))
    elif case.finds_texts:
        import db_network
        model = (db_network.DbNet() if case.name.startswith("dbnet") else
                 db_network.PpocrDetector(channels=16, neck_channels=32))
    elif case.aligns:
        import pp_yoloe
        model = pp_yoloe.PpYoloe(case.classes, width=0.25)
    elif case.detects:
        model = mask_detector(case) if case.finds_masks else detector(case)
        set_frozen_norms(model)
    elif case.name.startswith("stnet"):
        import stnet
        model = stnet.Stnet(case.classes, case.frames // stnet.FRAMES)
    elif case.frames > 1:
        import segment_network
        model = segment_network.Recognizer(case.classes, case.frames)
    elif case.name in TIMM:
        import timm
        model = timm.create_model(TIMM[case.name], num_classes=case.classes, **own_size(case))
    elif case.pixels:
        import torchvision
        model = getattr(torchvision.models.segmentation, case.name)(weights=None, weights_backbone=None,
                                                                    num_classes=case.classes, aux_loss=True)
        for part in model.modules():
            if isinstance(part, torch.nn.Dropout):
                part.p = 0.0
    else:
        import torchvision
        model = getattr(torchvision.models, case.model or case.name)(num_classes=case.classes, **own_size(case))
        for part in model.modules():
            if isinstance(part, (torch.nn.Dropout, torchvision.ops.StochasticDepth)):
                part.p = 0.0
    if case.lora:
        import peft
        model = peft.get_peft_model(model, peft.LoraConfig(task_type="CAUSAL_LM", **case.lora))
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if not name.endswith(SINUSOIDS):
                parameter.copy_(weight(own_name(name), parameter.shape))
        if case.network == "transformer":  # no parameter, but a tensor of the file
            model.final_logits_bias.copy_(weight("final_logits_bias", model.final_logits_bias.shape))
    return model.to(dtype).train()


def own_name(name):
    """A parameter's name without what PEFT puts around it."""
    return name.removeprefix("base_model.model.").replace(".base_layer.", ".").replace(".default.", ".")


def get_logits(case, model, batch, step, dtype):
    if case.clicks:
        return model(batch["numbers"][step].to(dtype), batch["categories"][step].long())
    if case.videos:
        return model(*(batch[name][step].to(dtype) for name in ("rgb", "audio", "mask")))
    if case.network == "gpt2":  # blocks have no padding
        return model(input_ids=batch["input_ids"][step].long()).logits
    if case.network in SESSIONS:
        return model(batch["input_ids"][step].long())
    if case.network == "transformer":
        mask = torch.arange(case.size)[None, :] < batch["lengths"][step][:, None]
        return model(input_ids=batch["input_ids"][step].long(), attention_mask=mask.long(),
                     decoder_input_ids=batch["decoder_input_ids"][step].long(), use_cache=False).logits
    if case.network in LLAMAS:  # padding follows, so that no token reads it
        return model(input_ids=batch["input_ids"][step].long(), use_cache=False).logits
    if case.bert:
        mask = torch.arange(case.size)[None, :] < batch["lengths"][step][:, None]
        types = {} if case.name in ("distilbert", "roberta") else {"token_type_ids": batch["token_type_ids"][step].long()}
        if case.name == "roberta":  # not counted from ids, of which made-up ones may be the padding's
            types["position_ids"] = (torch.arange(case.size) + ROBERTA_FIRST_POSITION).expand(case.batch, -1)
        return model(input_ids=batch["input_ids"][step].long(), attention_mask=mask.long(), **types).logits
    if case.aligns:
        return predict_aligned(model, batch, step, dtype)[0]
    images = normalized(batch["images"][step], dtype)
    if case.finds_masks:
        return torch.cat([one["boxes"] for one in find_masks(model, images)])
    if case.detects:
        return detect(model, images)[1]["cls_logits"]
    return model(images)


def normalized(images, dtype):
    mean, deviation = torch.tensor([0.485, 0.456, 0.406], dtype=dtype), torch.tensor([0.229, 0.224, 0.225], dtype=dtype)
    return ((images.to(dtype) / 255 - mean) / deviation).permute(0, 3, 1, 2)


def predict_aligned(model, batch, step, dtype):
    """The logits of classes and of distances, of images that are not normalised."""
    return model((batch["images"][step].to(dtype) / 255).permute(0, 3, 1, 2))


def detect(model, images):
    """The feature maps and the heads' outputs, without the resizing that the model does first."""
    features = list(model.backbone(images).values())
    return features, model.head(features)


def get_detection_loss(case, model, batch, step, dtype):
    from torchvision.models.detection.image_list import ImageList
    images = normalized(batch["images"][step], dtype)
    features, outputs = detect(model, images)
    anchors = model.anchor_generator(ImageList(images, [images.shape[2:]] * len(images)), features)
    targets = [{"labels": objects[:, 0], "boxes": objects[:, 1:].to(dtype)} for objects in batch["objects"][step]]
    return sum(model.compute_loss(targets, outputs, anchors).values())


def draw_masks(objects, size):
    """The lower left half of each object's box: u8 [objects, size, size]."""
    at = torch.arange(size)
    masks = []
    for _, left, top, right, bottom in objects.tolist():
        down, across = at[:, None] - top, at[None, :] - left
        inside = (down >= 0) & (down < bottom - top) & (across >= 0) & (across < right - left)
        masks.append(inside & (down * (right - left) >= across * (bottom - top)))
    return torch.stack(masks).to(torch.uint8)


def listed(images):
    from torchvision.models.detection.image_list import ImageList
    return ImageList(images, [tuple(images.shape[2:])] * len(images))


def get_mask_loss(case, model, batch, step, dtype):
    images = normalized(batch["images"][step], dtype)
    features = model.backbone(images)
    targets = [{"labels": objects[:, 0] + 1, "boxes": objects[:, 1:].to(dtype), "masks": draw_masks(objects, case.size)}
               for objects in batch["objects"][step]]
    proposals, losses = model.rpn(listed(images), features, targets)
    return sum(losses.values()) + sum(model.roi_heads(features, proposals, listed(images).image_sizes, targets)[1].values())


def find_masks(model, images):
    """What is found in images: boxes, labels, scores and masks."""
    features = model.backbone(images)
    proposals, _ = model.rpn(listed(images), features)
    return model.roi_heads(features, proposals, listed(images).image_sizes)[0]


@torch.no_grad()
def find_objects(case):
    """Of the first batch, by the weights as they start: image, class, score, left, top, right, bottom and the mask's
    pixels."""
    from torchvision.models.detection.roi_heads import paste_masks_in_image
    images = normalized(batches(case)["images"][0], torch.float64)
    rows = []
    for image, found in enumerate(find_masks(build(case, torch.float64).eval(), images)):
        masks = paste_masks_in_image(found["masks"], found["boxes"], images.shape[2:]) > 0.5
        for label, score, box, mask in zip(found["labels"], found["scores"], found["boxes"], masks):
            rows.append([image, label.item() - 1, score.item(), *box.tolist(), mask.sum().item()])
    return rows


def get_loss(case, model, batch, step, dtype):
    if case.finds_masks:
        return get_mask_loss(case, model, batch, step, dtype)
    if case.aligns:
        import pp_yoloe
        return pp_yoloe.get_loss(predict_aligned(model, batch, step, dtype), batch["objects"][step], case.size)
    if case.detects:
        return get_detection_loss(case, model, batch, step, dtype)
    if case.finds_texts:
        import db_network
        maps = (batch[name][step].to(dtype) for name in ("text_map", "threshold_map"))
        return db_network.get_loss(*model(normalized(batch["images"][step], dtype)), *maps)
    logits = get_logits(case, model, batch, step, dtype)
    if case.reads_texts:
        import text_network
        return text_network.get_loss(logits, batch["characters"][step])
    if case.clicks:
        return torch.nn.functional.binary_cross_entropy_with_logits(logits[:, 0], batch["labels"][step].to(dtype))
    if case.videos:
        import nextvlad
        return nextvlad.get_loss(logits, batch["labels"][step].to(dtype))
    if case.network == "gpt2":  # not transformers' own loss, which is of logits in fp32
        ids = batch["input_ids"][step].long()
        return torch.nn.functional.cross_entropy(logits[:, :-1].flatten(0, 1), ids[:, 1:].flatten())
    if case.network == "transformer":
        ids, lengths = batch["decoder_input_ids"][step].long(), batch["decoder_lengths"][step][:, None]
        following = torch.cat([ids[:, 1:], torch.full_like(ids[:, :1], END)], dim=1)
        places = torch.arange(case.size)[None, :]
        following = following.masked_fill(places == lengths - 1, END).masked_fill(places >= lengths, IGNORED)
        return torch.nn.functional.cross_entropy(logits.flatten(0, 1), following.flatten(), ignore_index=IGNORED)
    if case.network in WITH_LENGTHS:
        ids = batch["input_ids"][step].long()
        beyond = torch.arange(1, case.size)[None, :] >= batch["lengths"][step][:, None]
        following = ids[:, 1:].masked_fill(beyond, IGNORED)
        return torch.nn.functional.cross_entropy(logits[:, :-1].flatten(0, 1), following.flatten(), ignore_index=IGNORED)
    if case.pixels:
        masks = batch["masks"][step].long()
        main, auxiliary = (torch.nn.functional.cross_entropy(logits[name], masks, ignore_index=IGNORED)
                           for name in ("out", "aux"))
        return main + 0.5 * auxiliary
    return torch.nn.functional.cross_entropy(logits, batch["labels"][step].long())


def make_optimizer(case, model):
    """Weight decay on matrices and filters only: not on what has one axis, beside those of length one."""
    settings = case.optimizer
    tables = getattr(model, "TABLES", ())
    parameters = [parameter for name, parameter in model.named_parameters()
                  if parameter.requires_grad and name not in tables]
    decayed = [sum(size > 1 for size in p.shape) > 1 for p in parameters]
    groups = [{"params": [p for p, decays in zip(parameters, decayed) if decays], "weight_decay": settings["weight_decay"]},
              {"params": [p for p, decays in zip(parameters, decayed) if not decays], "weight_decay": 0.0}]
    if settings["name"] == "adamw":
        return torch.optim.AdamW(groups, lr=settings["lr"], betas=(settings["beta1"], settings["beta2"]),
                                 eps=settings["epsilon"])
    return torch.optim.SGD(groups, lr=settings["lr"], momentum=settings["momentum"])


class LazyAdamW:
    """AdamW of the rows that a batch reads; the others and their moments stay (SparseAdam's rule, Paddle's lazy_mode)."""

    def __init__(self, case, model):
        self.settings, self.steps = case.optimizer, 0
        self.tables = [parameter for name, parameter in model.named_parameters() if name in getattr(model, "TABLES", ())]
        self.moments = [(torch.zeros_like(table), torch.zeros_like(table)) for table in self.tables]

    @torch.no_grad()
    def step(self, read, lr):
        self.steps += 1
        beta1, beta2 = self.settings["beta1"], self.settings["beta2"]
        rows = torch.unique(read.long())
        for table, (first, second) in zip(self.tables, self.moments):
            gradient = table.grad[rows]
            first[rows] = beta1 * first[rows] + (1 - beta1) * gradient
            second[rows] = beta2 * second[rows] + (1 - beta2) * gradient**2
            direction = first[rows] / (1 - beta1**self.steps) / (
                (second[rows] / (1 - beta2**self.steps)).sqrt() + self.settings["epsilon"])
            table[rows] = table[rows] * (1 - lr * self.settings["weight_decay"]) - lr * direction


def train(case, dtype):
    """(gradients of the first step by name, losses of all steps)."""
    model, batch = build(case, dtype), batches(case)
    optimizer, rows = make_optimizer(case, model), LazyAdamW(case, model)
    gradients, losses = {}, []
    for step, (_, _, lr_factor) in enumerate(case.steps):
        for group in optimizer.param_groups:
            group["lr"] = case.optimizer["lr"] * lr_factor
        loss = get_loss(case, model, batch, step, dtype)
        model.zero_grad(set_to_none=True)
        loss.backward()
        losses.append(loss.item())
        if step == 0:
            gradients = {own_name(name): parameter.grad.clone() for name, parameter in model.named_parameters()
                         if parameter.requires_grad}
        optimizer.step()
        if rows.tables:
            rows.step(batch["categories"][step], case.optimizer["lr"] * lr_factor)
    return gradients, losses


def relative_error(value, reference):
    """Relative L2 distance, in double precision."""
    value, reference = value.double(), reference.double()
    return ((value - reference).norm() / reference.norm().clamp_min(1e-300)).item()


def negligible(gradient, gradients):
    """A gradient that is zero but for rounding (an attention key's bias): its relative error says nothing."""
    largest = max(other.double().abs().max().item() for other in gradients.values())
    return gradient.double().abs().max().item() < 1e-7 * largest
