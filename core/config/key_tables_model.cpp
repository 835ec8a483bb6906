// Keys of what is trained and on which numerics: model, device, amp, flags.
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
  Key head = model_key("head", &ModelConfig::head,
                       "the task, of models that serve several: a class of some, or one value, trained by mean squared "
                       "error on a column of numbers");
  if (!tasks.empty()) head.one_of(tasks);
  return {
      make_key("model.name", fmt::format("what to train; the suite's names {} too", fmt::join(other_names, ", ")),
               &Config::model, &ModelConfig::entry, &ModelEntry::name)
          .one_of(names)
          .also_called(spellings)
          .must_be_set(),
      model_key("size", &ModelConfig::size, "size when no weights say otherwise"),
      model_key("classes", &ModelConfig::classes, "number of classes; 0: as many as the data has")
          .between(0, 1'000'000),
      head,
      model_key("stem", &ModelConfig::stem, "first layers; auto: small for images of no more pixels than 64x64"),
      model_key("blur_pool", &ModelConfig::blur_pool,
                "a low-pass filter before pixels are left out (Zhang 2019), as timm places it"),
      model_key("zero_init_residual", &ModelConfig::zero_init_residual,
                "start each residual branch as nothing (torchvision's option of that name)"),
      model_key(
          "attention", &ModelConfig::attention,
          "flash: tiled, without the score matrix; flash_mask: dropping what the CPU drops where flash leaves that "
          "to cuDNN; math: plain"),
      model_key("gelu", &ModelConfig::gelu, "erf is exact, tanh the approximation"),
      model_key("segments", &ModelConfig::segments,
                "equal parts of a clip that a frame is read of each; 3 as Wang et al. 2016 train with")
          .between(1, 64),
      model_key("dropout", &ModelConfig::dropout, "dropout probability").at_least(0).below(1),
      model_key("stochastic_depth", &ModelConfig::stochastic_depth,
                "probability that a sample skips the last residual branch; branch i of n: i / n of it")
          .at_least(0)
          .below(1),
      model_key("vocab_size", &ModelConfig::vocab_size, "token ids; 0: as data.vocab has").between(0, 10'000'000),
      model_key("weights", &ModelConfig::weights, "safetensors file to start from; empty: random weights"),
      model_key("max_positions", &ModelConfig::max_positions, "longest sequence there are positions for")
          .between(2, 65536),
      model_key("hash_buckets", &ModelConfig::hash_buckets,
                "rows of the table that a click's words, numbered by hash, are looked up in")
          .between(1, 2147483647),
      model_key("embedding_size", &ModelConfig::embedding_size, "numbers that a click's word is looked up as")
          .between(1, 4096),
      make_key("device", "auto: cuda when a GPU is there and this build has it; cuda:1: of several GPUs the second",
               &Config::device),
      make_key("seed", "of weights, shuffling, augmentation and dropout", &Config::seed).between(0, 9007199254740992.0),
      make_key("threads", "CPU threads of all ranks together; 0: all cores, or what a container grants",
               &Config::threads)
          .between(0, 4096),
  };
}

std::vector<Key> numeric_keys() {
  return {
      amp_key(
          "level", &AmpConfig::level,
          "auto: O1 where this machine is measured to be faster so, else O0; O0: fp32; O1: by op class; O2: everything "
          "low, fp32 master weights"),
      amp_key("dtype", &AmpConfig::dtype,
              "auto: fp16 on cuda, bf16 on cpu, the other where it is measured to be faster"),
      amp_key("custom_white_list", &AmpConfig::custom_white_list, "ops to run in low precision besides the level's"),
      amp_key("custom_black_list", &AmpConfig::custom_black_list, "ops to keep in fp32 besides the level's"),
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
               "MiB a convolution may use to work in")
          .between(0, 1'048'576),
      make_key("batch_norm_guard_every_steps",
               "cuda: every so many steps, compare persistent batch norms' statistics with plain ones; 0: never",
               &Config::batch_norm_guard_every_steps)
          .between(0, 1e9),
      make_key("tf32", "let fp32 convolutions and products use TF32 on cuda", &Config::tf32),
      make_key("deterministic", "cuda: only kernels that add in a fixed order; the CPU always does",
               &Config::deterministic),
      make_key("cuda_graphs", "cuda: record a step's launches once and replay them", &Config::cuda_graphs),
      make_key("fusion",
               "full: merge neighbouring ops, norms into convolutions where that is faster; always: there too",
               &Config::fusion),
      make_key("memory_plan", "share memory between tensors that do not live together", &Config::memory_plan),
  };
}

}  // namespace ptrain
