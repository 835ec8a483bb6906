#include "core/ops/text/rotary_embedding.h"

#include "core/base/parallel.h"
#include "core/cpu/cpu_kernels.h"
#include "core/cpu/simd/vector.h"
#include "core/ops/math/sequences.h"

#include <algorithm>
#include <cmath>

namespace ptrain::cpu {
namespace {

constexpr std::int64_t token_grain = 4;

class RotaryTableKernel final : public Kernel {
  using Op = RotaryTable;

 public:
  explicit RotaryTableKernel(const KernelContext& context)
      : frequencies_(rotary_frequencies(context.op_as<RotaryTable>().attrs())),
        sines_first_(context.op_as<RotaryTable>().attrs().sines_first),
        tokens_(context.outputs[0].shape[0]),
        sequences_(context.inputs.size() > Op::offsets ? context.inputs[Op::offsets].shape[0] - 1 : 1) {}

  void run(const KernelArgs& args) override {
    const SequencePlaces places = sequence_places(sequences_, tokens_, args.inputs, Op::offsets);
    const auto pairs = static_cast<std::int64_t>(frequencies_.size());
    auto* table = static_cast<float*>(args.outputs[0]);
    parallel_for(tokens_, token_grain, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t t = begin; t < end; ++t) {
        const auto position = static_cast<float>(std::max<std::int64_t>(places.position(t), 0));
        float* const row = table + 2 * t * pairs;
        float* const cosines = sines_first_ ? row + pairs : row;
        float* const sines = sines_first_ ? row : row + pairs;
        for (std::int64_t i = 0; i < pairs; ++i) {
          const float angle = position * frequencies_[static_cast<std::size_t>(i)];
          cosines[i] = std::cos(angle);
          sines[i] = std::sin(angle);
        }
      }
    });
  }

 private:
  std::vector<float> frequencies_;
  bool sines_first_;
  std::int64_t tokens_, sequences_;
};

class RotaryEmbeddingKernel final : public Kernel {
  using Op = RotaryEmbedding;

 public:
  explicit RotaryEmbeddingKernel(const KernelContext& context)
      : attributes_(context.op_as<RotaryEmbedding>().attrs()),
        x_(context.inputs[Op::x]),
        table_(context.inputs[Op::table].shape) {}

  void run(const KernelArgs& args) override {
    const auto* table = static_cast<const float*>(args.inputs[Op::table]);
    visit_floating(x_.dtype, [&](auto zero) {
      using T = decltype(zero);
      const auto* x = static_cast<const T*>(args.inputs[Op::x]);
      auto* y = static_cast<T*>(args.outputs[0]);
      const std::int64_t width = x_.shape[-1], depth = table_[1];
      parallel_for(x_.count() / width, token_grain, [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t t = begin; t < end; ++t) {
          const std::int64_t first = t * width, rotated = attributes_.heads * depth;
          for (std::int64_t h = 0; h < rotated; h += depth)
            rotate(x + first + h, table + t % table_[0] * depth, y + first + h);
          if (x != y) std::copy(x + first + rotated, x + first + width, y + first + rotated);
        }
      });
    });
  }

 private:
  /// One head; y may be x.
  template <typename T>
  void rotate(const T* x, const float* cosines, T* y) const {
    const std::int64_t half = table_[1] / 2;
    const float* const sines = cosines + half;
    const float direction = attributes_.inverse ? -1.0f : 1.0f;
    for_channels(half, [&](std::int64_t c, auto access) {
      const f32x16 first = access.load(x + c), second = access.load(x + half + c);
      const f32x16 cosine = access.load(cosines + c), sine = direction * access.load(sines + c);
      access.store(y + c, first * cosine - second * sine);
      access.store(y + half + c, second * cosine + first * sine);
    });
  }

  RotaryEmbeddingAttributes attributes_;
  TensorDesc x_;
  Shape table_;
};

}  // namespace

std::unique_ptr<Kernel> make_rotary_table(const KernelContext& context) {
  return std::make_unique<RotaryTableKernel>(context);
}
std::unique_ptr<Kernel> make_rotary_embedding(const KernelContext& context) {
  return std::make_unique<RotaryEmbeddingKernel>(context);
}

}  // namespace ptrain::cpu
