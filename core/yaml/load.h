// Loads a YAML file, the environment and the command line into a checked Config that records where each value came
// from.
#pragma once

#include "core/config/catalogs.h"
#include "core/config/loaded_config.h"

#include <filesystem>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace ptrain {

/// One `key.path=value` of the command line.
struct Override {
  std::string key;
  std::string value;
  std::string spelled;  // as the user wrote it, for messages: "-o train.optimizer.lr=fast", "--seed 3"
};

/// Splits "key=value". Throws Error{usage} without an "=".
Override parse_override(std::string_view assignment, std::string_view option = "-o");
/// The same for each of them.
std::vector<Override> parse_overrides(const std::vector<std::string>& assignments, std::string_view option = "-o");

using Environment = std::function<std::optional<std::string>(const std::string& variable)>;
/// The process's environment.
std::optional<std::string> process_environment(const std::string& variable);

/// Applies default < file < environment < overrides, then checks across keys. `catalogs`: the names that may be used.
/// Throws Error{usage} with one line "FILE:LINE: KEY: expected ..., got ...".
LoadedConfig load_config(const std::filesystem::path& file, const Catalogs& catalogs,
                         std::span<const Override> overrides = {},
                         const Environment& environment = process_environment);
/// The same for text in memory; messages use `name` for the file.
LoadedConfig parse_config(std::string_view text, std::string_view name, const Catalogs& catalogs,
                          std::span<const Override> overrides = {},
                          const Environment& environment = process_environment);

}  // namespace ptrain
