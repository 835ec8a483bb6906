// A checked configuration that knows where each value came from.
#pragma once

#include "core/config/config.h"

#include <map>
#include <string>
#include <vector>

namespace ptrain {

struct LoadedConfig {
  Config config;
  std::string file;  // as given
  std::map<std::string, std::string>
      origins;                     // by key: "default", "configs/x.yaml:14", "environment NAME", "command line"
  std::vector<std::string> notes;  // one line each, such as keys that are set but not read

  bool is_set(const std::string& key) const { return origins.at(key) != "default"; }
};

}  // namespace ptrain
