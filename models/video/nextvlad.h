// NeXtVLAD (Lin et al. 2018) for videos as features of their frames: each frame's features are widened and divided into
// groups, which are summed up by their nearness to learnt centres; a layer and a gate follow. The form is that of
// PaddlePaddle/models, but that norms count the padding of shorter videos, as in the authors' code.
#pragma once

#include "models/video/video_blocks.h"

namespace ptrain {

struct NextVladSpec : VideoSpec {
  std::int64_t expansion = 2;
  std::int64_t groups = 8;
  std::int64_t clusters = 128;
  std::int64_t hidden = 2048;
};

/// The spec for a configuration and data. Throws as is_tiny() does.
NextVladSpec nextvlad_spec(const Config& config, const DatasetInfo& data);

/// Reads rgb_features, audio_features and frame_mask of spec.max_frames frames (core/data/tensor_names.h).
std::unique_ptr<Model> make_nextvlad(const NextVladSpec& spec);

}  // namespace ptrain
