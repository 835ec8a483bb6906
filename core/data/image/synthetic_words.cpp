// Synthetic images of words: random digits and letters of a bitmap font under noise, in two sizes, places and colours.
#include "core/data/image/bitmap_font.h"
#include "core/data/image/framing.h"
#include "core/data/synthetic.h"
#include "core/data/text/character_set.h"

#include <algorithm>

namespace ptrain {
namespace {

constexpr std::string_view drawn_characters = "0123456789abcdefghijklmnopqrstuvwxyz";

class SyntheticWords final : public SyntheticDataset {
 public:
  SyntheticWords(const DataSettings& settings, Split split) : SyntheticDataset(settings, split) {
    const std::size_t wanted = settings.classes > 0 ? static_cast<std::size_t>(settings.classes) - 1 : 36;
    if (wanted < 1 || wanted > drawn_characters.size()) {
      fail_usage("model.classes: synthetic words have 2 to {} classes, a blank and digits and letters, got {}",
                 drawn_characters.size() + 1, settings.classes);
    }
    info_.class_names = CharacterSet(split_characters(drawn_characters.substr(0, wanted))).class_names();
    info_.classes = static_cast<int>(info_.class_names.size());
    info_.targets = {tensor_names::characters};
    info_.image_size = settings.image_size.value_or(ImageSize(32, 100));
    info_.mean.fill(0.5f);
    info_.stddev.fill(0.25f);
    info_.framing = ImageFraming::pad;
    info_.max_length = std::min(settings.max_length, std::max(1, info_.image_size.width / letter_width));
  }

  std::vector<TensorSpec> tensors(const ImageForm& form) const override {
    return with_characters(input_tensors(info_, form.size), info_);
  }

  void load(std::int64_t index, SampleRandom, Scratch&, const SampleRow& out) const override {
    const RandomStream stream = sample_stream(index);
    const ImageSize size = out.form().size.value_or(info_.image_size);
    const Word word = draw_word(stream, size);
    std::string text;
    for (const std::int32_t one : word.characters) text += info_.class_names[static_cast<std::size_t>(one)];
    const std::span<std::uint8_t> pixels = out.at<std::uint8_t>(tensor_names::images);
    std::ranges::fill(pixels, word.background);
    draw_text({pixels, size.width, size.height}, text, word.left, word.top, word.scale, {word.ink, word.ink, word.ink});
    for (std::size_t i = 0; i < pixels.size(); ++i) {
      pixels[i] = static_cast<std::uint8_t>(pixels[i] + stream.bits(first_noise + i) % noise);
    }
    write_characters(word.characters, out.at<std::int32_t>(tensor_names::characters));
  }

 private:
  static constexpr std::uint64_t first_noise = 4096;  // random numbers before it make the word
  static constexpr std::uint32_t noise = 48;

  struct Word {
    std::vector<std::int32_t> characters;  // their classes
    int scale = 1, left = 0, top = 0;
    std::uint8_t background = 0, ink = 0;
  };

  /// Light on dark or dark on light, in the largest size of which three letters fit or in the next smaller one.
  Word draw_word(const RandomStream& stream, ImageSize size) const {
    constexpr int fewest_letters = 3;
    const auto below = [&](std::uint64_t element, int count) {
      return static_cast<int>(stream.bits(element) % static_cast<std::uint32_t>(count));
    };
    const int largest =
        std::max(1, std::min(size.height / letter_height, size.width / (fewest_letters * letter_width)));
    Word word;
    word.scale = std::max(1, largest - below(0, 2));
    const int most = std::clamp(size.width / (word.scale * letter_width), 1, info_.max_length);
    const int letters = 1 + below(1, most);
    for (int i = 0; i < letters; ++i) {
      word.characters.push_back(1 + below(16 + static_cast<std::uint64_t>(i), info_.classes - 1));
    }
    word.left = below(2, std::max(1, size.width - letters * word.scale * letter_width));
    word.top = below(3, std::max(1, size.height - word.scale * letter_height));
    word.background = static_cast<std::uint8_t>(below(4, 64));
    word.ink = static_cast<std::uint8_t>(144 + below(5, 64));
    if (below(6, 2) == 1) std::swap(word.background, word.ink);
    return word;
  }
};

}  // namespace

std::unique_ptr<Dataset> open_synthetic_words(const DataSettings& settings, Split split) {
  return std::make_unique<SyntheticWords>(settings, split);
}

}  // namespace ptrain
