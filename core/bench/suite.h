// A benchmark suite from its YAML file: a base configuration, its cases, and the number of repeats.
//
//   name: flags                        # folder of the results
//   about: what the flags do           # printed above the table
//   config: ../resnet50.yaml           # relative to this file
//   set: {train.steps: 40}             # for every case; dotted keys of the configuration
//   axes:                              # full factorial over these, or
//     amp.level: [O0, O1]
//   cases:                             # listed cases, each with what it sets
//     - {name: search off, set: {flags.cudnn_exhaustive_search: false}}
//   repeats: 5                         # fresh processes per case
//   seed: 1                            # of the order of runs
//   vary_seed: false                   # true: repeat r trains with seed + r
//   timeout_seconds: 600               # per run
//   steady: {most_warmup_steps: 0, drift_percent: 10}
//   confidence: {target_percent: 1, most_repeats: 20}   # repeat until the interval of the median is this narrow
#pragma once

#include "core/analysis/steady_state.h"
#include "core/config/catalogs.h"
#include "core/yaml/load.h"

#include <nlohmann/json.hpp>

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace ptrain {

struct BenchAxis {
  std::string key;                     // of the configuration
  std::string label;                   // its last part, where no other axis shares it
  std::vector<nlohmann::json> values;  // typed; the first is the base for effects
};

struct BenchCase {
  std::string name;                 // "level=O1,batch_size=32", or as listed
  std::string folder;               // name made usable as a folder name
  std::vector<Override> overrides;  // the suite's `set`, then the case's own, then the command line's
  nlohmann::json settings;          // the case's own, typed
  nlohmann::json work;              // keys that define it and differ from the defaults, by dotted name
  std::string config_hash;
  std::int64_t seed = 0;  // training seed at repeat 0
  bool evaluates = false;
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
  std::filesystem::path config;
  std::vector<BenchAxis> axes;  // empty when the cases are listed
  std::vector<BenchCase> cases;
  std::int64_t repeats = 5;
  std::int64_t seed = 1;
  bool vary_seed = false;
  double timeout_seconds = 600;
  SteadyRule steady;
  std::optional<ConfidenceTarget> confidence;
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
/// name gets its label. With axes `file` may be a training configuration: then they form the suite, with a suite's
/// defaults otherwise. Throws Error{usage}: "FILE:LINE: KEY: expected ..., got ...".
Suite load_suite(const std::filesystem::path& file, const Catalogs& catalogs, std::span<const Override> extra = {},
                 std::span<const AxisOption> axes = {});

}  // namespace ptrain
