// Synthetic, learnable clicks: the words of some features and one number raise or lower the odds.
#include "core/data/synthetic.h"
#include "core/data/table/criteo_line.h"
#include "core/data/tensor_names.h"

#include <cmath>

namespace ptrain {
namespace {

/// In each of the first features a word, one of `words`, changes the odds by a weight drawn for the word.
class SyntheticClicks final : public SyntheticDataset {
 public:
  SyntheticClicks(const DataSettings& settings, Split split) : SyntheticDataset(settings, split) {
    info_ = click_info(settings);
  }

  void load(std::int64_t index, SampleRandom, Scratch&, const SampleRow& out) const override {
    const RandomStream stream = sample_stream(index);
    const auto numbers = out.at<float>(tensor_names::dense_features);
    const auto categories = out.at<std::int32_t>(tensor_names::categorical_features);
    for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] = stream.uniform(i);
    for (int i = 0; i < criteo_categorical_features; ++i) {
      categories[static_cast<std::size_t>(i)] =
          category_id(i, fmt::format("{:08x}", draw_category(stream, i)), info_.hash_buckets);
    }
    out.set<std::int32_t>(tensor_names::labels, label(index));
  }

  std::int32_t label(std::int64_t index) const override {
    const RandomStream stream = sample_stream(index);
    float odds = 2 * stream.uniform(0) - 1;
    for (int i = 0; i < telling_features; ++i) odds += hidden_weight(i, draw_category(stream, i));
    const float probability = 1 / (1 + std::exp(-odds));
    return stream.uniform(first_word + criteo_categorical_features) < probability ? 1 : 0;
  }

 private:
  static constexpr std::uint32_t words = 20;  // per feature
  static constexpr std::uint64_t first_word = 16;
  static constexpr int telling_features = 6;

  static std::uint32_t draw_category(const RandomStream& stream, int feature) {
    const std::uint64_t bits = stream.bits(first_word + static_cast<std::uint64_t>(feature));
    return static_cast<std::uint32_t>(bits * words >> 32);
  }
  /// The same in both splits; uniform in [-2, 2).
  float hidden_weight(int feature, std::uint32_t word) const {
    return 4 * common_stream().uniform(static_cast<std::uint64_t>(feature) * words + word) - 2;
  }
};

}  // namespace

std::unique_ptr<Dataset> open_synthetic_clicks(const DataSettings& settings, Split split) {
  return std::make_unique<SyntheticClicks>(settings, split);
}

}  // namespace ptrain
