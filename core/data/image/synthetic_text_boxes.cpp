// Synthetic images with boxes around text: words of a bitmap font under noise, in two sizes, light on dark or dark on
// light.
#include "core/data/boxes/text_boxes.h"
#include "core/data/image/bitmap_font.h"
#include "core/data/image/framing.h"
#include "core/data/synthetic.h"

#include <algorithm>

namespace ptrain {
namespace {

class SyntheticTextBoxes final : public SyntheticDataset {
 public:
  SyntheticTextBoxes(const DataSettings& settings, Split split) : SyntheticDataset(settings, split) {
    info_.class_names = {"text"};
    require_classes(settings, info_.class_names, "data.source synthetic");
    info_.classes = 1;
    info_.targets = {tensor_names::text_boxes};
    info_.image_size = settings.image_size.value_or(128);
    info_.mean.fill(0.5f);
    info_.stddev.fill(0.25f);
    info_.framing = ImageFraming::pad;
  }

  std::vector<TensorSpec> tensors(const ImageForm& form) const override {
    return with_text_boxes(input_tensors(info_, form.size), most_words);
  }

  void load(std::int64_t index, SampleRandom, Scratch&, const SampleRow& out) const override {
    const RandomStream stream = sample_stream(index);
    const ImageSize size = out.form().size.value_or(info_.image_size);
    const std::span<std::uint8_t> pixels = out.at<std::uint8_t>(tensor_names::images);
    const bool is_dark = stream.bits(1) % 2 == 0;
    std::ranges::fill(pixels, is_dark ? dark : light);
    const std::uint8_t ink = is_dark ? light : dark;
    std::vector<TextBox> boxes;
    for (const Word& word : draw_words(stream, size)) {
      draw_text({pixels, size.width, size.height}, word.text, word.left, word.top, word.scale, {ink, ink, ink});
      boxes.push_back({word.corners(), false});
    }
    for (std::size_t i = 0; i < pixels.size(); ++i) {
      pixels[i] = static_cast<std::uint8_t>(pixels[i] + stream.bits(first_noise + i) % noise);
    }
    write_placement(fit_inside(size, size), out.at<float>(tensor_names::placements));
    write_text_targets(boxes, size, out);
  }

 private:
  static constexpr std::size_t most_words = 4;
  static constexpr std::uint64_t first_noise = 4096;  // random numbers before it make the words
  static constexpr std::uint32_t noise = 48;
  static constexpr std::uint8_t dark = 30, light = 170;

  struct Word {
    std::string text;
    int scale = 1, left = 0, top = 0;

    int width() const { return scale * (count_letters(text) * letter_width - 1); }  // without the gap after it
    int height() const { return scale * letter_height; }
    Quad corners() const {
      const double x0 = left, y0 = top, x1 = left + width(), y1 = top + height();
      return {{{x0, y0}, {x1, y0}, {x1, y1}, {x0, y1}}};
    }
    /// Whether they are nearer to each other than half of a letter's height.
    bool is_near(const Word& other) const {
      const int gap = scale * letter_height / 2;
      return left < other.left + other.width() + gap && other.left < left + width() + gap &&
             top < other.top + other.height() + gap && other.top < top + height() + gap;
    }
  };

  /// One to four words in the frame that are apart from each other; none in a frame without room for one.
  static std::vector<Word> draw_words(const RandomStream& stream, ImageSize size) {
    constexpr int fewest_letters = 2, most_letters = 5;
    constexpr std::uint64_t numbers_per_word = 16;
    const std::size_t wanted = 1 + stream.bits(0) % most_words;
    std::vector<Word> words;
    for (std::uint64_t tries = 1; tries <= 4 * wanted && words.size() < wanted; ++tries) {
      std::uint64_t next = numbers_per_word * tries;
      const auto below = [&](int count) {
        return static_cast<int>(stream.bits(next++) % static_cast<std::uint32_t>(count));
      };
      Word word;
      word.scale = 2 + below(2);
      const int letters = fewest_letters + below(most_letters - fewest_letters + 1);
      for (int i = 0; i < letters; ++i) word.text += static_cast<char>('a' + below(26));
      if (word.width() > size.width || word.height() > size.height) continue;
      word.left = below(size.width - word.width() + 1);
      word.top = below(size.height - word.height() + 1);
      if (std::ranges::none_of(words, [&](const Word& other) { return word.is_near(other); })) words.push_back(word);
    }
    return words;
  }
};

}  // namespace

std::unique_ptr<Dataset> open_synthetic_text_boxes(const DataSettings& settings, Split split) {
  return std::make_unique<SyntheticTextBoxes>(settings, split);
}

}  // namespace ptrain
