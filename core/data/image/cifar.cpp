// CIFAR-10 and CIFAR-100 in their binary form (https://www.cs.toronto.edu/~kriz/cifar.html): records of one label byte
// (two for CIFAR-100: coarse, fine) and 32 x 32 pixels as three planes.
#include "core/data/file_bytes.h"
#include "core/data/image/image_transform.h"
#include "core/data/sources.h"
#include "core/data/tensor_names.h"

#include <filesystem>
#include <fstream>

namespace ptrain {
namespace {

namespace fs = std::filesystem;

constexpr int image_side = 32;
constexpr std::size_t plane = image_side * image_side;

struct CifarForm {
  int classes;
  std::size_t label_bytes;
  const char* names_file;
  std::array<float, 3> mean;
  std::array<float, 3> stddev;
};
const CifarForm cifar10{10, 1, "batches.meta.txt", {0.4914f, 0.4822f, 0.4465f}, {0.2470f, 0.2435f, 0.2616f}};
const CifarForm cifar100{100, 2, "fine_label_names.txt", {0.5071f, 0.4865f, 0.4409f}, {0.2673f, 0.2564f, 0.2762f}};

struct CifarPlace {
  const CifarForm* form = nullptr;
  fs::path directory;
};

/// The form is empty if neither is there.
CifarPlace find_form(const fs::path& path) {
  for (const char* below : {"", "cifar-10-batches-bin", "cifar-100-binary"}) {
    const fs::path directory = path / below;
    if (fs::exists(directory / "data_batch_1.bin")) return {&cifar10, directory};
    if (fs::exists(directory / "train.bin")) return {&cifar100, directory};
  }
  return {};
}

std::vector<std::string> read_names(const fs::path& path, int classes) {
  std::vector<std::string> names;
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    if (!line.empty()) names.push_back(line);
  }
  return static_cast<int>(names.size()) == classes ? names : numbered_classes(classes);
}

class CifarDataset : public Dataset {
 public:
  CifarDataset(const DataSettings& settings, Split split, const CifarPlace& place)
      : form_(*place.form),
        record_bytes_(form_.label_bytes + 3 * plane),
        transform_(settings.image_size.value_or(image_side),
                   resolve_augment(settings, split, Augmentation::crop_flip)) {
    for (const std::string& name : file_names(split)) append(place.directory / name);
    info_.kind = DataKind::image;
    info_.image_size = settings.image_size.value_or(image_side);
    info_.classes = form_.classes;
    info_.class_names = read_names(place.directory / form_.names_file, form_.classes);
    require_classes(settings, info_.class_names, place.directory.string());
    info_.mean = form_.mean;
    info_.stddev = form_.stddev;
  }

  std::int64_t size() const override { return static_cast<std::int64_t>(bytes_.size() / record_bytes_); }

  void load(std::int64_t index, SampleRandom random, Scratch& scratch, const SampleRow& out) const override {
    const std::uint8_t* planes = record(index) + form_.label_bytes;
    scratch.pixels.resize(plane * 3);
    for (std::size_t i = 0; i < plane; ++i) {
      for (std::size_t c = 0; c < 3; ++c) scratch.pixels[3 * i + c] = planes[c * plane + i];
    }
    transform_.in_form(out.form())
        .apply({scratch.pixels.data(), image_side * 3, 0, 0}, image_side, image_side, random, scratch,
               out.at<std::uint8_t>(tensor_names::images));
    out.set<std::int32_t>(tensor_names::labels, label(index));
  }

  std::int32_t label(std::int64_t index) const override { return record(index)[form_.label_bytes - 1]; }

  SampleOrigin origin(std::int64_t index) const override {
    std::size_t file = 0;
    for (; index >= records_[file]; ++file) index -= records_[file];
    return {.file = files_[file], .record = index};
  }

 private:
  const std::uint8_t* record(std::int64_t index) const {
    return bytes_.data() + record_bytes_ * static_cast<std::size_t>(index);
  }

  std::vector<std::string> file_names(Split split) const {
    if (&form_ == &cifar100) return {split == Split::train ? "train.bin" : "test.bin"};
    if (split == Split::eval) return {"test_batch.bin"};
    return {"data_batch_1.bin", "data_batch_2.bin", "data_batch_3.bin", "data_batch_4.bin", "data_batch_5.bin"};
  }

  void append(const fs::path& path) {
    std::vector<std::uint8_t> file;
    read_file(path, file);
    if (file.empty()) fail("{}: has no samples", path.string());
    if (file.size() % record_bytes_ != 0) {
      fail("{}: {} bytes are not a multiple of the {} bytes of a record (truncated file)", path.string(), file.size(),
           record_bytes_);
    }
    for (std::size_t i = 0; i < file.size() / record_bytes_; ++i) {
      const int label = file[i * record_bytes_ + form_.label_bytes - 1];
      if (label >= form_.classes) {
        fail("{}: label {} of record {} is out of range for {} classes", path.string(), label, i, form_.classes);
      }
    }
    files_.push_back(path.string());
    records_.push_back(static_cast<std::int64_t>(file.size() / record_bytes_));
    bytes_.insert(bytes_.end(), file.begin(), file.end());
  }

  const CifarForm& form_;
  std::size_t record_bytes_;
  ImageTransform transform_;
  std::vector<std::string> files_;
  std::vector<std::int64_t> records_;  // in each file
  std::vector<std::uint8_t> bytes_;
};

}  // namespace

std::unique_ptr<Dataset> open_cifar(const DataSettings& settings, Split split) {
  require_path(settings, "cifar");
  const CifarPlace place = find_form(settings.path);
  if (place.form == nullptr) {
    fail(
        "{}: expected CIFAR's binary form there: data_batch_1.bin .. data_batch_5.bin and test_batch.bin, or train.bin "
        "and test.bin",
        settings.path);
  }
  return std::make_unique<CifarDataset>(settings, split, place);
}

bool holds_cifar(const fs::path& root) { return find_form(root).form != nullptr; }

}  // namespace ptrain
