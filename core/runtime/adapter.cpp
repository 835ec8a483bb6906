#include "core/runtime/adapter.h"

#include "core/base/errors.h"
#include "core/base/parallel.h"
#include "core/config/keys.h"
#include "core/io/weights_file.h"
#include "core/model/adapter_names.h"
#include "core/report/json_file.h"
#include "core/runtime/weights.h"

#include <algorithm>
#include <map>
#include <set>

namespace ptrain {

using nlohmann::json;
namespace fs = std::filesystem;

namespace {

/// The layer's name in that of its adapter's A or B.
std::string layer_name(std::string_view tensor) { return std::string(tensor.substr(0, tensor.rfind(".lora_"))); }

/// One file's fields.
class Settings {
 public:
  explicit Settings(const fs::path& folder)
      : file_((folder / adapter_files::settings).string()), json_(read_json(folder / adapter_files::settings)) {
    if (!json_.is_object()) fail("{}: expected an object", file_);
  }

  bool has(const char* field) const { return json_.contains(field) && !json_.at(field).is_null(); }
  const json& at(const char* field) const {
    if (!has(field)) fail("{}: has no {}", file_, field);
    return json_.at(field);
  }
  /// Throws Error{failed} where `field` is there, with another value.
  void require(const char* field, const json& expected) const {
    if (has(field) && at(field) != expected)
      fail("{}: {}: expected {}, got {}", file_, field, expected.dump(), at(field).dump());
  }
  /// The same for what stands for nothing: null, false, {}, [] or "none".
  void require_none(const char* field) const {
    if (!has(field)) return;
    const json& value = at(field);
    const bool none = value == false || value == "none" || (value.is_structured() && value.empty());
    if (!none) fail("{}: {}: {} is not supported; expected none", file_, field, value.dump());
  }
  /// Throws Error{failed} for a method of initial values that changes the frozen weights, as PiSSA does.
  void require_plain_start() const {
    constexpr const char* field = "init_lora_weights";
    if (!has(field)) return;
    const json& value = at(field);
    const bool plain = value.is_boolean() || value == "gaussian" || value == "orthogonal";
    if (plain) return;
    fail(
        "{}: {}: {} is not supported: such adapters change the model's own weights too; expected true, or an adapter "
        "that PEFT converted (path_initial_model_for_weight_conversion)",
        file_, field, value.dump());
  }
  double positive(const char* field) const {
    if (!at(field).is_number() || !(at(field).get<double>() > 0)) {
      fail("{}: {}: expected a number above 0, got {}", file_, field, at(field).dump());
    }
    return at(field).get<double>();
  }
  std::int64_t rank() const {
    const json& value = at("r");
    const double largest = find_key("model.lora.rank")->maximum;
    if (!value.is_number_integer() || !(value.get<double>() >= 1) || value.get<double>() > largest) {
      fail("{}: r: expected an integer from 1 to {}, got {}", file_, largest, value.dump());
    }
    return value.get<std::int64_t>();
  }
  bool is_true(const char* field) const { return has(field) && at(field) == true; }
  std::vector<std::string> targets() const {
    const json& value = at("target_modules");
    const bool names =
        value.is_array() && !value.empty() && std::ranges::all_of(value, [](const json& v) { return v.is_string(); });
    if (names) return value.get<std::vector<std::string>>();
    if (value != LoraConfig::all_linear) {
      fail("{}: target_modules: expected a list of names or \"{}\", got {}", file_, LoraConfig::all_linear,
           value.dump());
    }
    return {LoraConfig::all_linear};
  }

