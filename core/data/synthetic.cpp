// Synthetic, learnable data sets: every class, or token, has a pattern, under noise.
#include "core/data/synthetic.h"

#include "core/data/boxes/text_boxes.h"
#include "core/data/tensor_names.h"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace ptrain {
namespace {

/// A class is a wave: its direction, frequency and colour follow from the class number. The phase varies by sample; in
/// a clip it advances by an eighth per frame.
class SyntheticImages final : public SyntheticDataset {
 public:
  SyntheticImages(const DataSettings& settings, Split split) : SyntheticDataset(settings, split) {
    info_.kind = DataKind::image;
    info_.image_size = settings.image_size.value_or(32);
    set_clip_form(info_, settings.segments, settings.frames_per_segment);
    info_.classes = settings.classes > 0 ? settings.classes : 10;
    info_.class_names = numbered_classes(info_.classes);
    info_.mean.fill(0.5f);
    info_.stddev.fill(0.25f);
  }

  void load(std::int64_t index, SampleRandom, Scratch& scratch, const SampleRow& out) const override {
    const RandomStream stream = sample_stream(index);
    const std::int32_t label = this->label(index);
    const ImageSize size = out.form().size.value_or(info_.image_size);
    const float phase = 6.2831853f * stream.uniform(0);
    const std::size_t frames = static_cast<std::size_t>(info_.images_per_sample());
    const auto pixels = out.at<std::uint8_t>(tensor_names::images);
    const std::size_t bytes = pixels.size() / frames;
    std::uint64_t block = 1;  // of noise
    for (std::size_t frame = 0; frame < frames; ++frame) {
      const float moved = phase + 0.78539816f * static_cast<float>(frame);
      draw(label, size, moved, stream, block, scratch, pixels.subspan(frame * bytes, bytes));
    }
    out.set<std::int32_t>(tensor_names::labels, label);
  }

  std::int32_t label(std::int64_t index) const override { return static_cast<std::int32_t>(index % info_.classes); }

 private:
  /// Draws the wave in one image; noise is taken from `block` on, which is advanced.
  static void draw(std::int32_t label, ImageSize size, float phase, const RandomStream& stream, std::uint64_t& block,
                   Scratch& scratch, std::span<std::uint8_t> pixels) {
    // Steps by the golden ratio keep the classes' angles and colours distinct, for any number of classes.
    const float turn = std::fmod(0.618034f * static_cast<float>(label), 1.0f);
    const float waves = 2.0f + static_cast<float>(label % 3);
    const float unit = 6.2831853f * waves / static_cast<float>(size.shorter_side());
    const float step_x = unit * std::cos(3.1415927f * turn);
    const float step_y = unit * std::sin(3.1415927f * turn);

    // sin(a + b) from one table per axis.
    const auto columns = static_cast<std::size_t>(size.width);
    scratch.row.resize(columns * 2);
    for (std::size_t x = 0; x < columns; ++x) {
      scratch.row[2 * x] = std::sin(step_x * static_cast<float>(x) + phase);
      scratch.row[2 * x + 1] = std::cos(step_x * static_cast<float>(x) + phase);
    }
    float amplitude[3];
    for (int c = 0; c < 3; ++c)
      amplitude[c] = 40.0f + 24.0f * std::sin(6.2831853f * (turn + static_cast<float>(c) / 3));

    std::uint8_t* pixel = pixels.data();
    std::uint8_t noise[16];
    std::size_t used = sizeof noise;
    for (int y = 0; y < size.height; ++y) {
      const float sine = std::sin(step_y * static_cast<float>(y));
      const float cosine = std::cos(step_y * static_cast<float>(y));
      for (std::size_t x = 0; x < columns; ++x) {
        const float wave = scratch.row[2 * x] * cosine + scratch.row[2 * x + 1] * sine;
        for (int c = 0; c < 3; ++c) {
          if (used == sizeof noise) {
            const Philox4 words = stream.block(block++);
            std::memcpy(noise, &words, sizeof noise);
            used = 0;
          }
          const float value = 96.0f + amplitude[c] * wave + 0.25f * static_cast<float>(noise[used++]);
          *pixel++ = static_cast<std::uint8_t>(std::clamp(value, 0.0f, 255.0f));
        }
      }
    }
  }
};

/// A class prefers four ids of its own: a quarter of a sentence's tokens come from them, the rest from all ids.
class SyntheticText final : public SyntheticDataset {
 public:
  SyntheticText(const DataSettings& settings, Split split) : SyntheticDataset(settings, split) {
    info_.kind = DataKind::text;
    info_.max_length = settings.max_length;
    info_.vocab_size = settings.synthetic_vocab_size;
    info_.classes = settings.classes > 0 ? settings.classes : 2;
    info_.class_names = numbered_classes(info_.classes);
    if (info_.vocab_size < first_word + own_words * info_.classes) {
      fail_usage("synthetic text with {} classes needs a vocabulary of at least {} ids, got {}", info_.classes,
                 first_word + own_words * info_.classes, info_.vocab_size);
    }
    if (info_.max_length < 5) fail_usage("max_length must be at least 5, got {}", info_.max_length);
  }

