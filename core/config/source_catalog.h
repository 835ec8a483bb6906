// What the configuration asks about data sources: their names, what samples each gives and which keys it reads. The
// table stands above, in core/data/registry.cpp.
#pragma once

#include "core/config/config_enums.h"

#include <string>
#include <string_view>
#include <vector>

namespace ptrain {

/// A key that a source cannot do without, and what it has to name.
struct RequiredKey {
  std::string name;
  std::string what;
};

struct DataSourceEntry {
  std::string name;                            // what data.source takes and reports say
  std::vector<SampleForm> gives;               // of several, the form that the model reads
  std::string help;                            // its files, and what lies in them
  std::vector<std::string> keys = {};          // read by this source, but not by every other
  std::vector<RequiredKey> required = {};      // besides data.path, which every source needs that reads it
  bool can_split = false;                      // data.split.dev takes a part of its training samples for evaluation
  std::vector<std::string> targets{"labels"};  // tensors that it can give for a task to learn

  bool reads_key(std::string_view key) const;
  bool gives_form(SampleForm form) const;
  /// Whether its samples can have all of `targets`.
  bool gives_targets(const std::vector<std::string>& targets) const;
  /// Whether its images are JPEG or PNG, which data.decoder decodes.
  bool has_encoded_images() const { return reads_key("data.decoder"); }
};

/// The names of those of `sources` that `fits` holds for, in order.
template <typename Fits>
std::vector<std::string> names_where(const std::vector<DataSourceEntry>& sources, Fits fits) {
  std::vector<std::string> names;
  for (const DataSourceEntry& source : sources) {
    if (fits(source)) names.push_back(source.name);
  }
  return names;
}

}  // namespace ptrain
