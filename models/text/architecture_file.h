// Sizes of text transformers: by name, or from transformers' config.json next to the weights.
#pragma once

#include "core/base/errors.h"
#include "core/config/config.h"
#include "core/data/dataset.h"
#include "core/ops/activation.h"

#include <nlohmann/json.hpp>

#include <filesystem>
#include <span>
#include <string_view>

namespace ptrain {

struct TransformerSize {
  std::string_view name;
  std::int64_t layers, hidden, heads;
};

/// The names of all sizes.
template <typename Size>
std::vector<std::string> list_names(std::span<const Size> sizes) {
  std::vector<std::string> names;
  for (const Size& size : sizes) names.emplace_back(size.name);
  return names;
}

/// Throws Error{usage}: the model has no size of that name, but those of `names`.
[[noreturn]] void fail_size(std::string_view name, const std::vector<std::string>& names);

/// With the layers, width and heads of the named size. Throws Error{usage} for a name that is not in `sizes`.
template <typename Spec>
Spec spec_of_size(std::span<const TransformerSize> sizes, std::string_view name) {
  for (const TransformerSize& size : sizes) {
    if (size.name != name) continue;
    Spec spec;
    spec.layers = size.layers;
    spec.hidden = size.hidden;
    spec.heads = size.heads;
    spec.intermediate = 4 * size.hidden;
    return spec;
  }
  fail_size(name, list_names(sizes));
}

/// The config.json next to the configured weights; empty if there is none.
std::filesystem::path find_architecture_file(const Config& config);

/// Throws Error{failed} where the file cannot be read or holds no object.
nlohmann::json read_architecture(const std::filesystem::path& config_json);

/// Throws Error{failed} naming `file` and `field` where it is missing or not a positive integer.
std::int64_t positive_integer(const nlohmann::json& json, const char* field, const std::filesystem::path& file);

/// The same for a number of layers, within a bound that no published model comes near: a damaged one takes hours.
std::int64_t read_layers(const nlohmann::json& json, const char* field, const std::filesystem::path& file);

/// The number or boolean of `field`; `otherwise` where it is missing or null. Throws Error{failed} naming `file` and
/// `field` where it is something else.
double number_or(const nlohmann::json& json, const char* field, double otherwise, const std::filesystem::path& file);
bool boolean_or(const nlohmann::json& json, const char* field, bool otherwise, const std::filesystem::path& file);

/// Throws Error{failed} if `field` has a value that is not `expected`: the file describes another network than `model`.
void require_field(const nlohmann::json& json, const char* field, const nlohmann::json& expected,
                   std::string_view model, const std::filesystem::path& file);

/// The activation that `value` of `field` names. Throws Error{failed} naming `file` and the supported ones.
Activation parse_activation(const nlohmann::json& value, const char* field, const std::filesystem::path& file);
std::string_view name_of_activation(Activation activation);

/// Throws Error{usage} if the embedding table has fewer than the vocabulary's number of rows.
void require_rows_for(const DatasetInfo& data, std::int64_t rows, const Config& config);

}  // namespace ptrain
