// A clip on disk: a folder of frames, image files, ordered by name, of which one frame per segment is read, or several
// successive ones.
#pragma once

#include "core/data/image/image_transform.h"

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace ptrain {

/// Names of the frames in `folder`, in order; empty where there are none, or no such folder.
std::vector<std::string> frames_in(const std::filesystem::path& folder);

/// The frames of each segment: random ones, or those in the middle.
enum class FrameChoice { drawn, middle };

/// What is read of a clip.
struct ClipForm {
  int segments = 1, frames_per_segment = 1;
  int frames() const { return segments * frames_per_segment; }
};
ClipForm clip_form(const DatasetInfo& info);

/// Frame indices below `frames`, successive ones for each of equal parts, ascending; form.frames() <= frames. Of one
/// frame per segment as mmaction2's SampleFrames with clip_len 1, frame_interval 1 and num_clips `segments`: drawn,
/// base[i] + uniform below n with n = frames / segments rounded down and base[i] = i n; in the middle, (i + 1/2) frames
/// / segments rounded down. Of k frames, the first is drawn so that all are in the segment (below n - k + 1), or k / 2
/// before its middle.
std::vector<int> chosen_frames(int frames, const ClipForm& form, FrameChoice choice, SampleRandom random);

/// "CLIP: has 2 frames (*.jpg, ...), expected at least 3 (model.segments)".
std::string too_few_frames(const std::filesystem::path& clip, std::size_t frames, const ClipForm& form);

/// Writes form.frames() frames of the clip to `out` [frames, size, size, 3], all cropped and flipped by the same draws.
/// Throws BadSample naming the frame that cannot be read, or the clip with too few frames.
void load_clip(const std::filesystem::path& clip, const ClipForm& form, FrameChoice choice,
               const ImageTransform& transform, SampleRandom random, Scratch& scratch, std::span<std::uint8_t> out);

}  // namespace ptrain
