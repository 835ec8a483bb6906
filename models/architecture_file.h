// What is read of transformers' config.json, which tells a model's sizes beside its weights.
#pragma once

#include "core/config/config.h"
#include "core/data/dataset.h"
#include "core/ops/activation.h"

#include <nlohmann/json.hpp>

#include <filesystem>
#include <string_view>

namespace ptrain {

/// Throws Error{failed} where the file cannot be read or holds no object.
nlohmann::json read_architecture(const std::filesystem::path& config_json);

/// Throws Error{failed} naming `file` and `field` where it is missing or is no integer from 1 on.
std::int64_t positive_integer(const nlohmann::json& json, const char* field, const std::filesystem::path& file);

/// The activation that `value` of `field` names. Throws Error{failed} naming `file` and those that are known.
Activation activation_of(const nlohmann::json& value, const char* field, const std::filesystem::path& file);
std::string_view name_of_activation(Activation activation);

/// Throws Error{usage} where an embedding table of `rows` has fewer than the data's vocabulary has entries.
void require_rows_for(const DatasetInfo& data, std::int64_t rows, const Config& config);

}  // namespace ptrain
