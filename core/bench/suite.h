// A benchmark suite from its YAML file: a base configuration or a command, its cases, and the number of repeats.
//
//   name: flags                        # folder of the results
//   config: ../resnet50.yaml           # relative to this file
//   set: {train.steps: 40}             # for every case; dotted keys of the configuration
//   axes:                              # full factorial over these, or
//     amp.level: [O0, O1]
//   cases:                             # listed cases, each with what it sets, or with a command of its own
//     - {name: search off, set: {flags.cudnn_exhaustive_search: false}}
//     - {name: pytorch, command: python3 train.py, metric: 'images/s: ([0-9.]+)'}
//   repeats: 5                         # fresh processes per case
//
// suite_keys.h lists all keys.
#pragma once

#include "core/analysis/run_set.h"
#include "core/analysis/steady_state.h"
#include "core/bench/command_case.h"
#include "core/config/catalogs.h"
#include "core/yaml/load.h"
#include "core/yaml/yaml_tree.h"

#include <nlohmann/json.hpp>

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace ptrain {

struct BenchAxis {
  std::string key;                     // of the configuration, or a placeholder of a command
  std::string label;                   // its last part, where no other axis shares it
  std::vector<nlohmann::json> values;  // typed; the first is the base for effects
};

struct BenchCase {
  std::string name;                 // "level=O1,batch_size=32", or as listed
  std::string folder;               // name made usable as a folder name
  BenchCommand command;             // run instead of ptrain, unless its text is empty
  std::vector<Override> overrides;  // the suite's `set`, then the case's own, then the command line's
  nlohmann::json settings;          // the case's own, typed
  nlohmann::json work;              // keys that define it and differ from the defaults, by dotted name; or the command
  std::string config_hash;
  std::int64_t seed = 0;  // training seed at repeat 0
  bool evaluates = false;
  std::optional<PublishedValue> published = {};    // of the primary metric
  std::map<std::string, std::string> environment;  // added to this process's environment
  std::string at_once_with;                        // cases with the same value run at the same time; empty: alone
};

struct ConfidenceTarget {
  double percent = 1;             // half width of the interval of the median step time
  std::int64_t most_repeats = 0;  // upper bound
};

struct Suite {
  std::string name;
  std::string about;
  std::filesystem::path file;
  std::filesystem::path config;  // empty where every case is a command
  std::vector<BenchAxis> axes;   // empty when the cases are listed
  std::vector<BenchCase> cases;
  std::int64_t repeats = 5;
  std::int64_t seed = 1;
  bool vary_seed = false;
  double timeout_seconds = 600;
  SteadyRule steady;
  std::optional<ConfidenceTarget> confidence;

  /// Whether a case runs ptrain.
  bool runs_ptrain() const { return !config.empty(); }
};

/// A case with the values of `config`; the caller sets name, overrides and settings. Throws Error{usage} when it has
/// too few steps for a benchmark; `where` names it in the message.
BenchCase case_of_config(const Config& config, const std::string& where);

/// An axis of the command line: `--axis amp.level=O0,O1`.
struct AxisOption {
  std::string key;
  std::vector<std::string> values;  // as written
};

/// Splits "key=v1,v2" at commas outside of brackets. Throws Error{usage} for fewer than two values or a repeated one.
AxisOption parse_axis(std::string_view assignment);

/// Reads a suite and resolves the configuration of every case, so that errors appear before the first run. `extra`
/// overrides keys of every case. An axis of `axes` replaces the suite's axis of that key or is added, and the suite's
/// name gets its label. `file` may be a training configuration: then the axes, or without any the configuration alone,
/// form the suite, with a suite's defaults otherwise. Throws Error{usage}: "FILE:LINE: KEY: expected ..., got ...".
Suite load_suite(const std::filesystem::path& file, const Catalogs& catalogs, std::span<const Override> extra = {},
                 std::span<const AxisOption> axes = {});

/// A suite of one command, with an axis for each of its placeholders. Throws Error{usage}.
Suite command_suite(const BenchCommand& command, std::span<const AxisOption> axes, const Catalogs& catalogs);

/// Throws Error{usage} where seeds vary and a command has no {seed}.
void require_seed_placeholders(const Suite& suite);

/// Whether a document is a suite rather than a training configuration.
bool is_suite(const YamlValue& root);

}  // namespace ptrain
