// A folder of clips, one directory per class with a directory of frames per clip; frames are decoded when loaded.
#include "core/base/parallel.h"
#include "core/data/image/clip.h"
#include "core/data/image/image_list.h"
#include "core/data/sources.h"
#include "core/data/tensor_names.h"

namespace ptrain {
namespace {

/// Throws Error naming the first clip that has too few frames.
void require_frames(const ImageList& list, const ClipForm& form) {
  std::vector<std::size_t> counts(list.files.size());
  parallel_for(static_cast<std::int64_t>(counts.size()), 16, [&](std::int64_t begin, std::int64_t end) {
    for (auto i = static_cast<std::size_t>(begin); i < static_cast<std::size_t>(end); ++i) {
      counts[i] = frames_in(list.full_path(list.files[i])).size();
    }
  });
  for (std::size_t i = 0; i < counts.size(); ++i) {
    if (counts[i] >= static_cast<std::size_t>(form.frames())) continue;
    fail("{}", too_few_frames(list.full_path(list.files[i]), counts[i], form));
  }
}

class ClipFolderDataset : public Dataset {
 public:
  ClipFolderDataset(const DataSettings& settings, Split split)
      : list_(list_part(settings, split, SampleFile::clip)),
        choice_(split == Split::train ? FrameChoice::drawn : FrameChoice::middle),
        transform_(photo_transform(settings, split)) {
    notes_ = list_.notes;
    info_ = photo_info(settings, list_.class_names, list_.directory.string());
    set_clip_form(info_, settings.segments, settings.frames_per_segment);
    require_frames(list_, clip_form(info_));
  }

  std::int64_t size() const override { return static_cast<std::int64_t>(list_.files.size()); }

  void load(std::int64_t index, SampleRandom random, Scratch& scratch, const SampleRow& out) const override {
    const ImageList::File& clip = list_.files[static_cast<std::size_t>(index)];
    load_clip(list_.full_path(clip), clip_form(info_), choice_, transform_.in_form(out.form()), random, scratch,
              out.at<std::uint8_t>(tensor_names::images));
    out.set<std::int32_t>(tensor_names::labels, clip.label);
  }

  std::int32_t label(std::int64_t index) const override { return list_.files[static_cast<std::size_t>(index)].label; }

  SampleOrigin origin(std::int64_t index) const override {
    return {.file = list_.full_path(list_.files[static_cast<std::size_t>(index)]).string()};
  }

 private:
  ImageList list_;
  FrameChoice choice_;
  ImageTransform transform_;
};

}  // namespace

std::unique_ptr<Dataset> open_clip_folder(const DataSettings& settings, Split split) {
  require_path(settings, "clip_folder");
  if (settings.segments < 1) fail_usage("data source clip_folder needs at least 1 segment, got {}", settings.segments);
  return std::make_unique<ClipFolderDataset>(settings, split);
}

}  // namespace ptrain
