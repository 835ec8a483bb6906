// Click logs, memory-mapped: a line is parsed when a batch needs it.
#include "core/base/utf8.h"
#include "core/config/config.h"
#include "core/data/sources.h"
#include "core/data/table/criteo_line.h"
#include "core/data/table/line_index.h"
#include "core/data/table/slots_line.h"
#include "core/data/tensor_names.h"
#include "core/io/mapped_file.h"

#include <filesystem>

namespace ptrain {
namespace {

namespace fs = std::filesystem;

/// Writes a line's features and returns its label.
using ParseLine = std::int32_t (*)(std::string_view line, const LinePlace& place, const DatasetInfo& info,
                                   std::span<float> numbers, const CategoryIds& ids);

fs::path find_click_file(const DataSettings& settings, Split split) {
  require_path(settings, settings.source);
  const bool train = split == Split::train;
  const std::string& name = train ? settings.train_file : settings.dev_file;
  fs::path path = fs::path(settings.path) / name;
  if (!fs::exists(path)) {
    fail("{}: not found; data.{} names the {} file below data.path", path.string(), train ? "train_file" : "dev_file",
         train ? "training" : "evaluation");
  }
  return path;
}

class ClickDataset : public Dataset {
 public:
  ClickDataset(const DataSettings& settings, Split split, ParseLine parse_line)
      : path_(find_click_file(settings, split).string()),
        file_(path_, PackedFile::unpacked),
        lines_(view_text(file_)),
        parse_line_(parse_line) {
    info_ = click_info(settings);
    if (lines_.size() == 0) fail("{}: has no lines", path_);
    file_.check();
    std::vector<float> numbers(static_cast<std::size_t>(info_.dense_features));
    std::vector<std::int64_t> keys(count_ids(info_));
    parse(0, numbers, CategoryIds(keys));  // rejects a file of another format before training
  }

  std::int64_t size() const override { return lines_.size(); }

  void load(std::int64_t index, SampleRandom, Scratch&, const SampleRow& out) const override {
    const std::span<float> numbers =
        info_.dense_features > 0 ? out.at<float>(tensor_names::dense_features) : std::span<float>();
    const std::int32_t label = parse(index, numbers, get_ids(out, info_));
    out.set(tensor_names::labels, label);
  }

  void prefetch(std::int64_t index) const override { lines_.prefetch(index); }

  std::int32_t label(std::int64_t index) const override {
    const std::string_view line = lines_[index];
    const std::string_view rest = line.substr(std::min(line.find_first_not_of(" \t"), line.size()));
    return rest.starts_with('1') || rest.starts_with("+1") ? 1 : 0;
  }

  SampleOrigin origin(std::int64_t index) const override { return {.file = path_, .line = index + 1}; }

 private:
  static std::string_view view_text(const MappedFile& file) {
    return without_byte_order_mark({reinterpret_cast<const char*>(file.bytes().data()), file.bytes().size()});
  }

  std::int32_t parse(std::int64_t index, std::span<float> numbers, const CategoryIds& ids) const {
    constexpr std::int64_t lines_per_check = 64;  // a system call takes as long as a line
    try {
      const std::int32_t label = parse_line_(lines_[index], {path_, index + 1}, info_, numbers, ids);
      file_.check_bytes();
      if (index % lines_per_check == 0) file_.check();
      return label;
    } catch (const BadSample&) {
      file_.check();  // which then is what is wrong
      throw;
    }
  }

  std::string path_;
  MappedFile file_;
  LineIndex lines_;
  ParseLine parse_line_;
};

}  // namespace

void set_click_settings(DataSettings& settings, const Config& config) {
  settings.hash_buckets = config.model.hash_buckets;
  settings.dynamic_table = config.model.dynamic_table;
  settings.slots = static_cast<int>(config.data.slots);
  settings.bag_size = static_cast<int>(config.data.bag_size);
  settings.dense_features = static_cast<int>(config.data.dense_features);
}

void set_click_features(DatasetInfo& info, const DataSettings& settings) {
  const bool has_slots = settings.slots > 0;
  info.dense_features = has_slots ? settings.dense_features : criteo_dense_features;
  info.categorical_features = has_slots ? settings.slots : criteo_categorical_features;
  info.bag_size = has_slots ? settings.bag_size : 0;
  info.hash_buckets = settings.hash_buckets;
  info.dynamic_table = settings.dynamic_table;
}

DatasetInfo click_info(const DataSettings& settings) {
  constexpr int classes = 2;
  DatasetInfo info;
  info.kind = DataKind::table;
  info.classes = classes;
  info.class_names = numbered_classes(classes);
  set_click_features(info, settings);
  if (settings.classes != 0 && settings.classes != classes) {
    fail_usage("model.classes: clicks have {} classes, got {}", classes, settings.classes);
  }
  return info;
}

std::unique_ptr<Dataset> open_criteo(const DataSettings& settings, Split split) {
  if (settings.slots > 0) fail_usage("data.slots: expected 0 with data.source criteo, got {}", settings.slots);
  const ParseLine parse_line = [](std::string_view line, const LinePlace& place, const DatasetInfo&,
                                  std::span<float> numbers,
                                  const CategoryIds& ids) { return parse_criteo_line(line, place, numbers, ids); };
  return std::make_unique<ClickDataset>(settings, split, parse_line);
}

std::unique_ptr<Dataset> open_slots(const DataSettings& settings, Split split) {
  if (settings.slots < 1) fail_usage("data.slots: expected 1 or more with data.source slots, got {}", settings.slots);
  return std::make_unique<ClickDataset>(settings, split, parse_slots_line);
}

}  // namespace ptrain
