#include "core/data/factory.h"

#include "core/base/utf8.h"
#include "core/data/source_registry.h"
#include "core/data/sources.h"
#include "core/io/atomic_file.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <span>

namespace ptrain {

Augmentation resolve_augment(const DataSettings& settings, Split split, Augmentation natural) {
  if (split == Split::eval) return Augmentation::none;
  return settings.augment == Augmentation::automatic ? natural : settings.augment;
}

void require_path(const DataSettings& settings, std::string_view source) {
  if (settings.path.empty()) fail_usage("data source {} needs a path", source);
}

std::string listed(const std::vector<std::string>& names) {
  constexpr std::size_t most_listed = 10;
  const auto first = std::span(names).first(std::min(names.size(), most_listed));
  return fmt::format("{}{}", fmt::join(first, ", "), names.size() > most_listed ? ", ..." : "");
}

void require_classes(const DataSettings& settings, const std::vector<std::string>& names, std::string_view place) {
  if (settings.classes == 0 || settings.classes == static_cast<int>(names.size())) return;
  fail_usage("{}: has {} classes ({}), but model.classes is {}; without it the data's are used", place, names.size(),
             listed(names), settings.classes);
}

std::vector<std::string> numbered_classes(int classes) {
  std::vector<std::string> names;
  for (int i = 0; i < classes; ++i) names.push_back(std::to_string(i));
  return names;
}

std::vector<std::string> label_names(const DatasetInfo& info) {
  if (info.class_names == numbered_classes(info.classes)) return {};
  return info.class_names;
}

void set_clip_form(DatasetInfo& info, std::int64_t segments, int frames_per_segment) {
  info.frames = static_cast<int>(segments) * frames_per_segment;
  info.frames_per_segment = frames_per_segment;
}

DatasetInfo tokens_info(int max_length, int vocab_size) {
  DatasetInfo info;
  info.kind = DataKind::tokens;
  info.targets = {};
  info.max_length = max_length;
  info.vocab_size = vocab_size;
  info.classes = 1;
  info.class_names = {"next token"};
  return info;
}

DatasetInfo parallel_info(int max_length, int vocab_size, std::int32_t end_token) {
  DatasetInfo info = tokens_info(max_length, vocab_size);
  info.kind = DataKind::parallel;
  info.end_token = end_token;
  info.targets = {tensor_names::next_tokens};
  return info;
}

DatasetInfo video_info(int max_frames, int classes) {
  DatasetInfo info;
  info.kind = DataKind::video;
  info.targets = {tensor_names::multi_hot_labels};
  info.max_frames = max_frames;
  info.classes = classes;
  info.class_names = numbered_classes(classes);
  return info;
}

std::unique_ptr<Dataset> open_dataset(const DataSettings& settings, Split split) {
  std::unique_ptr<Dataset> opened = find_source_row(settings.source).open(settings, split);
  for (const std::string& name : opened->info().class_names) {
    if (!is_utf8(name)) fail("{}: the name of the class {} is no UTF-8; rename it", settings.path, quoted_name(name));
  }
  return opened;
}

}  // namespace ptrain
