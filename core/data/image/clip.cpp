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

std::vector<int> chosen_frames(int frames, int segments, FrameChoice choice, SampleRandom random) {
  std::vector<int> chosen;
  const int length = frames / segments;
  for (int i = 0; i < segments; ++i) {
    switch (choice) {
      case FrameChoice::drawn:
        chosen.push_back(i * length + random.below(length));
        break;
      case FrameChoice::middle:
        chosen.push_back(static_cast<int>((2 * i + 1) * std::int64_t{frames} / (2 * segments)));
        break;
    }
  }
  return chosen;
}

std::string too_few_frames(const fs::path& clip, std::size_t frames, int segments) {
  return fmt::format("{}: has {} ({}), expected at least {} (model.segments)", clip.string(),
                     counted(static_cast<std::int64_t>(frames), "frame"), image_files, segments);
}

void load_clip(const fs::path& clip, int segments, FrameChoice choice, const ImageTransform& transform,
               SampleRandom random, Scratch& scratch, std::span<std::uint8_t> out) {
  const std::vector<std::string> names = frames_in(clip);
  if (names.size() < static_cast<std::size_t>(segments)) throw BadSample(too_few_frames(clip, names.size(), segments));
  const std::size_t bytes = out.size() / static_cast<std::size_t>(segments);
  const std::vector<int> chosen =
      chosen_frames(static_cast<int>(names.size()), segments, choice, random.in(DataStream::frames));
  for (std::size_t i = 0; i < chosen.size(); ++i) {
    const fs::path frame = clip / names[static_cast<std::size_t>(chosen[i])];
    read_sample(frame, scratch.file);
    SampleRandom draws = random;  // the same for every frame
    transform.apply_encoded(scratch.file, frame.string(), draws, scratch, out.subspan(i * bytes, bytes));
  }
}

}  // namespace ptrain
