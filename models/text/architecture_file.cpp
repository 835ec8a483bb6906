#include "models/text/architecture_file.h"

#include "core/io/weights_file.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <fstream>

namespace ptrain {
namespace {

struct NamedActivation {
  std::string_view name;
  Activation activation;
};
constexpr std::array<NamedActivation, 8> named_activations{{{"gelu", Activation::gelu_erf},
                                                            {"gelu_python", Activation::gelu_erf},
                                                            {"gelu_new", Activation::gelu_tanh},
                                                            {"gelu_fast", Activation::gelu_tanh},
                                                            {"gelu_pytorch_tanh", Activation::gelu_tanh},
                                                            {"relu", Activation::relu},
                                                            {"silu", Activation::silu},
                                                            {"swish", Activation::silu}}};

}  // namespace

std::filesystem::path find_architecture_file(const Config& config) {
  const std::filesystem::path weights = find_weights_file(config.model.weights);
  const std::filesystem::path config_json = weights.parent_path() / "config.json";
  return !weights.empty() && std::filesystem::exists(config_json) ? config_json : std::filesystem::path{};
}

nlohmann::json read_architecture(const std::filesystem::path& config_json) {
  std::ifstream file(config_json);
  if (!file) {
    fail(
        "{}: cannot be read: expected transformers' config.json next to the weights (scripts/fetch_weights.sh fetches "
        "those that configs/ name)",
        config_json.string());
  }
  nlohmann::json json = nlohmann::json::parse(file, nullptr, false);
  if (!json.is_object()) fail("{}: is not a JSON object", config_json.string());
  if (json.contains("quantization_config") && !json.at("quantization_config").is_null()) {
    fail(
        "{}: quantization_config: quantised weights are not supported in this form; expected the unquantised model, or "
        "a .gguf file",
        config_json.string());
  }
  return json;
}

void fail_size(std::string_view name, const std::vector<std::string>& names) {
  fail_usage("model.size: unknown size \"{}\": expected one of {}", name, fmt::join(names, ", "));
}

std::int64_t positive_integer(const nlohmann::json& json, const char* field, const std::filesystem::path& file) {
  const auto it = json.find(field);
  if (it == json.end() || !it->is_number_integer() || it->get<std::int64_t>() < 1) {
    fail("{}: {}: expected a positive integer", file.string(), field);
  }
  return it->get<std::int64_t>();
}

std::int64_t read_layers(const nlohmann::json& json, const char* field, const std::filesystem::path& file) {
  constexpr std::int64_t most_layers = 2000;
  const std::int64_t layers = positive_integer(json, field, file);
  if (layers > most_layers) fail("{}: {}: expected at most {}, got {}", file.string(), field, most_layers, layers);
  return layers;
}

double number_or(const nlohmann::json& json, const char* field, double otherwise, const std::filesystem::path& file) {
  const auto it = json.find(field);
  if (it == json.end() || it->is_null()) return otherwise;
  if (!it->is_number()) fail("{}: {}: expected a number, got {}", file.string(), field, it->dump());
  return it->get<double>();
}

bool boolean_or(const nlohmann::json& json, const char* field, bool otherwise, const std::filesystem::path& file) {
  const auto it = json.find(field);
  if (it == json.end() || it->is_null()) return otherwise;
  if (!it->is_boolean()) fail("{}: {}: expected true or false, got {}", file.string(), field, it->dump());
  return it->get<bool>();
}

void require_field(const nlohmann::json& json, const char* field, const nlohmann::json& expected,
                   std::string_view model, const std::filesystem::path& file) {
  const auto found = json.find(field);
  if (found == json.end() || found->is_null() || *found == expected) return;
  fail("{}: {}: expected {}, which {} has, got {}: weights of another network", file.string(), field, expected.dump(),
       model, found->dump());
}

Activation parse_activation(const nlohmann::json& value, const char* field, const std::filesystem::path& file) {
  for (const NamedActivation& known : named_activations) {
    if (value == known.name) return known.activation;
  }
  fail("{}: {}: {}: expected gelu, gelu_new, gelu_fast, gelu_pytorch_tanh, relu or silu", file.string(), field,
       value.dump());
}

std::string_view name_of_activation(Activation activation) {
  const auto known = std::find_if(named_activations.begin(), named_activations.end(),
                                  [&](const NamedActivation& row) { return row.activation == activation; });
  return known->name;
}

void require_rows_for(const DatasetInfo& data, std::int64_t rows, const Config& config) {
  if (data.vocab_size <= rows) return;
  fail_usage("data.vocab: has {} entries, but the embedding table of {} has {} rows", data.vocab_size,
             config.model.weights.empty() ? config.model.entry.name : config.model.weights, rows);
}

}  // namespace ptrain