 private:
  std::string file_;
  json json_;
};

fs::path find_adapter_weights(const fs::path& folder) {
  const fs::path current = folder / adapter_files::weights, older = folder / adapter_files::pickle;
  return !fs::exists(current) && fs::exists(older) ? older : current;
}

std::vector<WeightMapping> list_adapters(const Model& model) {
  std::vector<WeightMapping> mappings = model.weights();
  std::erase_if(mappings, [](const WeightMapping& m) { return m.part != WeightMapping::Part::adapter; });
  return mappings;
}

/// Last parts of the names of adapted layers; whole names where such a part names other layers too.
std::set<std::string> list_target_modules(const Model& model) {
  std::set<std::string> adapted, all;
  for (const WeightMapping& mapping : model.weights()) {
    if (mapping.part == WeightMapping::Part::adapter) {
      adapted.insert(layer_name(mapping.external));
    } else if (const auto layer = adapter_names::find_layer(mapping.external)) {
      all.insert(*layer);
    }
  }
  const auto last_part = [](const std::string& name) { return name.substr(name.rfind('.') + 1); };
  std::set<std::string> names;
  for (const std::string& layer : adapted) names.insert(last_part(layer));
  for (const std::string& layer : all) {
    if (names.contains(last_part(layer)) && !adapted.contains(layer)) return adapted;
  }
  return names;
}

json make_settings(const ModelArtifact& trained, const Model& model) {
  const LoraConfig& lora = trained.config.model.lora;
  const std::vector<WeightMapping> weights = model.weights();
  const bool transposed = std::ranges::any_of(
      weights, [](const WeightMapping& m) { return m.layout == WeightMapping::Layout::transposed; });
  return {{"peft_type", "LORA"},
          {"task_type", "CAUSAL_LM"},
          {"base_model_name_or_path", nullptr},
          {"r", lora.rank},
          {"lora_alpha", lora.alpha},
          {"lora_dropout", lora.dropout},
          {"target_modules", list_target_modules(model)},
          {"use_rslora", lora.rslora},
          {"use_dora", false},
          {"bias", "none"},
          {"fan_in_fan_out", transposed},
          {"inference_mode", true},
          {"init_lora_weights", true},
          {"modules_to_save", nullptr},
          {"layers_to_transform", nullptr},
          {"rank_pattern", json::object()},
          {"alpha_pattern", json::object()}};
}

/// Throws Error{usage} where `out` has an adapter that no earlier export wrote.
void require_free_adapter(const fs::path& out) {
  const fs::path weights = out / adapter_files::weights, settings = out / adapter_files::settings;
  const bool has_weights = fs::exists(weights);
  if (!has_weights && !fs::exists(settings)) return;
  try {
    if (has_weights && SafetensorsFile(weights).metadata() == own_metadata) return;
  } catch (const Error&) {  // damaged: not known to be an export's
  }
  fail_usage("--out {}: {} would be overwritten, and is not of an earlier export; choose another folder", out.string(),
             (has_weights ? weights : settings).string());
}

/// values += scale * B A, or its transpose.
void add_product(std::span<const float> a, std::span<const float> b, std::int64_t rank, double scale,
                 WeightMapping::Layout layout, std::span<float> values) {
  const std::int64_t inputs = static_cast<std::int64_t>(a.size()) / rank;
  const std::int64_t outputs = static_cast<std::int64_t>(b.size()) / rank;
  const bool transposed = layout == WeightMapping::Layout::transposed;
  parallel_for(outputs, 1, [&](std::int64_t begin, std::int64_t end) {
    std::vector<double> row(static_cast<std::size_t>(inputs));
    for (std::int64_t out = begin; out < end; ++out) {
      std::ranges::fill(row, 0.0);
      for (std::int64_t r = 0; r < rank; ++r) {
        const double factor = scale * static_cast<double>(b[static_cast<std::size_t>(out * rank + r)]);
        const auto from = a.subspan(static_cast<std::size_t>(r * inputs), row.size());
        for (std::size_t in = 0; in < row.size(); ++in) row[in] += factor * static_cast<double>(from[in]);
      }
      for (std::size_t in = 0; in < row.size(); ++in) {
        const auto at =
            transposed ? static_cast<std::int64_t>(in) * outputs + out : out * inputs + static_cast<std::int64_t>(in);
        float& value = values[static_cast<std::size_t>(at)];
        value = static_cast<float>(static_cast<double>(value) + row[in]);
      }
    }
  });
}

}  // namespace

/// The adapter's setting in place of the key's; an error where the key is set to another value.
template <typename T>
static void take_setting(T& value, const T& unset, T found, const char* key, const std::string& adapter) {
  if (value != unset && value != found) {
    fail_usage("model.lora.{}: is {}, but the adapter in {} has {} {}; leave it out", key, json(value).dump(), adapter,
               key, json(found).dump());
  }
  value = std::move(found);
}

void require_adapters(const ModelArtifact& trained) {
  if (!has_adapters(trained.config)) {
    fail_usage("{}: has no adapters; expected a model trained with model.lora.rank", trained.folder.string());
  }
}

void read_adapter_settings(LoraConfig& lora) {
  if (lora.weights.empty()) return;
  const Settings settings(lora.weights);
  settings.require("peft_type", "LORA");
  for (const char* field : {"use_dora", "bias", "modules_to_save", "rank_pattern", "alpha_pattern", "exclude_modules",
                            "layers_to_transform", "layers_pattern", "layer_replication", "trainable_token_indices",
                            "lora_bias", "target_parameters", "use_qalora", "alora_invocation_tokens", "corda_config",
                            "eva_config", "loftq_config", "arrow_config"}) {
    settings.require_none(field);
  }
  settings.require("task_type", "CAUSAL_LM");
  settings.require_plain_start();
  const LoraConfig unset;
  take_setting(lora.rank, unset.rank, settings.rank(), "rank", lora.weights);
  take_setting(lora.alpha, unset.alpha, settings.positive("lora_alpha"), "alpha", lora.weights);
  take_setting(lora.targets, unset.targets, settings.targets(), "targets", lora.weights);
  take_setting(lora.rslora, unset.rslora, settings.is_true("use_rslora"), "rslora", lora.weights);
}

void load_adapter(const fs::path& folder, const Model& model, Variables& variables) {
  const WeightsFile file(find_adapter_weights(folder));
  std::map<std::string_view, const NamedTensor*> tensors;
  for (const NamedTensor* tensor : file.tensors()) tensors[tensor->name] = tensor;
  for (const WeightMapping& mapping : list_adapters(model)) {
    const std::string name = adapter_files::prefix + mapping.external;
    const auto found = tensors.find(name);
    if (found == tensors.end()) fail("{}: has no tensor {}, which {} needs", file.path(), name, model.name());
    if (found->second->shape != mapping.external_shape) {
      fail("{}: {} has shape {}, expected {}", file.path(), name, found->second->shape.to_string(),
           mapping.external_shape.to_string());
    }
    read_tensor(*found->second, file.path(), mapping, variables);
    tensors.erase(found);
  }
  file.check();
  if (!tensors.empty()) {
    fail("{}: has {}, for which {} has no adapter: of another model?", file.path(), tensors.begin()->first,
         model.name());
  }
  refresh_low_precision(variables, LowPrecisionCopies::all);
}

void write_adapter(const ModelArtifact& trained, const Model& model, const fs::path& out) {
  require_adapters(trained);
  const SafetensorsFile file(trained.weights().file);
  std::vector<NamedTensor> tensors;
  for (const WeightMapping& mapping : list_adapters(model)) {
    tensors.push_back(file.at(mapping.external));
    tensors.back().name = adapter_files::prefix + mapping.external;
  }
  require_other_folder(trained, out);
  make_folder(out);
  const FolderLock lock(out);
  require_free_adapter(out);
  write_safetensors(out / adapter_files::weights, tensors, own_metadata);
  file.check();
  write_file_atomic(out / adapter_files::settings, make_settings(trained, model).dump(2) + "\n");
}

void write_merged(const ModelArtifact& trained, const Model& base, const fs::path& out) {
  require_adapters(trained);
  const LoraConfig& lora = trained.config.model.lora;
  const SafetensorsFile file(trained.weights().file);
  std::map<std::string, WeightMapping> mappings;
  std::vector<NamedTensor> tensors;
  for (const WeightMapping& mapping : base.weights()) {
    mappings[mapping.external] = mapping;
    tensors.push_back(file.at(mapping.external));
  }
  std::vector<float> values;
  write_safetensors(out / model_files::weights, tensors, file.metadata(), [&](const NamedTensor& tensor) {
    values = to_floats(file.at(tensor.name));
    if (const auto layer = adapter_names::find_layer(tensor.name)) {
      if (const NamedTensor* a = file.find(*layer + adapter_names::a)) {
        add_product(to_floats(*a), to_floats(file.at(*layer + adapter_names::b)), lora.rank, lora.scale(),
                    mappings.at(tensor.name).layout, values);
      }
    }
    return std::as_bytes(std::span<const float>(values));
  });
  file.check();
  ModelDocument document = trained.document;
  document.signature = base.signature();
  document.keys["model.lora.rank"] = 0;
  copy_with_weights(trained, std::move(document), out);
}

}  // namespace ptrain
