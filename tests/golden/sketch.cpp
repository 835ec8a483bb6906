#include "tests/golden/sketch.h"

#include "core/data/dataset.h"

#include <algorithm>
#include <bit>

namespace ptrain::golden {
namespace {

struct VectorRule {
  std::string_view prefix, suffix;
  float offset, scale;
};
// Norms and biases; reference.py says why. The first rule that fits a name is taken; the last two fit every name.
constexpr std::array<VectorRule, 32> vectors{{{"layer", "bn3.weight", 0.1f, 0.01f},
                                              {"layer", "bn3.bias", 0.0f, 0.1f},
                                              {"layer", ".weight", 0.4f, 0.04f},
                                              {"layer", ".bias", 1.0f, 0.1f},
                                              {"backbone.layer", "conv3.bn.weight", 0.1f, 0.01f},
                                              {"backbone.layer", "conv3.bn.bias", 0.0f, 0.1f},
                                              {"backbone.layer", "bn3.weight", 0.1f, 0.01f},
                                              {"backbone.layer", "bn3.bias", 0.0f, 0.1f},
                                              {"backbone.layer", ".weight", 0.4f, 0.04f},
                                              {"backbone.layer", ".bias", 1.0f, 0.1f},
                                              {"backbone.body.layer", "bn3.weight", 0.1f, 0.01f},
                                              {"backbone.body.layer", "bn3.bias", 0.0f, 0.1f},
                                              {"backbone.body.layer", ".weight", 0.4f, 0.04f},
                                              {"backbone.body.layer", ".bias", 1.0f, 0.1f},
                                              {"roi_heads.box_head.layer", "bn3.weight", 0.1f, 0.01f},
                                              {"roi_heads.box_head.layer", "bn3.bias", 0.0f, 0.1f},
                                              {"roi_heads.box_head.layer", ".weight", 0.4f, 0.04f},
                                              {"roi_heads.box_head.layer", ".bias", 1.0f, 0.1f},
                                              {"backbone.conv1.stem", ".weight", 0.4f, 0.04f},
                                              {"backbone.conv1.stem", ".bias", 1.0f, 0.1f},
                                              {"backbone.blocks", "compress.bn.weight", 0.1f, 0.01f},
                                              {"trunk_output", "c.1.weight", 0.1f, 0.01f},
                                              {"trunk_output", "c.1.bias", 0.0f, 0.1f},
                                              {"trunk_output", ".weight", 0.4f, 0.04f},
                                              {"trunk_output", ".bias", 1.0f, 0.1f},
                                              {"blocks", ".weight", 0.4f, 0.04f},
                                              {"blocks", ".bias", 1.5f, 0.1f},
                                              {"features", ".weight", 0.4f, 0.04f},
                                              {"features", ".bias", 1.5f, 0.1f},
                                              {"", ".alpha", 1.0f, 0.1f},
                                              {"", ".weight", 1.0f, 0.1f},
                                              {"", "", 0.0f, 0.1f}}};

}  // namespace

std::vector<float> weight(std::string_view name, const Shape& shape) {
  const Hash hash(name);
  const std::int64_t fan_in = shape.rank() == 0 ? 1 : shape.count() / shape[0];
  float offset = 0.0f;
  float scale = 0.04f;
  if (shape.rank() == 4) {
    const bool is_small = name.starts_with("rpn.") || name.starts_with("yolo_head.pred_");
    scale = static_cast<float>(std::sqrt(6.0 / static_cast<double>(fan_in)) * (is_small ? 0.1 : 1.0));
  } else if (shape.rank() != 2) {
    const auto rule = std::find_if(vectors.begin(), vectors.end(), [&](const VectorRule& candidate) {
      return name.starts_with(candidate.prefix) && name.ends_with(candidate.suffix);
    });
    offset = rule->offset;
    scale = rule->scale;
  }
  std::vector<float> values(static_cast<std::size_t>(shape.count()));
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = hash.uniform(i) * scale + offset;
  return values;
}

std::vector<std::uint8_t> images(int step, int batch, int size) {
  const Hash hash("images");
  const int blocks = size / 8;
  std::vector<std::uint8_t> pixels;
  pixels.reserve(static_cast<std::size_t>(batch) * static_cast<std::size_t>(size * size * 3));
  for (int n = 0; n < batch; ++n)
    for (int y = 0; y < size; ++y)
      for (int x = 0; x < size; ++x)
        for (int c = 0; c < 3; ++c) {
          const int block = ((step * batch + n) * blocks + y / 8) * blocks + x / 8;
          pixels.push_back(static_cast<std::uint8_t>(hash(static_cast<std::uint64_t>(block * 3 + c)) >> 56));
        }
  return pixels;
}

std::vector<std::int32_t> labels(int step, int batch, int classes) {
  const Hash hash("labels");
  std::vector<std::int32_t> values;
  for (int n = 0; n < batch; ++n)
    values.push_back(static_cast<std::int32_t>(hash(static_cast<std::uint64_t>(step * batch + n)) %
                                               static_cast<std::uint64_t>(classes)));
  return values;
}

namespace {

/// A number below `choices` for each pixel of the images of batch `step`, by 8x8 px blocks.
std::vector<std::int32_t> draw_blocks(const std::string& name, int step, int batch, int size, std::size_t choices) {
  const Hash hash(name);
  const int blocks = size / 8;
  std::vector<std::int32_t> drawn;
  for (int n = 0; n < batch; ++n)
    for (int y = 0; y < size; ++y)
      for (int x = 0; x < size; ++x) {
        const int block = ((step * batch + n) * blocks + y / 8) * blocks + x / 8;
        drawn.push_back(static_cast<std::int32_t>(hash(static_cast<std::uint64_t>(block)) % choices));
      }
  return drawn;
}

}  // namespace

std::vector<std::int32_t> masks(int step, int batch, int size, int classes) {
  std::vector<std::int32_t> drawn = draw_blocks("masks", step, batch, size, static_cast<std::size_t>(classes) + 1);
  std::ranges::replace(drawn, classes, -1);
  return drawn;
}

std::vector<float> maps(const std::string& name, int step, int batch, int size, std::span<const float> values) {
  std::vector<float> map;
  for (const std::int32_t one : draw_blocks(name, step, batch, size, values.size())) {
    map.push_back(values[static_cast<std::size_t>(one)]);
  }
  return map;
}

std::vector<std::int32_t> characters(int step, int batch, int classes) {
  const Hash length_hash("text_lengths"), character_hash("characters");
  std::vector<std::int32_t> values;
  for (int n = 0; n < batch; ++n) {
    const auto row = static_cast<std::uint64_t>(step * batch + n);
    const auto length = 1 + length_hash(row) % most_characters;
    for (std::uint64_t i = 0; i < most_characters; ++i) {
      const auto drawn = character_hash(row * most_characters + i) % static_cast<std::uint64_t>(classes - 1);
      values.push_back(i < length ? 1 + static_cast<std::int32_t>(drawn) : -1);
    }
  }
  return values;
}

std::vector<std::uint8_t> draw_mask(const std::array<std::int64_t, 5>& object, int size) {
  const auto& [label, left, top, width, height] = object;
  std::vector<std::uint8_t> pixels;
  for (std::int64_t y = 0; y < size; ++y) {
    for (std::int64_t x = 0; x < size; ++x) {
      const std::int64_t down = y - top, across = x - left;
      const bool is_inside = down >= 0 && down < height && across >= 0 && across < width;
      pixels.push_back(is_inside && down * width >= across * height ? 1 : 0);
    }
  }
  return pixels;
}

std::vector<std::array<std::int64_t, 5>> objects(int step, int batch, int size, int classes) {
  constexpr int numbers = 5;
  const Hash hash("objects");
  const auto half = static_cast<std::uint64_t>(size / 2);
  std::vector<std::array<std::int64_t, 5>> all;
  for (int i = 0; i < batch * objects_per_image; ++i) {
    const auto number = [&](int j, std::uint64_t below) {
      const int index = (step * batch * objects_per_image + i) * numbers + j;
      return static_cast<std::int64_t>(hash(static_cast<std::uint64_t>(index)) % below);
    };
    all.push_back({number(0, static_cast<std::uint64_t>(classes)), number(1, half), number(2, half),
                   8 + number(3, half - 8), 8 + number(4, half - 8)});
  }
  return all;
}

TextBatch text(int step, int batch, int length, int vocab_size, const std::string& prefix) {
  const Hash length_hash(prefix + "lengths");
  const Hash id_hash(prefix + "input_ids");
  const int half = length / 2;
  TextBatch result;
  for (int n = 0; n < batch; ++n) {
    const std::uint64_t row = static_cast<std::uint64_t>(step * batch + n);
    const int used = half + static_cast<int>(length_hash(row) % static_cast<std::uint64_t>(half + 1));
    result.lengths.push_back(used);
    for (int t = 0; t < length; ++t) {
      const std::uint64_t id = id_hash(row * static_cast<std::uint64_t>(length) + static_cast<std::uint64_t>(t)) %
                               static_cast<std::uint64_t>(vocab_size);
      result.ids.push_back(t < used ? static_cast<std::int32_t>(id) : 0);
      result.token_types.push_back(t < used && t >= half / 2 ? 1 : 0);
    }
  }
  return result;
}

ClickBatch clicks(int step, int batch, int numbers, int categories, std::int64_t hash_buckets) {
  const Hash number_hash("numbers"), category_hash("categories");
  ClickBatch result;
  for (int i = 0; i < batch * numbers; ++i) {
    result.numbers.push_back(number_hash.uniform(static_cast<std::uint64_t>(step * batch * numbers + i)));
  }
  for (int i = 0; i < batch * categories; ++i) {
    const std::uint64_t word = category_hash(static_cast<std::uint64_t>(step * batch * categories + i));
    result.categories.push_back(static_cast<std::int32_t>(word % static_cast<std::uint64_t>(hash_buckets)));
  }
  return result;
}

void empty_bags(std::vector<std::int32_t>& ids, int step, int bag_size) {
  const Hash count_hash("bag_counts");
  const auto size = static_cast<std::size_t>(bag_size), bags = ids.size() / size;
  for (std::size_t i = 0; i < ids.size(); ++i) {
    const std::uint64_t count = count_hash(static_cast<std::uint64_t>(step) * bags + i / size) % (size + 1);
    if (i % size >= count) ids[i] = -1;
  }
}

VideoBatch videos(int step, int batch, int frames, int classes) {
  const auto first = static_cast<std::uint64_t>(step) * static_cast<std::uint64_t>(batch);
  const auto features = [&](const char* name, std::int64_t width) {
    const Hash hash(name);
    const auto count = static_cast<std::uint64_t>(frames * width);
    std::vector<float> values;
    for (std::uint64_t i = 0; i < static_cast<std::uint64_t>(batch) * count; ++i) {
      values.push_back(2 * hash.uniform(first * count + i));
    }
    return values;
  };
  VideoBatch result{features("rgb", rgb_features_per_frame), features("audio", audio_features_per_frame), {}, {}};
  const Hash length_hash("lengths"), label_hash("labels");
  const int half = frames / 2;
  for (std::uint64_t row = first; row < first + static_cast<std::uint64_t>(batch); ++row) {
    const int used = half + static_cast<int>(length_hash(row) % static_cast<std::uint64_t>(half + 1));
    for (int frame = 0; frame < frames; ++frame) result.mask.push_back(frame < used ? 1.0f : 0.0f);
    for (int label = 0; label < classes; ++label) {
      const std::uint64_t drawn =
          label_hash(row * static_cast<std::uint64_t>(classes) + static_cast<std::uint64_t>(label));
      result.labels.push_back(drawn % 3 == 0 ? 1 : 0);
    }
  }
  return result;
}

std::array<double, sketches> sketch(std::string_view name, std::span<const float> values) {
  const Hash hash("sketch:" + std::string(name));
  std::array<double, sketches> sums{};
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::uint64_t signs = hash(i), bits = std::bit_cast<std::uint64_t>(static_cast<double>(values[i]));
    for (std::size_t k = 0; k < sketches; ++k) sums[k] += std::bit_cast<double>(bits ^ (signs >> k << 63));
  }
  return sums;
}

}  // namespace ptrain::golden
