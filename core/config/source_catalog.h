// What the configuration needs to know of data sources: their names, the samples each gives and the keys it reads. The
// table is in a higher layer, core/data/source_registry.cpp.
#pragma once

#include "core/config/config_enums.h"

#include <string>
#include <string_view>
#include <vector>

namespace ptrain {

/// A key that a source requires, and what it names.
struct RequiredKey {
  std::string name;
  std::string what;
};

struct DataSourceEntry {
  std::string name;                            // in data.source and reports
  std::vector<SampleForm> provides;            // of several, the model's form is used
  std::string help;                            // its files and their contents
  std::vector<std::string> keys = {};          // read by this source, but not by every other
  std::vector<RequiredKey> required = {};      // in addition to data.path, which is required if read
  bool can_split = false;                      // data.split.dev can hold out training samples for evaluation
  std::vector<std::string> targets{"labels"};  // target tensors that it can provide for a task

  bool reads_key(std::string_view key) const;
  bool provides_form(SampleForm form) const;
  /// Whether its samples can have all of `targets`.
  bool provides_targets(const std::vector<std::string>& targets) const;
  /// Whether its images are encoded, of which data.decoder decodes JPEG.
  bool has_encoded_images() const { return reads_key("data.decoder"); }
};

/// The names of the `sources` for which `fits` is true, in order.
template <typename Fits>
std::vector<std::string> list_names_where(const std::vector<DataSourceEntry>& sources, Fits fits) {
  std::vector<std::string> names;
  for (const DataSourceEntry& source : sources) {
    if (fits(source)) names.push_back(source.name);
  }
  return names;
}

}  // namespace ptrain
