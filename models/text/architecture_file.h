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
  fail_usage("model.size: unknown size \"{}\": expected tiny, mini, small, medium, base or large", name);
}

/// The config.json next to the configured weights; empty if there is none.
std::filesystem::path find_architecture_file(const Config& config);

/// Throws Error{failed} where the file cannot be read or holds no object.
nlohmann::json read_architecture(const std::filesystem::path& config_json);

/// Throws Error{failed} naming `file` and `field` where it is missing or not a positive integer.
std::int64_t positive_integer(const nlohmann::json& json, const char* field, const std::filesystem::path& file);

/// Throws Error{failed} if `field` has a value that is not `expected`: the file describes another network than `model`.
void require_field(const nlohmann::json& json, const char* field, const nlohmann::json& expected,
                   std::string_view model, const std::filesystem::path& file);

/// The activation that `value` of `field` names. Throws Error{failed} naming `file` and the supported ones.
Activation parse_activation(const nlohmann::json& value, const char* field, const std::filesystem::path& file);
std::string_view name_of_activation(Activation activation);

/// Throws Error{usage} if the embedding table has fewer than the vocabulary's number of rows.
void require_rows_for(const DatasetInfo& data, std::int64_t rows, const Config& config);

}  // namespace ptrain
