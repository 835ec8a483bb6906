// What the configuration asks about models: their names and which keys each reads. The table stands above, in
// models/registry.cpp.
#pragma once

#include "core/base/data_kind.h"
#include "core/base/device_rates.h"
#include "core/config/config_enums.h"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ptrain {

/// What others came to with a model, and where they say so.
struct PublishedAccuracy {
  double top1 = 0;  // %
  std::string source;
  std::string data = "ImageNet";
};

struct ModelEntry {
  std::string name;                      // what model.name takes and reports say
  std::vector<std::string> other_names;  // taken too, in any case: those that the suite publishes
  std::string family;                    // as it is published
  DataKind reads = DataKind::image;
  std::vector<std::string> keys;       // read by this model, but not by every other
  std::vector<std::string> tasks;      // of core/tasks; of several model.head asks for one
  MainWork work = MainWork::products;  // by whose rates low precision is advised
  std::string weights = {};  // the library whose names its weights bear in files, and its model where named apart
  std::optional<PublishedAccuracy> published = {};

  bool reads_key(std::string_view key) const;
  /// Whether a sample is a clip of several frames, not one image.
  bool reads_clips() const { return reads_key("model.segments"); }
  /// What a sample is that it reads.
  SampleForm form() const;
};

struct Config;
/// The name of the task that is trained: the model's, or the one that model.head stands for.
std::string task_name(const Config& config);

}  // namespace ptrain
