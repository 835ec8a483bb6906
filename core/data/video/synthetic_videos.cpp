// Synthetic, learnable videos: each class has a centroid of features, and frames of a video are those of its classes in
// turn, under noise. As every class of a video is in one of its frames, a perfect model's metrics are all 1.
#include "core/data/shards/tf_example.h"
#include "core/data/synthetic.h"
#include "core/data/tensor_names.h"

#include <algorithm>
#include <cstring>

namespace ptrain {
namespace {

/// Every fourth frame is of no class. Videos have half of the frames at least.
class SyntheticVideos final : public SyntheticDataset {
 public:
  SyntheticVideos(const DataSettings& settings, Split split) : SyntheticDataset(settings, split) {
    info_ = video_info(settings.max_frames, settings.classes > 0 ? settings.classes : 10);
    const RandomStream signs = common_stream();
    centroids_.resize(static_cast<std::size_t>(info_.classes) * features_per_frame);
    for (std::size_t i = 0; i < centroids_.size(); ++i) {
      centroids_[i] = middle + (signs.bits(i) % 2 == 0 ? -distance : distance);
    }
  }

  void load(std::int64_t index, SampleRandom, Scratch&, const SampleRow& out) const override {
    const RandomStream stream = sample_stream(index);
    const int shortest = std::max(std::min(most_classes_shown, info_.max_frames), info_.max_frames / 2);
    const int frames = shortest + draw_below(stream, 0, info_.max_frames - shortest + 1);
    const std::vector<std::int32_t> classes = draw_classes(stream, index, frames);
    const auto mask = out.at<float>(tensor_names::frame_mask);
    std::ranges::fill(mask, 0.0f);
    std::ranges::fill(mask.first(static_cast<std::size_t>(frames)), 1.0f);
    draw_frames(stream, classes, frames, out);
    if (!out.has(tensor_names::multi_hot_labels)) return;
    const auto labels = out.at<std::int32_t>(tensor_names::multi_hot_labels);
    std::ranges::fill(labels, 0);
    for (const std::int32_t one : classes) labels[static_cast<std::size_t>(one)] = 1;
  }

 private:
  static constexpr std::size_t features_per_frame = rgb_features_per_frame + audio_features_per_frame;
  static constexpr int most_classes_shown = 3;           // in a video
  static constexpr int middle = 96, distance = 48;       // bytes
  static constexpr std::uint64_t first_noise_block = 8;  // after what is drawn for a video

  static std::int32_t draw_below(const RandomStream& stream, std::uint64_t element, int count) {
    return static_cast<std::int32_t>(stream.bits(element) % static_cast<std::uint32_t>(count));
  }

  /// One to three different classes, no more than frames.
  std::vector<std::int32_t> draw_classes(const RandomStream& stream, std::int64_t index, int frames) const {
    const int count = 1 + draw_below(stream, 1, std::min(most_classes_shown, frames));
    std::vector<std::int32_t> classes;
    for (int i = 0; i < count; ++i) {
      const auto shift = i == 0 ? 0 : draw_below(stream, static_cast<std::uint64_t>(i) + 1, info_.classes);
      const auto drawn = static_cast<std::int32_t>((index + shift) % info_.classes);
      if (std::ranges::find(classes, drawn) == classes.end()) classes.push_back(drawn);
    }
    return classes;
  }

  void draw_frames(const RandomStream& stream, const std::vector<std::int32_t>& classes, int frames,
                   const SampleRow& out) const {
    const auto rgb = out.at<float>(tensor_names::rgb_features), audio = out.at<float>(tensor_names::audio_features);
    std::ranges::fill(rgb, 0.0f);
    std::ranges::fill(audio, 0.0f);
    std::uint64_t block = first_noise_block;
    for (int frame = 0; frame < frames; ++frame) {
      const auto shown = static_cast<std::size_t>(frame - frame / 4) % classes.size();
      const int* centroid =
          frame % 4 == 3 ? nullptr : &centroids_[static_cast<std::size_t>(classes[shown]) * features_per_frame];
      const auto at = static_cast<std::size_t>(frame);
      draw(stream, block, centroid, rgb.subspan(at * rgb_features_per_frame, rgb_features_per_frame));
      if (centroid != nullptr) centroid += rgb_features_per_frame;
      draw(stream, block, centroid, audio.subspan(at * audio_features_per_frame, audio_features_per_frame));
    }
  }

  /// Without a centroid, of noise around the middle alone.
  static void draw(const RandomStream& stream, std::uint64_t& block, const int* centroid, std::span<float> features) {
    std::uint8_t noise[16];
    for (std::size_t i = 0; i < features.size(); ++i) {
      if (i % sizeof noise == 0) {
        const Philox4 words = stream.block(block++);
        std::memcpy(noise, &words, sizeof noise);
      }
      const int byte = (centroid == nullptr ? middle : centroid[i]) + noise[i % sizeof noise] / 4;
      features[i] = dequantize_feature(static_cast<std::uint8_t>(byte));
    }
  }

  std::vector<int> centroids_;  // [classes, features_per_frame], bytes
};

}  // namespace

std::unique_ptr<Dataset> open_synthetic_videos(const DataSettings& settings, Split split) {
  return std::make_unique<SyntheticVideos>(settings, split);
}

}  // namespace ptrain
