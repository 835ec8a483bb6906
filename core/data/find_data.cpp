#include "core/data/find_data.h"

#include "core/data/file_bytes.h"
#include "core/data/image/clip.h"
#include "core/data/image/image_list.h"
#include "core/data/image/image_pack.h"
#include "core/data/image/image_transform.h"
#include "core/data/shards/shard_files.h"
#include "core/data/shards/tf_record.h"
#include "core/data/shards/web_dataset.h"
#include "core/data/sources.h"

#include <algorithm>

namespace ptrain {
namespace {

namespace fs = std::filesystem;

constexpr double usual_dev_share = 0.1;

/// "train.csv" of a folder that has one; empty where there is none.
std::string table_named(const fs::path& folder, const std::string& stem) {
  for (const char* ending : {".tsv", ".csv", ".jsonl", ".json"}) {
    if (fs::is_regular_file(folder / (stem + ending))) return stem + ending;
  }
  return {};
}

DataSettings table_settings(const fs::path& folder, const std::string& train_file, const ColumnNames& columns) {
  DataSettings settings;
  settings.source = DataSource::tsv;
  settings.path = folder.empty() ? "." : folder.string();
  settings.train_file = train_file;
  settings.columns = columns;
  const bool usual = fs::path(train_file).stem() == "train";
  if (usual) settings.dev_file = table_named(folder, "dev");
  if (settings.dev_file.empty()) settings.dev_share = usual_dev_share;
  return settings;
}

/// The image itself, or a clip's first frame.
fs::path picture_of(const fs::path& sample) {
  if (!fs::is_directory(sample)) return sample;
  const std::vector<std::string> frames = frames_in(sample);
  if (frames.empty()) fail("{}: has no .jpg, .jpeg or .png frames", sample.string());
  return sample / frames.front();
}

/// Of the median of twenty images.
int photo_size(const ImageList& list) {
  constexpr std::size_t most_read = 20;
  constexpr int largest_small = 64, usual = 224, step = 32;
  std::vector<int> sides;
  std::vector<std::uint8_t> bytes, pixels;
  const std::size_t every = std::max<std::size_t>(1, list.files.size() / most_read);
  for (std::size_t i = 0; i < list.files.size(); i += every) {
    const fs::path path = picture_of(list.path_of(list.files[i]));
    read_file(path, bytes);
    const DecodedImage image = decode_image(bytes, path.string(), pixels);
    sides.push_back(std::min(image.width, image.height));
  }
  std::nth_element(sides.begin(), sides.begin() + static_cast<std::ptrdiff_t>(sides.size() / 2), sides.end());
  const int side = sides[sides.size() / 2];
  return side <= largest_small ? std::max(side, 8) : std::min(usual, side / step * step);
}

/// Nothing where `folder` holds no shards of this form.
std::optional<DataSettings> shard_settings(const fs::path& folder, DataSource source, const ShardForm& form) {
  if (find_shards(folder, Split::train, form.is_shard).empty()) return std::nullopt;
  DataSettings settings;
  settings.source = source;
  settings.path = folder.string();
  if (find_shards(folder, Split::eval, form.is_shard).empty()) settings.dev_share = usual_dev_share;
  return settings;
}

/// Whether the training split's classes have folders in them, and no images.
bool holds_clips(const fs::path& folder) {
  bool folders = false;
  for (const fs::directory_entry& name : fs::directory_iterator(find_split(folder, Split::train))) {
    if (!name.is_directory()) continue;
    for (const fs::directory_entry& sample : fs::directory_iterator(name.path())) {
      if (sample.is_directory()) folders = true;
      if (!sample.is_directory() && has_image_suffix(sample.path())) return false;
    }
  }
  return folders;
}

DataSettings photo_settings(const fs::path& folder) {
  const bool clips = holds_clips(folder);
  DataSettings settings;
  settings.source = clips ? DataSource::clip_folder : DataSource::image_folder;
  settings.path = folder.string();
  settings.image_size = photo_size(list_images(folder, Split::train, clips ? SampleFile::clip : SampleFile::image));
  if (find_split(folder, Split::eval).empty()) settings.dev_share = usual_dev_share;
  return settings;
}

}  // namespace

DataSettings find_data(const fs::path& path, const ColumnNames& columns) {
  if (fs::is_regular_file(path) && table_form_of(path)) {
    return table_settings(path.parent_path(), path.filename().string(), columns);
  }
  if (!fs::is_directory(path)) {
    fail_usage("{}: {}", path.string(),
               fs::exists(path) ? "expected a folder, or a table of texts ending in .tsv, .csv or .jsonl"
                                : "no such file or folder");
  }
  DataSettings settings;
  settings.path = path.string();
  if (holds_idx(path)) return settings;
  if (holds_cifar(path)) {
    settings.source = DataSource::cifar;
    return settings;
  }
  if (fs::exists(path / pack_name(Split::train))) {
    settings.source = DataSource::packed;
    return settings;
  }
  if (const std::string table = table_named(path, "train"); !table.empty()) return table_settings(path, table, columns);
  if (const auto tars = shard_settings(path, DataSource::webdataset, web_dataset_form)) return *tars;
  if (const auto records = shard_settings(path, DataSource::tfrecord, tf_record_form)) return *records;
  if (find_split(path, Split::train).empty()) {
    fail_usage(
        "{}: expected images in train/<class>/ or clips in train/<class>/<clip>/, shards of WebDataset or TFRecord, a "
        "table of texts named train.tsv, .csv or .jsonl, or the files of MNIST, CIFAR or ptrain data pack",
        path.string());
  }
  return photo_settings(path);
}

}  // namespace ptrain
