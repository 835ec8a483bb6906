// Reads image files, folders of them, and the evaluation samples of data sets; decodes them, and resizes and crops or
// pads them as in evaluations.
#include "core/data/file_bytes.h"
#include "core/data/image/framing.h"
#include "core/data/image/image_list.h"
#include "core/data/sources.h"
#include "core/data/tensor_names.h"
#include "core/infer/image_reader.h"
#include "core/infer/inference_sources.h"

#include <algorithm>

namespace ptrain {
namespace {

namespace fs = std::filesystem;

struct Image {
  std::string name;  // a file's path; empty for a data set's sample
  std::int32_t label = no_label;
  std::shared_ptr<const Dataset> samples = {};
  std::int64_t index = 0;  // index within samples
};

class ImageInputs final : public InferenceDataset {
 public:
  ImageInputs(const DatasetInfo& data, std::vector<Image> images, int longest_side)
      : images_(std::move(images)), longest_side_(longest_side), reader_(data) {
    info_ = data;
  }

  std::int64_t size() const override { return static_cast<std::int64_t>(images_.size()); }
  const std::string& name(std::int64_t index) const override { return image(index).name; }
  std::int32_t label(std::int64_t index) const override { return image(index).label; }

  std::vector<TensorSpec> tensors(const ImageForm& form) const override {
    std::vector<TensorSpec> all = Dataset::tensors(form);
    if (reader_.pads()) all.push_back(placement_tensor());
    return all;
  }

  bool has_own_sizes() const override { return longest_side_ > 0; }
  ImageSize choose_size(std::int64_t index) const override {
    const Image& one = image(index);
    if (one.samples != nullptr) return info_.image_size;
    try {
      Scratch scratch;
      const ImageSize size = read_image(one.name, scratch, info_.orientation).size();
      return choose_own_size(size, info_.image_size, longest_side_);
    } catch (const Error&) {
      return info_.image_size;  // load() reports it
    }
  }

  void load(std::int64_t index, SampleRandom random, Scratch& scratch, const SampleRow& out) const override {
    const Image& one = image(index);
    try {
      if (one.samples != nullptr) {
        one.samples->load(one.index, random, scratch, out);
        const ImageSize size = info_.image_size;
        if (reader_.pads()) write_placement(fit_inside(size, size), out.at<float>(tensor_names::placements));
      } else {
        read_file(one.name, scratch.file);
        reader_.read(scratch.file, one.name, random, scratch, out);
      }
      out.set(tensor_names::labels, one.label);
    } catch (const Error& error) {
      reject(index, error.what());
    }
  }

 private:
  const Image& image(std::int64_t index) const { return images_[static_cast<std::size_t>(index)]; }

  std::vector<Image> images_;
  int longest_side_;
  ImageReader reader_;
};

/// Maps the samples' labels to the model's classes: by name or, where either side has no names, by number.
std::vector<std::int32_t> find_labels(const DatasetInfo& samples, const DatasetInfo& data, const std::string& folder) {
  const bool named = !label_names(samples).empty() && !label_names(data).empty();
  std::vector<std::int32_t> labels;
  for (std::int32_t label = 0; label < samples.classes; ++label) {
    labels.push_back(named ? find_class(data, samples.class_names[static_cast<std::size_t>(label)]) : label);
    if (labels.back() == no_label || samples.classes != data.classes) {
      fail("{}: has {} classes ({}), which differ from the model's {} ({})", folder, samples.classes,
           listed(samples.class_names), data.classes, listed(data.class_names));
    }
  }
  return labels;
}

void add_samples(const std::string& folder, const std::shared_ptr<const Dataset>& samples, const DatasetInfo& data,
                 std::vector<Image>& images) {
  const std::vector<std::int32_t> labels = find_labels(samples->info(), data, folder);
  for (std::int64_t i = 0; i < samples->size(); ++i) {
    images.push_back(
        {fmt::format("{}[{}]", folder, i), labels[static_cast<std::size_t>(samples->label(i))], samples, i});
  }
}

/// The class of an image below `folder`: its first folder from there on that has a class's name, as in training, else
/// `folder` itself.
std::int32_t find_folders_class(const DatasetInfo& data, const fs::path& folder, const fs::path& image) {
  for (const fs::path& part : image.lexically_relative(folder).parent_path()) {
    if (const std::int32_t label = find_class(data, part.string()); label != no_label) return label;
  }
  return find_class(data, fs::absolute(folder / "").lexically_normal().parent_path().filename().string());
}

void add_folder(const fs::path& folder, const DatasetInfo& data, std::vector<Image>& images) {
  const std::size_t first = images.size();
  walk_folder(folder, [&](const fs::directory_entry& entry) {
    if (!has_image_suffix(entry.path()) || !entry.is_regular_file()) return;
    images.push_back({entry.path().string(), find_folders_class(data, folder, entry.path())});
  });
  if (images.size() == first) fail("{}: contains no images ({}), at any depth", folder.string(), image_files);
  std::sort(images.begin() + static_cast<std::ptrdiff_t>(first), images.end(),
            [](const Image& a, const Image& b) { return a.name < b.name; });
}

void add(const std::string& path, const DatasetInfo& data, std::vector<Image>& images) {
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  if (!fs::exists(status)) fail("{}: no such image or folder of images", path);
  if (fs::is_directory(status)) {
    const DataSettings settings{.path = path, .image_size = data.image_size};
    if (holds_idx(path)) return add_samples(path, open_idx(settings, Split::eval), data, images);
    if (holds_cifar(path)) return add_samples(path, open_cifar(settings, Split::eval), data, images);
    return add_folder(path, data, images);
  }
  images.push_back({path});
}

}  // namespace

std::unique_ptr<InferenceDataset> open_image_inputs(const ModelArtifact& model,
                                                    const std::vector<std::string>& arguments,
                                                    const InferenceDataOptions& options) {
  const bool has_boxes = std::ranges::count(model.data.targets, tensor_names::annotations) > 0;
  if (has_boxes && std::ranges::any_of(arguments, holds_annotations)) {
    return open_annotated_inputs(model, arguments);
  }
  std::vector<Image> images;
  for (const std::string& argument : arguments) {
    if (argument != "-") {
      add(argument, model.data, images);
      continue;
    }
    for (const std::string& path : read_paths()) add(path, model.data, images);
  }
  return std::make_unique<ImageInputs>(model.data, std::move(images), options.longest_side);
}

}  // namespace ptrain
