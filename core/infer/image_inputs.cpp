// Image files and folders of them, decoded, resized and cropped as evaluations are.
#include "core/data/file_bytes.h"
#include "core/data/image/image_list.h"
#include "core/data/image/image_transform.h"
#include "core/infer/input_sources.h"

#include <algorithm>

namespace ptrain {
namespace {

namespace fs = std::filesystem;

struct ImageFile {
  std::string path;
  std::int32_t truth = no_truth;
};

class ImageInputs final : public InputSet {
 public:
  ImageInputs(const DatasetInfo& data, std::vector<ImageFile> files)
      : files_(std::move(files)), transform_(data.image_size, Augmentation::none) {
    info_ = data;
  }

  std::int64_t size() const override { return static_cast<std::int64_t>(files_.size()); }
  const std::string& name(std::int64_t index) const override { return file(index).path; }
  std::int32_t truth(std::int64_t index) const override { return file(index).truth; }

  std::int32_t load(std::int64_t index, SampleRandom random, Scratch& scratch, const SampleView& out) const override {
    try {
      read_file(file(index).path, scratch.file);
      transform_.apply_encoded(scratch.file, file(index).path, random, scratch, out.pixels);
    } catch (const Error& error) {
      refuse(index, error.what());
    }
    return 0;
  }

 private:
  const ImageFile& file(std::int64_t index) const { return files_[static_cast<std::size_t>(index)]; }

  std::vector<ImageFile> files_;
  ImageTransform transform_;
};

void add_folder(const fs::path& folder, const DatasetInfo& data, std::vector<ImageFile>& files) {
  const std::size_t first = files.size();
  for (auto entry = fs::recursive_directory_iterator(folder, fs::directory_options::skip_permission_denied);
       entry != fs::recursive_directory_iterator(); ++entry) {
    const fs::path& path = entry->path();
    if (path.filename().string().starts_with('.')) {
      if (entry->is_directory()) entry.disable_recursion_pending();
      continue;
    }
    if (!entry->is_regular_file() || !has_image_suffix(path)) continue;
    files.push_back({path.string(), class_of(data, path.parent_path().filename().string())});
  }
  if (files.size() == first) fail("{}: has no .jpg, .jpeg or .png images, at no depth", folder.string());
  std::sort(files.begin() + static_cast<std::ptrdiff_t>(first), files.end(),
            [](const ImageFile& a, const ImageFile& b) { return a.path < b.path; });
}

void add(const std::string& path, const DatasetInfo& data, std::vector<ImageFile>& files) {
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  if (!fs::exists(status)) fail("{}: no such image or folder of images", path);
  if (fs::is_directory(status)) return add_folder(path, data, files);
  files.push_back({path});
}

}  // namespace

std::unique_ptr<InputSet> open_image_inputs(const TrainedModel& model, const std::vector<std::string>& arguments) {
  std::vector<ImageFile> files;
  for (const std::string& argument : arguments) {
    if (argument != "-") {
      add(argument, model.data, files);
      continue;
    }
    for (const InputLine& line : lines_of(read_standard_input(), "standard input")) add(line.text, model.data, files);
  }
  return std::make_unique<ImageInputs>(model.data, std::move(files));
}

}  // namespace ptrain
