// Reads clips: folders of frames, and folders of them; frames are chosen, resized and cropped as in evaluations.
#include "core/data/image/clip.h"
#include "core/data/image/image_list.h"
#include "core/data/tensor_names.h"
#include "core/infer/inference_sources.h"

#include <algorithm>

namespace ptrain {
namespace {

namespace fs = std::filesystem;

struct Clip {
  std::string folder;
  std::int32_t label = no_label;
};

class ClipInputs final : public InferenceDataset {
 public:
  ClipInputs(const DatasetInfo& data, std::vector<Clip> clips)
      : clips_(std::move(clips)), transform_(data.image_size, Augmentation::none, data.orientation) {
    info_ = data;
  }

  std::int64_t size() const override { return static_cast<std::int64_t>(clips_.size()); }
  const std::string& name(std::int64_t index) const override { return clip(index).folder; }
  std::int32_t label(std::int64_t index) const override { return clip(index).label; }

  void load(std::int64_t index, SampleRandom random, Scratch& scratch, const SampleRow& out) const override {
    try {
      load_clip(clip(index).folder, clip_form(info_), FrameChoice::middle, transform_, random, scratch,
                out.at<std::uint8_t>(tensor_names::images));
      out.set(tensor_names::labels, clip(index).label);
    } catch (const Error& error) {
      reject(index, error.what());
    }
  }

 private:
  const Clip& clip(std::int64_t index) const { return clips_[static_cast<std::size_t>(index)]; }

  std::vector<Clip> clips_;
  ImageTransform transform_;
};

/// Adds every folder of frames at `path` and below.
void add(const std::string& path, const DatasetInfo& data, std::vector<Clip>& clips) {
  std::error_code error;
  if (!fs::exists(path, error)) fail("{}: no such folder of frames", path);
  if (!fs::is_directory(path, error)) {
    fail("{}: is a file; expected a clip (a folder of at least {} frames) or a folder of clips", path, data.frames);
  }
  const std::size_t first = clips.size();
  const auto consider = [&](const fs::path& folder) {
    if (frames_in(folder).empty()) return;
    const fs::path whole = fs::absolute(folder / "").lexically_normal().parent_path();  // without a trailing slash
    clips.push_back({folder.string(), find_class(data, whole.parent_path().filename().string())});
  };
  consider(path);
  walk_folder(path, [&](const fs::directory_entry& entry) {
    if (entry.is_directory()) consider(entry.path());
  });
  if (clips.size() == first) fail("{}: contains no folders with frames ({}), at any depth", path, image_files);
  std::sort(clips.begin() + static_cast<std::ptrdiff_t>(first), clips.end(),
            [](const Clip& a, const Clip& b) { return a.folder < b.folder; });
}

}  // namespace

std::unique_ptr<InferenceDataset> open_clip_inputs(const ModelArtifact& model,
                                                   const std::vector<std::string>& arguments) {
  std::vector<Clip> clips;
  for (const std::string& argument : arguments) {
    if (argument != "-") {
      add(argument, model.data, clips);
      continue;
    }
    for (const std::string& path : read_paths()) add(path, model.data, clips);
  }
  return std::make_unique<ClipInputs>(model.data, std::move(clips));
}

}  // namespace ptrain
