// Criteo's click logs, memory-mapped: a line is parsed when a batch needs it.
#include "core/base/utf8.h"
#include "core/data/sources.h"
#include "core/data/table/criteo_line.h"
#include "core/data/table/line_index.h"
#include "core/data/tensor_names.h"
#include "core/io/mapped_file.h"

#include <array>
#include <filesystem>

namespace ptrain {
namespace {

namespace fs = std::filesystem;

fs::path find_click_file(const DataSettings& settings, Split split) {
  require_path(settings, "criteo");
  const bool train = split == Split::train;
  const std::string& name = train ? settings.train_file : settings.dev_file;
  fs::path path = fs::path(settings.path) / name;
  if (!fs::exists(path)) {
    fail("{}: not found; data.{} names the {} file below data.path", path.string(), train ? "train_file" : "dev_file",
         train ? "training" : "evaluation");
  }
  return path;
}

class CriteoDataset : public Dataset {
 public:
  CriteoDataset(const DataSettings& settings, Split split)
      : path_(find_click_file(settings, split).string()), file_(path_, Gzip::unpacked), lines_(view_text(file_)) {
    info_ = click_info(settings);
    if (lines_.size() == 0) fail("{}: has no lines", path_);
    file_.check();
    std::array<float, criteo_dense_features> numbers;
    std::array<std::int32_t, criteo_categorical_features> ids;
    parse(0, numbers, ids);  // rejects a file of another format before training
  }

  std::int64_t size() const override { return lines_.size(); }

  void load(std::int64_t index, SampleRandom, Scratch&, const SampleRow& out) const override {
    const std::int32_t label = parse(index, out.at<float>(tensor_names::dense_features),
                                     out.at<std::int32_t>(tensor_names::categorical_features));
    out.set(tensor_names::labels, label);
  }

  std::int32_t label(std::int64_t index) const override { return lines_[index].starts_with('1') ? 1 : 0; }

  SampleOrigin origin(std::int64_t index) const override { return {.file = path_, .line = index + 1}; }

 private:
  static std::string_view view_text(const MappedFile& file) {
    return without_byte_order_mark({reinterpret_cast<const char*>(file.bytes().data()), file.bytes().size()});
  }

  std::int32_t parse(std::int64_t index, std::span<float> numbers, std::span<std::int32_t> ids) const {
    const std::string_view line = lines_[index];
    file_.check();
    return parse_criteo_line(line, {path_, index + 1}, info_.hash_buckets, numbers, ids);
  }

  std::string path_;
  MappedFile file_;
  LineIndex lines_;
};

}  // namespace

DatasetInfo click_info(const DataSettings& settings) {
  constexpr int classes = 2;
  DatasetInfo info;
  info.kind = DataKind::table;
  info.classes = classes;
  info.class_names = numbered_classes(classes);
  info.dense_features = criteo_dense_features;
  info.categorical_features = criteo_categorical_features;
  info.hash_buckets = settings.hash_buckets;
  if (settings.classes != 0 && settings.classes != classes) {
    fail_usage("model.classes: clicks have {} classes, got {}", classes, settings.classes);
  }
  return info;
}

std::unique_ptr<Dataset> open_criteo(const DataSettings& settings, Split split) {
  return std::make_unique<CriteoDataset>(settings, split);
}

}  // namespace ptrain