  void load(std::int64_t index, SampleRandom, Scratch&, const SampleRow& out) const override {
    const RandomStream stream = sample_stream(index);
    const std::int32_t label = this->label(index);
    const auto below = [&stream](std::uint64_t element, int count) {
      return static_cast<std::int32_t>(
          static_cast<std::uint64_t>(stream.bits(element)) * static_cast<std::uint64_t>(count) >> 32);
    };
    const auto ids = out.at<std::int32_t>(tensor_names::ids);
    const int shortest = std::max(5, info_.max_length / 2);
    const int length = shortest + below(0, info_.max_length - shortest + 1);
    std::ranges::fill(ids, 0);
    std::ranges::fill(out.at<std::int32_t>(tensor_names::token_types), 0);
    ids[0] = begin_id;
    for (int i = 1; i < length - 1; ++i) {
      const auto element = static_cast<std::uint64_t>(i) * 2;
      const bool own = below(element, 4) == 0;
      const std::int32_t word =
          own ? label * own_words + below(element + 1, own_words) : below(element + 1, info_.vocab_size - first_word);
      ids[static_cast<std::size_t>(i)] = first_word + word;
    }
    ids[static_cast<std::size_t>(length - 1)] = end_id;
    out.set<std::int32_t>(tensor_names::lengths, length);
    out.set<std::int32_t>(tensor_names::labels, label);
  }

  std::int32_t label(std::int64_t index) const override { return static_cast<std::int32_t>(index % info_.classes); }

 private:
  static constexpr std::int32_t begin_id = 2;
  static constexpr std::int32_t end_id = 3;
  static constexpr std::int32_t first_word = 5;
  static constexpr std::int32_t own_words = 4;
};

/// Three of four tokens follow from the previous one, the others are random, all from a few ids of the vocabulary.
class SyntheticTokens final : public SyntheticDataset {
 public:
  SyntheticTokens(const DataSettings& settings, Split split) : SyntheticDataset(settings, split) {
    info_ = tokens_info(settings.max_length, settings.synthetic_vocab_size);
    used_ = std::min(most_used, info_.vocab_size);
  }

  void load(std::int64_t index, SampleRandom, Scratch&, const SampleRow& out) const override {
    const RandomStream stream = sample_stream(index);
    std::int32_t token = 0;
    const auto ids = out.at<std::int32_t>(tensor_names::ids);
    for (std::size_t i = 0; i < ids.size(); ++i) {
      const std::uint32_t bits = stream.bits(i);
      const auto drawn = static_cast<std::int32_t>((bits & 0xFFFFu) % static_cast<std::uint32_t>(used_));
      token = i == 0 || bits >> 30 == 0 ? drawn : (5 * token + 17) % used_;
      ids[i] = token;
    }
    std::ranges::fill(out.at<std::int32_t>(tensor_names::token_types), 0);
    out.set<std::int32_t>(tensor_names::lengths, info_.max_length);
  }

