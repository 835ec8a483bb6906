// Attention Cluster (Long et al. 2018) for videos as features of their frames: weighted means of the frames by several
// attentions, each shifted and brought to one length, then layers. The form is that of PaddlePaddle/models, but that
// all frames are read, not 100 of them drawn at random.
#pragma once

#include "models/video/video_blocks.h"

namespace ptrain {

struct AttentionClusterSpec : VideoSpec {
  std::int64_t heads = 32;  // attentions
  std::int64_t first_layer = 1024, second_layer = 4096;
};

/// The spec for a configuration and data. Throws as is_tiny() does.
AttentionClusterSpec attention_cluster_spec(const Config& config, const DatasetInfo& data);

/// Reads rgb_features, audio_features and frame_mask of spec.max_frames frames (core/data/tensor_names.h).
std::unique_ptr<Model> make_attention_cluster(const AttentionClusterSpec& spec);

}  // namespace ptrain
