#include "cli/deploy_arguments.h"

#include "cli/choice_option.h"
#include "cli/open_device.h"
#include "cli/program_catalogs.h"
#include "cli/shipped.h"
#include "core/runtime/weights.h"
#include "core/yaml/load.h"
#include "models/model_registry.h"

namespace ptrain {

enum class CacheDtype { automatic, fp32, bf16, fp16, int8 };
template <>
struct EnumNames<CacheDtype> {
  static constexpr std::array<std::string_view, 5> names{"auto", "fp32", "bf16", "fp16", "int8"};
};

namespace {

std::filesystem::path find_model_folder(const std::string& argument) {
  const std::string suffix = std::filesystem::path(argument).extension().string();
  if (suffix != ".yaml" && suffix != ".yml") return argument;
  return load_config(shipped_file(argument), catalogs()).config.output.dir;
}

}  // namespace

LoadedModel open_model(const std::string& argument) {
  return open_model(find_model_folder(argument), catalogs().models(), make_model);
}

void add_column_options(CLI::App& command, InferenceDataOptions& options) {
  command.add_option("--column", options.column, "tables: column of the sentences, named as in the first row")
      ->type_name("NAME");
  command.add_option("--label-column", options.label_column, "tables: column of the labels, named as in the first row")
      ->type_name("NAME");
}

void add_search_options(CLI::App& command, SearchOptions& search, const std::string& group) {
  command.add_option("--beams", search.beams, "beams of the search; 1: always the most likely token")
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{100}))
      ->capture_default_str()
      ->group(group);
  command
      .add_option("--length-penalty", search.length_penalty,
                  "power of a translation's number of tokens that its log probability is divided by")
      ->check(in_range(0.0, 10.0))
      ->capture_default_str()
      ->group(group);
}

CLI::Option* add_cache_option(CLI::App& command, std::string& dtype) {
  return command
      .add_option("--kv-cache-dtype", dtype,
                  "precision in which a text's keys and values are kept; auto: as --amp; int8, on the CPU: integers "
                  "with a step for "
                  "each head of a token")
      ->capture_default_str()
      ->type_name("auto|fp32|bf16|fp16|int8");
}

DType cache_dtype(const AmpOptions& amp, const std::string& dtype) {
  switch (parse_choice<CacheDtype>("--kv-cache-dtype", dtype)) {
    case CacheDtype::automatic:
      return amp.level == AmpLevel::O0 ? DType::f32 : amp.dtype;
    case CacheDtype::fp32:
      return DType::f32;
    case CacheDtype::bf16:
      return DType::bf16;
    case CacheDtype::fp16:
      return DType::f16;
    case CacheDtype::int8:
      return DType::s8;
  }
  return DType::f32;
}

void DeployArguments::add_to(CLI::App& command) {
  command
      .add_option("MODEL", model,
                  "folder of a run or of ptrain export, or the run's configuration; or a GGUF file of a language model")
      ->required();
  command
      .add_option("--adapter", adapter, "LoRA adapter for the model, as PEFT or ptrain export --format peft writes it")
      ->type_name("DIR");
  command.add_option("--device", device, "device to run on; cuda:1: the second GPU")
      ->capture_default_str()
      ->type_name("auto|cpu|cuda");
  command.add_option("--amp", amp, "precision, as in training")->capture_default_str()->type_name("O0|O1|O2");
  command
      .add_option(
          "--weights", weights,
          "weights of a language model's layers: in full, or in ggml's blocks of 8 or 4 bits, on the CPU; auto: "
          "as a GGUF file has them, else in full")
      ->capture_default_str()
      ->type_name("auto|full|q8_0|q4_0|q4_1");
  command
      .add_option("--max-length", max_length,
                  "GGUF file: most tokens of a text; default: 2048, or the file's context where that is shorter")
      ->check(CLI::Range(std::int64_t{2}, std::int64_t{1} << 24));
  command.add_option("--batch", batch, "inputs computed at once")
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{65536}))
      ->capture_default_str();
}

std::unique_ptr<Backend> DeployArguments::make_backend() const {
  return ptrain::make_backend(device_of_option("--device", device));
}

LoadedModel DeployArguments::open() const {
  const bool is_gguf = std::filesystem::path(model).extension() == ".gguf";
  if (!is_gguf && max_length > 0) fail_usage("--max-length: is for a GGUF file; {} has its data.max_length", model);
  LoadedModel opened = is_gguf ? open_gguf(model, max_length, gguf_model_entries(), make_model) : open_model(model);
  if (!adapter.empty()) add_adapter(opened, adapter, make_model);
  return opened;
}

BlockFormats DeployArguments::block_weights(const LoadedModel& opened, Backend& backend) const {
  const bool reads_blocks = backend.kernels().reads_block_weights();
  if (weights == "auto") {
    const std::filesystem::path& file = opened.trained.gguf;
    return reads_blocks && !file.empty() ? find_block_formats(file, *opened.model) : BlockFormats();
  }
  if (weights == "full") return {};
  const auto format = choice_from_name<BlockFormat>(weights);
  if (!format || !is_rounded(*format)) {
    std::vector<std::string_view> names;
    for (const BlockFormat rounded : rounded_block_formats) names.push_back(enum_name(rounded));
    fail_usage("--weights: expected auto|full|{}, got \"{}\"", fmt::join(names, "|"), weights);
  }
  if (!reads_blocks) fail_usage("--weights: expected full: {} is for the CPU (--device cpu)", weights);
  if (opened.task->predicts_samples()) {
    fail_usage("--weights: expected full: {} is no language model (ptrain quantize makes its layers 8-bit ones)",
               model);
  }
  return choose_block_format(*format);
}

DeployOptions DeployArguments::deploy_options(const LoadedModel& opened, Backend& backend) const {
  DeployOptions options;
  options.batch_size = batch;
  options.max_length = opened.trained.data.max_length;
  options.amp.level = parse_choice<AmpLevel>("--amp", amp);
  options.amp.dtype = backend.kernels().preferred_low_precision();
  options.block_weights = block_weights(opened, backend);
  return options;
}

}  // namespace ptrain
