// MNIST-like data sets in IDX files: train-*/t10k-*, images and labels, with or without .gz.
#include "core/data/file_bytes.h"
#include "core/data/image/idx.h"
#include "core/data/image/image_transform.h"
#include "core/data/sources.h"
#include "core/data/tensor_names.h"

#include <algorithm>
#include <filesystem>

namespace ptrain {
namespace {

namespace fs = std::filesystem;

const char* const default_path = "/usr/share/datasets/fashion-mnist";

/// Empty if there is no such file.
fs::path find_file(const fs::path& directory, const std::string& stem) {
  std::string dotted = stem;  // train-images.idx3-ubyte, as some unpackers name it
  dotted.replace(dotted.rfind("-idx"), 1, ".");
  for (const std::string& name : {stem, dotted}) {
    for (const char* suffix : {".gz", ""}) {
      fs::path path = directory / (name + suffix);
      if (fs::exists(path)) return path;
    }
  }
  return {};
}

fs::path require_file(const fs::path& directory, const std::string& stem) {
  if (fs::path path = find_file(directory, stem); !path.empty()) return path;
  fail("{}: not found, nor with .gz (expected train- and t10k- images-idx3-ubyte and labels-idx1-ubyte there)",
       (directory / stem).string());
}

IdxArray read_idx(const fs::path& path, int rank) {
  std::vector<std::uint8_t> bytes;
  read_file(path, bytes);
  return parse_idx(bytes, path.string(), rank);
}

class IdxDataset : public Dataset {
 public:
  IdxDataset(const DataSettings& settings, Split split, const fs::path& directory)
      : transform_(settings.image_size.value_or(28), resolve_augment(settings, split, Augmentation::none)) {
    const std::string prefix = split == Split::train ? "train" : "t10k";
    const fs::path images_path = require_file(directory, prefix + "-images-idx3-ubyte");
    const fs::path labels_path = require_file(directory, prefix + "-labels-idx1-ubyte");
    path_ = images_path.string();
    images_ = read_idx(images_path, 3);
    labels_ = read_idx(labels_path, 1).values;
    height_ = static_cast<int>(images_.dims[1]);
    width_ = static_cast<int>(images_.dims[2]);
    if (images_.dims[0] == 0) fail("{}: has no samples", images_path.string());
    if (images_.values.empty()) fail("{}: images have no pixels", images_path.string());
    if (images_.dims[0] != static_cast<std::int64_t>(labels_.size())) {
      fail("{}: {} labels for the {} images of {}", labels_path.string(), labels_.size(), images_.dims[0],
           images_path.string());
    }
    info_.kind = DataKind::image;
    info_.image_size = settings.image_size.value_or(28);
    info_.classes = settings.classes > 0 ? settings.classes : count_classes(directory, split);
    for (std::size_t i = 0; i < labels_.size(); ++i) {
      if (labels_[i] >= info_.classes) {
        fail("{}: label {} of sample {} is out of range for {} classes", labels_path.string(), labels_[i], i,
             info_.classes);
      }
    }
    info_.class_names = numbered_classes(info_.classes);
    const bool fashion = directory.string().find("fashion") != std::string::npos;
    if (fashion && info_.classes == 10) {
      info_.class_names = {"T-shirt/top", "Trouser", "Pullover", "Dress", "Coat",
                           "Sandal",      "Shirt",   "Sneaker",  "Bag",   "Ankle boot"};
    }
    info_.mean.fill(fashion ? 0.2860f : 0.1307f);
    info_.stddev.fill(fashion ? 0.3530f : 0.3081f);
  }

  std::int64_t size() const override { return images_.dims[0]; }

  void load(std::int64_t index, SampleRandom random, Scratch& scratch, const SampleRow& out) const override {
    const auto count = static_cast<std::size_t>(width_) * static_cast<std::size_t>(height_);
    const std::uint8_t* grey = images_.values.data() + count * static_cast<std::size_t>(index);
    scratch.pixels.resize(count * 3);
    for (std::size_t i = 0; i < count; ++i) {
      scratch.pixels[3 * i] = scratch.pixels[3 * i + 1] = scratch.pixels[3 * i + 2] = grey[i];
    }
    transform_.in_form(out.form())
        .apply({scratch.pixels.data(), static_cast<std::size_t>(width_) * 3, 0, 0}, width_, height_, random, scratch,
               out.at<std::uint8_t>(tensor_names::images));
    out.set<std::int32_t>(tensor_names::labels, label(index));
  }

  std::int32_t label(std::int64_t index) const override { return labels_[static_cast<std::size_t>(index)]; }

  SampleOrigin origin(std::int64_t index) const override { return {.file = path_, .record = index}; }

 private:
  /// The training labels determine the number for both splits.
  int count_classes(const fs::path& directory, Split split) const {
    const std::vector<std::uint8_t> labels =
        split == Split::train ? labels_ : read_idx(require_file(directory, "train-labels-idx1-ubyte"), 1).values;
    return labels.empty() ? 1 : *std::max_element(labels.begin(), labels.end()) + 1;
  }

  ImageTransform transform_;
  std::string path_;  // of the images
  IdxArray images_;
  std::vector<std::uint8_t> labels_;
  int width_ = 0;
  int height_ = 0;
};

}  // namespace

bool holds_idx(const fs::path& root) { return !find_file(root, "t10k-images-idx3-ubyte").empty(); }

std::unique_ptr<Dataset> open_idx(const DataSettings& settings, Split split) {
  const fs::path directory = settings.path.empty() ? default_path : settings.path;
  if (!fs::is_directory(directory)) {
    fail("{}: no such directory{}", directory.string(),
         settings.path.empty() ? " (Debian's package dataset-fashion-mnist brings it)" : "");
  }
  return std::make_unique<IdxDataset>(settings, split, directory);
}

}  // namespace ptrain
