// Images in WebDataset and TFRecord shards. Each is read in place when loaded, so that epochs are as random, and memory
// use as constant, as with a folder of images.
#include "core/data/image/image_transform.h"
#include "core/data/shards/shard_classes.h"
#include "core/data/shards/shard_files.h"
#include "core/data/shards/shard_index.h"
#include "core/data/shards/tf_record.h"
#include "core/data/shards/web_dataset.h"
#include "core/data/sources.h"
#include "core/data/split.h"
#include "core/data/tensor_names.h"
#include "core/io/atomic_file.h"

#include <algorithm>
#include <tuple>

namespace ptrain {
namespace {

namespace fs = std::filesystem;

class ShardedImages : public Dataset {
 public:
  ShardedImages(const DataSettings& settings, Split split, const ShardForm& form)
      : form_(form),
        shards_(require_shards(settings.path, has_dev_split(settings) ? Split::train : split, form)),
        transform_(photo_transform(settings, split)) {
    refuse_shards_to_evaluate(settings);
    ShardIndex index = index_shards(shards_, form);
    const bool has_all = split == Split::train || has_dev_split(settings);
    const ShardClasses classes(has_all ? index : index_shards(require_shards(settings.path, Split::train, form), form),
                               settings, settings.path);
    const bool noted = has_dev_split(settings) && split == Split::eval;  // the training split has the note already
    for (const std::string& note : {missing_shards(shards_), has_all ? classes.note() : std::string()}) {
      if (!note.empty() && !noted) notes_.push_back(note);
    }
    samples_ = std::move(index.samples);
    identities_ = std::move(index.shards);
    number(index.labels, classes);
    if (has_dev_split(settings)) keep_part(settings, split);
    info_ = photo_info(settings, classes.names(), settings.path);
  }

  std::int64_t size() const override { return static_cast<std::int64_t>(samples_.size()); }

  void load(std::int64_t index, SampleRandom random, Scratch& scratch, const SampleRow& out) const override {
    const ShardSample& sample = samples_[static_cast<std::size_t>(index)];
    read_shard_sample(shards_[sample.shard], identities_[sample.shard], sample, scratch.file);
    const std::string place = describe_place(sample);
    transform_.in_form(out.form())
        .apply_encoded(form_.image_in(scratch.file, place), place, random, scratch,
                       out.at<std::uint8_t>(tensor_names::images));
    out.set<std::int32_t>(tensor_names::labels, sample.label);
  }

  std::int32_t label(std::int64_t index) const override { return samples_[static_cast<std::size_t>(index)].label; }
  SampleOrigin origin(std::int64_t index) const override {  // an archive's member is shown as if the archive were a
                                                            // folder
    const ShardSample& sample = samples_[static_cast<std::size_t>(index)];
    const fs::path& shard = shards_[sample.shard];
    return {.file = (sample.name.empty() ? shard : shard / sample.name).string()};
  }

 private:
  void refuse_shards_to_evaluate(const DataSettings& settings) const {
    if (!has_dev_split(settings)) return;
    const std::vector<fs::path> others = find_shards(settings.path, Split::eval, form_.is_shard);
    if (!others.empty()) reject_dev_split(others.front());
  }

  std::string describe_place(const ShardSample& sample) const {
    return fmt::format("{}: byte {}{}", shards_[sample.shard].string(), sample.offset,
                       sample.name.empty() ? "" : ": " + quoted_name(sample.name));
  }

  /// Replaces labels by classes, and sorts samples as in a folder: by class and name.
  void number(const std::vector<ShardLabel>& labels, const ShardClasses& classes) {
    constexpr std::int32_t unknown = -1;
    std::vector<std::int32_t> numbers(labels.size(), unknown);
    for (ShardSample& sample : samples_) {
      const auto label = static_cast<std::size_t>(sample.label);
      if (numbers[label] == unknown) numbers[label] = classes.class_index(labels[label], describe_place(sample));
      sample.label = numbers[label];
    }
    std::sort(samples_.begin(), samples_.end(), [](const ShardSample& a, const ShardSample& b) {
      return std::tie(a.label, a.name, a.shard, a.offset) < std::tie(b.label, b.name, b.shard, b.offset);
    });
  }

  void keep_part(const DataSettings& settings, Split split) {
    std::vector<std::int32_t> labels;
    for (const ShardSample& sample : samples_) labels.push_back(sample.label);
    samples_ = gathered(std::move(samples_), select_stratified_split(labels, settings, split, settings.path));
  }

  const ShardForm& form_;
  std::vector<fs::path> shards_;
  std::vector<FileIdentity> identities_;  // of the shards
  ImageTransform transform_;
  std::vector<ShardSample> samples_;
};

std::unique_ptr<Dataset> open_shards(const DataSettings& settings, Split split, const ShardForm& form) {
  require_path(settings, form.source);
  return std::make_unique<ShardedImages>(settings, split, form);
}

FoundData find_form(const fs::path& path, const ShardForm& form) {
  if (find_shards(path, Split::train, form.is_shard).empty()) return std::nullopt;
  DataSettings settings;
  settings.path = path.string();
  if (find_shards(path, Split::eval, form.is_shard).empty()) settings.dev_fraction = default_dev_fraction;
  return settings;
}

}  // namespace

std::unique_ptr<Dataset> open_web_dataset(const DataSettings& settings, Split split) {
  return open_shards(settings, split, web_dataset_form);
}

std::unique_ptr<Dataset> open_tf_record(const DataSettings& settings, Split split) {
  return open_shards(settings, split, tf_record_form);
}

FoundData find_web_dataset(const fs::path& path, const ColumnNames&) { return find_form(path, web_dataset_form); }

FoundData find_tf_record(const fs::path& path, const ColumnNames&) { return find_form(path, tf_record_form); }

}  // namespace ptrain
