// Synthetic, learnable clicks: the words of some features and one number raise or lower the odds.
#include "core/base/hash.h"
#include "core/data/synthetic.h"
#include "core/data/table/slots_line.h"
#include "core/data/tensor_names.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace ptrain {
namespace {

/// In each of the first features a word, one of `words`, changes the odds by a weight drawn for the word. A feature has
/// one word, or a bag of none up to bag_size, whose weights add up.
class SyntheticClicks final : public SyntheticDataset {
 public:
  SyntheticClicks(const DataSettings& settings, Split split) : SyntheticDataset(settings, split) {
    info_ = click_info(settings);
    for (std::uint32_t word = 0; word < words; ++word) word_hashes_[word] = fnv1a64(fmt::format("{:08x}", word));
    most_words_ = static_cast<std::size_t>(std::max(1, info_.bag_size));
    first_word_ = std::max<std::uint64_t>(16, static_cast<std::uint64_t>(info_.dense_features));
    first_count_ = first_word_ + count_ids(info_);
    label_at_ = first_count_ + static_cast<std::uint64_t>(info_.bag_size > 0 ? info_.categorical_features : 0);
    if (info_.bag_size > 0) weight_scale_ = std::sqrt(2 / static_cast<float>(info_.bag_size));
  }

  void load(std::int64_t index, SampleRandom, Scratch&, const SampleRow& out) const override {
    const RandomStream stream = sample_stream(index);
    if (info_.dense_features > 0) {
      const auto numbers = out.at<float>(tensor_names::dense_features);
      for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] = stream.uniform(i);
    }
    const CategoryIds categories = get_ids(out, info_);
    categories.clear();
    for (int i = 0; i < info_.categorical_features; ++i) {
      for (int k = 0, count = draw_count(stream, i); k < count; ++k) {
        categories.set(place_word(i, k), i, word_hashes_[draw_category(stream, i, k)]);
      }
    }
    out.set<std::int32_t>(tensor_names::labels, label(index));
  }

  std::int32_t label(std::int64_t index) const override {
    const RandomStream stream = sample_stream(index);
    float odds = info_.dense_features > 0 ? 2 * stream.uniform(0) - 1 : 0;
    for (int i = 0; i < std::min(telling_features, info_.categorical_features); ++i) {
      for (int k = 0, count = draw_count(stream, i); k < count; ++k) {
        odds += weight_scale_ * hidden_weight(i, draw_category(stream, i, k));
      }
    }
    const float probability = 1 / (1 + std::exp(-odds));
    return stream.uniform(label_at_) < probability ? 1 : 0;
  }

 private:
  static constexpr std::uint32_t words = 20;  // per feature
  static constexpr int telling_features = 6;

  static std::uint32_t draw_below(const RandomStream& stream, std::uint64_t at, std::uint32_t end) {
    const std::uint64_t bits = stream.bits(at);
    return static_cast<std::uint32_t>(bits * end >> 32);
  }
  int draw_count(const RandomStream& stream, int feature) const {
    if (info_.bag_size == 0) return 1;
    const auto end = static_cast<std::uint32_t>(info_.bag_size + 1);
    return static_cast<int>(draw_below(stream, first_count_ + static_cast<std::uint64_t>(feature), end));
  }
  std::size_t place_word(int feature, int place) const {
    return static_cast<std::size_t>(feature) * most_words_ + static_cast<std::size_t>(place);
  }
  std::uint32_t draw_category(const RandomStream& stream, int feature, int place) const {
    return draw_below(stream, first_word_ + place_word(feature, place), words);
  }
  /// The same in both splits; uniform in [-2, 2).
  float hidden_weight(int feature, std::uint32_t word) const {
    return 4 * common_stream().uniform(static_cast<std::uint64_t>(feature) * words + word) - 2;
  }

  std::array<std::uint64_t, words> word_hashes_;
  std::size_t most_words_;                             // of a feature
  std::uint64_t first_word_, first_count_, label_at_;  // in a sample's random numbers
  float weight_scale_ = 1;
};

}  // namespace

std::unique_ptr<Dataset> open_synthetic_clicks(const DataSettings& settings, Split split) {
  return std::make_unique<SyntheticClicks>(settings, split);
}

}  // namespace ptrain
