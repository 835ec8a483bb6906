// Attention LSTM for videos as features of their frames: an LSTM in both directions over the pictures and one over the
// sounds, a mean of its states weighted by an attention, then layers. The form is that of PaddlePaddle/models.
#pragma once

#include "models/video/video_blocks.h"

namespace ptrain {

struct AttentionLstmSpec : VideoSpec {
  std::int64_t projection = 512;  // what an LSTM reads of a frame
  std::int64_t units = 1024;      // of each direction
  std::int64_t first_layer = 8192, second_layer = 4096;
};

/// The spec for a configuration and data. Throws as is_tiny() does.
AttentionLstmSpec attention_lstm_spec(const Config& config, const DatasetInfo& data);

/// Reads rgb_features, audio_features and frame_mask of spec.max_frames frames (core/data/tensor_names.h).
std::unique_ptr<Model> make_attention_lstm(const AttentionLstmSpec& spec);

}  // namespace ptrain
