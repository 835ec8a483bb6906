#include "core/config/model_catalog.h"

#include "core/base/errors.h"
#include "core/config/config.h"

#include <algorithm>

namespace ptrain {

bool ModelEntry::reads_key(std::string_view key) const {
  return std::find(keys.begin(), keys.end(), key) != keys.end();
}

int frames_per_segment(const Config& config) {
  if (!config.model.entry.reads_key("model.frames_per_segment")) return 1;
  return static_cast<int>(config.model.frames_per_segment);
}

std::string task_name(const Config& config) {
  const std::vector<std::string>& tasks = config.model.entry.tasks;
  return tasks.size() > 1 ? config.model.head : tasks.front();
}

bool has_adapters(const Config& config) {
  return config.model.lora.rank > 0 && config.model.entry.reads_key("model.lora.rank");
}

SampleForm ModelEntry::form() const {
  switch (reads) {
    case DataKind::image:
      return reads_clips() ? SampleForm::clip : SampleForm::image;
    case DataKind::text:
      return SampleForm::text;
    case DataKind::table:
      return SampleForm::table;
    case DataKind::tokens:
      return SampleForm::tokens;
    case DataKind::parallel:
      return SampleForm::parallel;
    case DataKind::video:
      return SampleForm::video;
  }
  fail_invariant("a model reads no kind of data");
}

}  // namespace ptrain
