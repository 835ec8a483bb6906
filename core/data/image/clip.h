// A clip on disk: a folder of frames, image files, ordered by name, of which one frame per segment is read.
#pragma once

#include "core/data/image/image_transform.h"

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace ptrain {

/// Names of the frames in `folder`, in order; empty where there are none, or no such folder.
std::vector<std::string> frames_in(const std::filesystem::path& folder);

/// The frame of each segment: a random one, or the middle one.
enum class FrameChoice { drawn, middle };

/// Frame indices below `frames`, one for each of `segments` equal parts, ascending; segments <= frames. As mmaction2's
/// SampleFrames with clip_len 1, frame_interval 1 and num_clips `segments`: drawn, base[i] + uniform below n with n =
/// frames / segments rounded down and base[i] = i n; in the middle, (i + 1/2) frames / segments rounded down.
std::vector<int> chosen_frames(int frames, int segments, FrameChoice choice, SampleRandom random);

/// "CLIP: has 2 frames (*.jpg, ...), expected at least 3 (model.segments)".
std::string too_few_frames(const std::filesystem::path& clip, std::size_t frames, int segments);

/// Writes `segments` frames of the clip to `out` [segments, size, size, 3], all cropped and flipped by the same draws.
/// Throws BadSample naming the frame that cannot be read, or the clip with too few frames.
void load_clip(const std::filesystem::path& clip, int segments, FrameChoice choice, const ImageTransform& transform,
               SampleRandom random, Scratch& scratch, std::span<std::uint8_t> out);

}  // namespace ptrain
