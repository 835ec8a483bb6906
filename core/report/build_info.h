// Version, commit and compiler of this ptrain.
#pragma once

#include "core/report/fields.h"

#include <string>

namespace ptrain {

struct BuildInfo {
  std::string version;     // "0.1.0"
  std::string commit;      // at build time; empty outside a git checkout
  std::string compiler;    // "GCC 12.2.0"
  std::string build_type;  // "Release"

  void describe(Fields& field) {
    field("version", version, "");
    field("commit", commit, "");
    field("compiler", compiler, "");
    field("build_type", build_type, "");
  }
};

/// Information on this build.
BuildInfo build_info();

}  // namespace ptrain
