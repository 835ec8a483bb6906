#include "core/data/image/clip.h"

#include "core/base/counted.h"
#include "core/data/image/image_list.h"

#include <algorithm>

namespace ptrain {

namespace fs = std::filesystem;

std::vector<std::string> frames_in(const fs::path& folder) {
  std::vector<std::string> names;
  std::error_code error;
  for (auto entry = fs::directory_iterator(folder, error); !error && entry != fs::directory_iterator();
       entry.increment(error)) {
    const fs::path name = entry->path().filename();
    if (has_image_suffix(name) && !name.string().starts_with('.')) names.push_back(name.string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

ClipForm clip_form(const DatasetInfo& info) { return {info.frames / info.frames_per_segment, info.frames_per_segment}; }

std::vector<int> chosen_frames(int frames, const ClipForm& form, FrameChoice choice, SampleRandom random) {
  std::vector<int> chosen;
  const int length = frames / form.segments, successive = form.frames_per_segment;
  for (int i = 0; i < form.segments; ++i) {
    int first = 0;
    switch (choice) {
      case FrameChoice::drawn:
        first = i * length + random.below(length - successive + 1);
        break;
      case FrameChoice::middle:
        first = static_cast<int>((2 * i + 1) * std::int64_t{frames} / (2 * form.segments)) - successive / 2;
        break;
    }
    for (int j = 0; j < successive; ++j) chosen.push_back(first + j);
  }
  return chosen;
}

std::string too_few_frames(const fs::path& clip, std::size_t frames, const ClipForm& form) {
  const bool is_stacked = form.frames_per_segment > 1;
  return fmt::format("{}: has {} ({}), expected at least {} (model.segments{})", clip.string(),
                     counted(static_cast<std::int64_t>(frames), "frame"), image_files, form.frames(),
                     is_stacked ? " times model.frames_per_segment" : "");
}

void load_clip(const fs::path& clip, const ClipForm& form, FrameChoice choice, const ImageTransform& transform,
               SampleRandom random, Scratch& scratch, std::span<std::uint8_t> out) {
  const std::vector<std::string> names = frames_in(clip);
  const auto needed = static_cast<std::size_t>(form.frames());
  if (names.size() < needed) throw BadSample(too_few_frames(clip, names.size(), form));
  const std::size_t bytes = out.size() / needed;
  const std::vector<int> chosen =
      chosen_frames(static_cast<int>(names.size()), form, choice, random.in(DataStream::frames));
  for (std::size_t i = 0; i < chosen.size(); ++i) {
    const fs::path frame = clip / names[static_cast<std::size_t>(chosen[i])];
    read_sample(frame, scratch.file);
    SampleRandom draws = random;  // the same for every frame
    transform.apply_encoded(scratch.file, frame.string(), draws, scratch, out.subspan(i * bytes, bytes));
  }
}

}  // namespace ptrain
