// Keys of the model and its numerics: model, device, amp, flags.
#include "core/config/key_builder.h"
#include "core/config/key_tables.h"
#include "core/config/text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace ptrain {
namespace {

template <typename Member>
Key model_key(std::string name, Member member, std::string help) {
  return make_key("model." + std::move(name), std::move(help), &Config::model, member);
}
template <typename Member>
Key lora_key(std::string name, Member member, std::string help) {
  return make_key("model.lora." + std::move(name), std::move(help), &Config::model, &ModelConfig::lora, member);
}
template <typename Member>
Key amp_key(std::string name, Member member, std::string help) {
  return make_key("amp." + std::move(name), std::move(help), &Config::amp, member);
}
template <typename Member>
Key scaler_key(std::string name, Member member, std::string help) {
  return make_key("amp.scaler." + std::move(name), std::move(help), &Config::amp, &AmpConfig::scaler, member);
}
template <typename Member>
Key flag_key(std::string name, Member member, std::string help) {
  return make_key("flags." + std::move(name), std::move(help), &Config::flags, member);
}

}  // namespace

std::vector<Key> model_keys(const std::vector<ModelEntry>& models) {
  std::vector<std::string> names, other_names, tasks;
  std::vector<std::pair<std::string, std::string>> spellings;
  for (const ModelEntry& model : models) {
    names.push_back(model.name);
    if (model.tasks.size() > 1) tasks = model.tasks;
    for (const std::string& other : model.other_names) {
      other_names.push_back(other);
      spellings.emplace_back(lower_case(other), model.name);
    }
  }
  Key head =
      model_key("head", &ModelConfig::head,
                "task, for models that support several: classification, or regression of one value by mean squared "
                "error on a column of numbers");
  if (!tasks.empty()) head.one_of(tasks);
  return {
      make_key("model.name", fmt::format("model to train; aliases: {}", fmt::join(other_names, ", ")), &Config::model,
               &ModelConfig::entry, &ModelEntry::name)
          .one_of(names)
          .also_called(spellings)
          .must_be_set(),
      model_key("size", &ModelConfig::size, "size, unless given by the weights"),
      model_key("classes", &ModelConfig::classes, "number of classes; 0: as in the data").between(0, 1'000'000),
      head,
      model_key("stem", &ModelConfig::stem, "first layers; auto: small for images of at most 64x64 pixels"),
      model_key("blur_pool", &ModelConfig::blur_pool,
                "low-pass filter before downsampling (Zhang 2019), placed as in timm"),
      model_key("output_stride", &ModelConfig::output_stride,
                "pixels of an image per pixel of DeepLab's features, 8 or 16; 0: the model's own, 8 for V3 and 16 for "
                "V3+")
          .between(0, 16),
      model_key("zero_init_residual", &ModelConfig::zero_init_residual,
                "start each residual branch at zero (as torchvision's option of that name)"),
      model_key(
          "frozen_norms", &ModelConfig::frozen_norms,
          "a detector's batch norms keep the statistics, scales and offsets of model.weights; false to train them, "
          "as is needed without weights"),
      model_key("attention", &ModelConfig::attention,
                "flash: tiled, without the score matrix; flash_mask: as flash, with the CPU's dropout mask where flash "
                "leaves it "
                "to cuDNN; math: with the score matrix"),
      model_key("gelu", &ModelConfig::gelu,
                "erf is exact, tanh the approximation; auto: as the weights' config.json says, else erf"),
      model_key(
          "segments", &ModelConfig::segments,
          "segments of equal length per clip, with one frame read from each, or model.frames_per_segment; Wang et "
          "al. 2016 train with 3, stNet with 7")
          .between(1, 64),
      model_key("frames_per_segment", &ModelConfig::frames_per_segment,
                "successive frames read from each segment of a clip, stacked to one image of 3 channels for each")
          .between(1, 16),
      model_key("dropout", &ModelConfig::dropout, "dropout probability").at_least(0).below(1),
      model_key("attention_dropout", &ModelConfig::attention_dropout,
                "transformer: dropout probability of attention weights")
          .at_least(0)
          .below(1),
      model_key("norm_first", &ModelConfig::norm_first,
                "transformer: normalise what each branch reads (pre-norm), not the sums after them (post-norm)"),
      model_key(
          "stochastic_depth", &ModelConfig::stochastic_depth,
          "stochastic depth: probability that a sample skips the last residual branch; branch i of n: i / n of it")
          .at_least(0)
          .below(1),
      model_key("vocab_size", &ModelConfig::vocab_size, "number of token ids; 0: as in data.vocab")
          .between(0, 10'000'000),
      model_key(
          "weights", &ModelConfig::weights,
          "weights to start from: a safetensors file, an index of several, a folder with either, a GGUF file, or a "
          "pickle of PyTorch's or Paddle's; empty: "
          "random weights"),
      lora_key("rank", &LoraConfig::rank,
               "LoRA: rank of an adapter beside each of lora.targets, PEFT's r; all other weights are frozen; 0: no "
               "adapters")
          .between(0, 4096),
      lora_key("alpha", &LoraConfig::alpha, "adapters are scaled by alpha / rank; PEFT's lora_alpha").above(0),
      lora_key("dropout", &LoraConfig::dropout, "dropout probability of an adapter's input").at_least(0).below(1),
      lora_key("targets", &LoraConfig::targets,
               "layers with adapters, PEFT's target_modules: names such as q_proj, patterns of whole names with * and "
               "?, or all-linear: every linear layer but the head"),
      lora_key("rslora", &LoraConfig::rslora, "scale adapters by alpha / sqrt(rank)"),
      lora_key("weights", &LoraConfig::weights,
               "adapter to start from: a folder of PEFT's, whose adapter_config.json gives rank, alpha, targets and "
               "rslora; empty: a new one"),
      lora_key("base", &LoraConfig::base,
               "QLoRA, on the CPU: weights of frozen layers stay in blocks of 8 or 4 bits, stored: as the GGUF file of "
               "model.weights has them, or rounded to that format of ggml's; full: not in blocks"),
      model_key("weights_strict", &ModelConfig::weights_strict,
                "refuse weights of a network's body that the model has no place for, such as those of further layers")
          .no_work(),
      model_key("max_positions", &ModelConfig::max_positions, "longest sequence with position embeddings")
          .between(2, 65536),
      model_key("hash_buckets", &ModelConfig::hash_buckets,
                "rows of the embedding table for categorical features, which are indexed by hash: at most 2147483647, "
                "with model.dynamic_table on each rank")
          .between(1, 1'000'000'000'000),
      model_key("dynamic_table", &ModelConfig::dynamic_table,
                "each category has a row of its own, made when training first sees it; model.hash_buckets are then the "
                "most rows"),
      model_key("admit_after", &ModelConfig::admit_after,
                "with model.dynamic_table: a category gets a row at this occurrence in training")
          .between(1, 255),
      model_key("embedding_size", &ModelConfig::embedding_size, "embedding dimension of categorical features")
          .between(1, 4096),
      model_key("bag", &ModelConfig::bag, "sum or mean of the rows of a slot's keys, where there are data.slots"),
      make_key("device", "auto: cuda if this machine and this build have it; cuda:1: the second GPU", &Config::device),
      make_key("seed", "random seed of weights, shuffling, augmentation and dropout", &Config::seed)
          .between(0, 9007199254740992.0),
      make_key("threads", "CPU threads of all ranks together; 0: all cores, or the container's limit", &Config::threads)
          .between(0, 4096),
  };
}