 private:
  static constexpr int most_used = 64;

  int used_;
};

/// A translation is its source reversed: tokens from a few ids of the vocabulary, in lengths from a quarter of the
/// longest on.
class SyntheticParallel final : public SyntheticDataset {
 public:
  SyntheticParallel(const DataSettings& settings, Split split) : SyntheticDataset(settings, split) {
    info_ = parallel_info(settings.max_length, settings.synthetic_vocab_size);
    used_ = std::min(most_used, info_.vocab_size - first_word);
    if (used_ < 1) fail_usage("synthetic parallel text needs a vocabulary of at least {} ids", first_word + 1);
  }

  void load(std::int64_t index, SampleRandom, Scratch&, const SampleRow& out) const override {
    const RandomStream stream = sample_stream(index);
    const auto below = [&stream](std::uint64_t element, int count) {
      return static_cast<std::int32_t>(stream.bits(element) % static_cast<std::uint32_t>(count));
    };
    const int most = info_.max_length - 1, shortest = std::max(1, most / 4);
    const std::int32_t count = shortest + below(0, most - shortest + 1);
    const auto words = static_cast<std::size_t>(count);
    const auto ids = out.at<std::int32_t>(tensor_names::ids), decoder = out.at<std::int32_t>(tensor_names::decoder_ids),
               next = out.at<std::int32_t>(tensor_names::next_tokens);
    std::ranges::fill(ids, 0);
    std::ranges::fill(decoder, 0);
    std::ranges::fill(next, -1);
    for (std::size_t i = 0; i < words; ++i) {
      const std::int32_t word = first_word + below(i + 1, used_);
      ids[i] = next[words - 1 - i] = decoder[words - i] = word;
    }
    ids[words] = decoder[0] = next[words] = end_id;
    out.set(tensor_names::lengths, static_cast<std::int32_t>(words + 1));
    out.set(tensor_names::decoder_lengths, static_cast<std::int32_t>(words + 1));
  }

 private:
  static constexpr int most_used = 32;
  static constexpr std::int32_t end_id = 0;
  static constexpr std::int32_t first_word = 2;

  int used_;
};

}  // namespace

SyntheticDataset::SyntheticDataset(const DataSettings& settings, Split split)
    : seed_(settings.seed), eval_(split == Split::eval ? 1 : 0), size_(settings.synthetic_samples) {
  if (size_ < 1) fail_usage("synthetic data needs at least 1 sample, got {}", size_);
  if (split == Split::eval) size_ = std::max<std::int64_t>(1, size_ / 4);
}

RandomStream SyntheticDataset::sample_stream(std::int64_t index) const {
  return {seed_, static_cast<std::uint64_t>(index) * 2 + eval_, static_cast<std::uint32_t>(DataStream::synthetic)};
}

RandomStream SyntheticDataset::common_stream() const {
  return {seed_, ~std::uint64_t{0}, static_cast<std::uint32_t>(DataStream::synthetic)};
}

std::unique_ptr<Dataset> open_synthetic(const DataSettings& settings, Split split) {
  switch (settings.synthetic_kind) {
    case DataKind::image:
      if (learns(settings.targets, tensor_names::masks) ||
          std::ranges::find(settings.targets, tensor_names::annotations) != settings.targets.end()) {
        return open_synthetic_shapes(settings, split);
      }
      if (learns(settings.targets, tensor_names::characters)) return open_synthetic_words(settings, split);
      if (learns(settings.targets, tensor_names::text_boxes)) return open_synthetic_text_boxes(settings, split);
      return std::make_unique<SyntheticImages>(settings, split);
    case DataKind::text:
      return std::make_unique<SyntheticText>(settings, split);
    case DataKind::table:
      return open_synthetic_clicks(settings, split);
    case DataKind::tokens:
      return std::make_unique<SyntheticTokens>(settings, split);
    case DataKind::parallel:
      return std::make_unique<SyntheticParallel>(settings, split);
    case DataKind::video:
      return open_synthetic_videos(settings, split);
  }
  fail_usage("unknown kind of data");
}

}  // namespace ptrain
