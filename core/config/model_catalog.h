// What the configuration needs to know of models: their names and the keys that each reads. The table is in a higher
// layer, models/model_registry.cpp.
#pragma once

#include "core/base/data_kind.h"
#include "core/base/device_rates.h"
#include "core/config/config_enums.h"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ptrain {

/// Accuracy of a published model, and its source.
struct PublishedAccuracy {
  double top1 = 0;  // %
  std::string source;
  std::string data = "ImageNet";
};

struct ModelEntry {
  std::string name;                      // in model.name and reports
  std::vector<std::string> other_names;  // aliases, in any case: those of published benchmark suites
  std::string family;                    // as published
  DataKind reads = DataKind::image;
  std::vector<std::string> keys;       // read by this model, but not by every other
  std::vector<std::string> tasks;      // of core/tasks; model.head selects one of several
  MainWork work = MainWork::products;  // whose rates decide on low precision
  std::string weights = {};            // library whose weight names files use, with its model's name if different
  std::optional<PublishedAccuracy> published = {};
  std::vector<std::string> sizes = {};  // that model.size may name

  bool reads_key(std::string_view key) const;
  /// Whether a sample is a clip of several frames rather than one image.
  bool reads_clips() const { return reads_key("model.segments"); }
  /// The form of the samples that it reads.
  SampleForm form() const;
};

struct Config;
/// Successive frames that the model reads from each segment of a clip.
int frames_per_segment(const Config& config);
/// Name of the task to train: the model's only one, or the one selected by model.head.
std::string task_name(const Config& config);
/// Whether the model has adapters beside frozen weights.
bool has_adapters(const Config& config);

}  // namespace ptrain