std::vector<Key> numeric_keys() {
  return {
      amp_key(
          "level", &AmpConfig::level,
          "auto: O1 where measured to be faster on this machine, else O0; O0: fp32; O1: by op class; O2: everything "
          "in low precision, fp32 master weights"),
      amp_key("dtype", &AmpConfig::dtype, "auto: fp16 on cuda, bf16 on cpu, unless the other is measured to be faster"),
      amp_key("custom_white_list", &AmpConfig::custom_white_list,
              "ops to run in low precision in addition to the level's"),
      amp_key("custom_black_list", &AmpConfig::custom_black_list, "ops to keep in fp32 in addition to the level's"),
      scaler_key("enabled", &ScalerConfig::enabled, "loss scaling; auto: for fp16 only"),
      scaler_key("dynamic", &ScalerConfig::dynamic, "adapt the scale to overflows"),
      scaler_key("init", &ScalerConfig::init, "first loss scale").above(0),
      scaler_key("incr_ratio", &ScalerConfig::incr_ratio, "factor after a run of good steps").above(1),
      scaler_key("decr_ratio", &ScalerConfig::decr_ratio, "factor after overflows").above(0).below(1),
      scaler_key("incr_every_n_steps", &ScalerConfig::incr_every_n_steps, "good steps before an increase")
          .between(1, 1e9),
      scaler_key("decr_every_n_nan_or_inf", &ScalerConfig::decr_every_n_nan_or_inf, "overflows before a decrease")
          .between(1, 1e9),
      flag_key("cudnn_exhaustive_search", &FlagsConfig::cudnn_exhaustive_search,
               "time the candidate convolution algorithms and keep the fastest")
          .from_environment("FLAGS_cudnn_exhaustive_search"),
      flag_key("cudnn_batchnorm_spatial_persistent", &FlagsConfig::cudnn_batchnorm_spatial_persistent,
               "cuDNN's persistent batch norm; no effect on the CPU")
          .from_environment("FLAGS_cudnn_batchnorm_spatial_persistent"),
      flag_key("conv_workspace_size_limit", &FlagsConfig::conv_workspace_size_limit,
               "workspace limit of a convolution, in MiB")
          .between(0, 1'048'576),
      flag_key(
          "fp8", &FlagsConfig::fp8,
          "cuda: 16-bit products of linear layers in FP8, one scale for each operand, where measured to be faster; "
          "without cudnn_exhaustive_search wherever sizes allow it"),
      make_key("batch_norm_guard_every_steps",
               "cuda: steps between comparisons of persistent batch norms' statistics with plain ones; 0: never",
               &Config::batch_norm_guard_every_steps)
          .between(0, 1e9),
      make_key("tf32", "let fp32 convolutions and matrix products use TF32 on cuda", &Config::tf32),
      make_key("deterministic", "cuda: use only kernels with a fixed order of summation, as on the CPU",
               &Config::deterministic),
      make_key("cuda_graphs", "cuda: record a step's launches once and replay them", &Config::cuda_graphs),
      make_key("fusion", "full: fuse neighbouring ops, and norms into convolutions where faster; always: everywhere",
               &Config::fusion),
      make_key("memory_plan", "share memory between tensors with disjoint lifetimes", &Config::memory_plan),
  };
}

}  // namespace ptrain
