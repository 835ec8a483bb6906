// A checked configuration that knows where each value came from.
#pragma once

#include "core/config/config.h"

#include <map>
#include <string>
#include <vector>

namespace ptrain {

struct LoadedConfig {
  Config config;
  std::string file;  // as it was named
  std::map<std::string, std::string>
      origins;                     // by key: "default", "configs/x.yaml:14", "environment NAME", "command line"
  std::vector<std::string> notes;  // one line each: what was set and is not read, and the like

  bool is_set(const std::string& key) const { return origins.at(key) != "default"; }
};

}  // namespace ptrain
