// Decoding is bound by reading the cache: threads share its chunks, each of which is read once for all the query heads
// of a key head. Results of chunks are joined in their order, so they depend neither on the threads nor on the batch.
#include "core/ops/text/cached_attention.h"

#include "core/cpu/cpu_kernels.h"
#include "core/cpu/kernels/attention/attention_tiles.h"
#include "core/cpu/simd/vector.h"

#include <cmath>
#include <cstring>

namespace ptrain::cpu {
namespace {

using Input = AppendCache::Input;

constexpr float largest_integer = 127;

/// Calls body with the element type of a cache.
template <typename Body>
void visit_cache(DType dtype, Body&& body) {
  if (dtype == DType::s8) return body(std::int8_t{});
  visit_floating(dtype, body);
}

template <typename C>
constexpr bool in_integers = std::is_same_v<C, std::int8_t>;

/// The largest magnitude of `count` values; NaN if one is not finite.
template <typename T>
float find_magnitude(const T* values, std::int64_t count) {
  float largest = 0, poison = 0;
  for_channels(count, [&](std::int64_t c, auto access) {
    float some[lanes];
    store16(some, access.load(values + c));
    for (const float value : some) {
      largest = std::max(largest, std::abs(value));
      poison += value - value;
    }
  });
  return largest + poison;
}

/// Writes a head's channels to its place in the cache.
template <typename T, typename C>
void write_channels(const T* from, std::int64_t depth, C* to) {
  if constexpr (in_integers<C>) {
    constexpr float least_magnitude = 1e-30f;  // smaller values are 0, before the inverse overflows
    const float magnitude = find_magnitude(from, depth), step = magnitude / largest_integer;
    const f32x16 inverse = splat(magnitude > least_magnitude ? largest_integer / magnitude : 0);
    for_channels(depth, [&](std::int64_t c, auto access) { access.store(to + c, access.load(from + c) * inverse); });
    std::memcpy(to + depth, &step, sizeof step);
  } else {
    for_channels(depth, [&](std::int64_t c, auto access) { access.store(to + c, access.load(from + c)); });
  }
}

class AppendCacheKernel final : public Kernel {
 public:
  explicit AppendCacheKernel(const KernelContext& context)
      : e_(context.op_as<AppendCache>().attrs(), context.inputs),
        dtype_(context.inputs[Input::qkv].dtype),
        cache_dtype_(context.inputs[Input::keys].dtype) {}

  void run(const KernelArgs& args) override {
    const SequencePlaces places = sequence_places(e_.batch, 0, args.inputs, Input::offsets);
    const auto* slots = static_cast<const std::int32_t*>(args.inputs[Input::slots]);
    const bool copies = args.inputs.size() > Input::sources;
    visit_floating(dtype_, [&](auto zero) {
      using T = decltype(zero);
      const auto* qkv = static_cast<const T*>(args.inputs[Input::qkv]);
      auto* out = static_cast<T*>(args.outputs[0]);
      if (out != qkv) std::copy_n(qkv, e_.tokens * e_.width, out);
      visit_cache(cache_dtype_, [&](auto cache_zero) {
        using C = decltype(cache_zero);
        C* const caches[]{static_cast<C*>(args.inputs[Input::keys]), static_cast<C*>(args.inputs[Input::values])};
        if (copies) copy_past(places, slots, static_cast<const std::int32_t*>(args.inputs[Input::sources]), caches);
        for (std::int64_t t = 0; t < places.end(); ++t) {
          const std::int64_t b = places.find(t), position = places.position(t, b);
          const T* from = qkv + t * e_.width + e_.first_key();
          for (C* cache : caches) {
            for (std::int64_t h = 0; h < e_.kv_heads; ++h, from += e_.depth) {
              write_channels(from, e_.depth, cache + e_.offset(slots[b], h, position));
            }
          }
        }
      });
    });
  }

 private:
  template <typename C>
  void copy_past(const SequencePlaces& places, const std::int32_t* slots, const std::int32_t* sources,
                 C* const (&caches)[2]) const {
    parallel_for(e_.batch * e_.kv_heads, e_.kv_heads, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) {
        const std::int64_t b = i / e_.kv_heads, h = i % e_.kv_heads;
        if (sources[b] == slots[b]) continue;
        for (C* cache : caches) {
          std::copy_n(cache + e_.offset(sources[b], h, 0), places.past[b] * e_.stride,
                      cache + e_.offset(slots[b], h, 0));
        }
      }
    });
  }

  CacheDims e_;
  DType dtype_, cache_dtype_;
};

class CachedAttentionKernel final : public Kernel {
 public:
  explicit CachedAttentionKernel(const KernelContext& context)
      : e_(context.op_as<CachedAttention>().attrs(), context.inputs),
        dtype_(context.inputs[Input::qkv].dtype),
        cache_dtype_(context.inputs[Input::keys].dtype),
        padded_depth_(round_to_lanes(e_.depth)),
        scale_(1.0f / std::sqrt(static_cast<float>(e_.depth))),
        threads_(thread_count()) {}

  std::size_t workspace_bytes() const override {
    const std::int64_t partials = e_.tokens * e_.heads * e_.chunks() * partial_floats();
    return static_cast<std::size_t>(partials + threads_ * scratch_floats()) * sizeof(float);
  }

  void run(const KernelArgs& args) override {
    const SequencePlaces places = sequence_places(e_.batch, 0, args.inputs, Input::offsets);
    visit_floating(dtype_, [&](auto zero) {
      using T = decltype(zero);
      visit_cache(cache_dtype_, [&](auto cache_zero) { read_chunks<T, decltype(cache_zero)>(places, args); });
      auto* out = static_cast<T*>(args.outputs[0]);
      join_chunks(places, static_cast<const float*>(args.workspace), out);
      clear_tail(places, e_.tokens, e_.out_width(), out);
    });
  }

 private:
  /// Of a query head and a chunk: the sum of weighted values, then the largest score and the sum of weights.
  std::int64_t partial_floats() const { return padded_depth_ + lanes; }
  float* find_partial(float* partials, std::int64_t token, std::int64_t head, std::int64_t chunk) const {
    return partials + ((token * e_.heads + head) * e_.chunks() + chunk) * partial_floats();
  }
  std::int64_t scratch_floats() const { return padded_depth_ + cache_chunk; }

  template <typename T, typename C>
  void read_chunks(const SequencePlaces& places, const KernelArgs& args) const {
    const auto* qkv = static_cast<const T*>(args.inputs[Input::qkv]);
    const auto* keys = static_cast<const C*>(args.inputs[Input::keys]);
    const auto* values = static_cast<const C*>(args.inputs[Input::values]);
    const auto* slots = static_cast<const std::int32_t*>(args.inputs[Input::slots]);
    auto* partials = static_cast<float*>(args.workspace);
    float* const scratch = partials + e_.tokens * e_.heads * e_.chunks() * partial_floats();
    const std::int64_t each = places.end() * e_.kv_heads, tasks = each * count_chunks(places);
    parallel_for(threads_, 1, [&](std::int64_t first, std::int64_t last) {
      for (std::int64_t part = first; part < last; ++part) {
        float* query = scratch + part * scratch_floats();
        float* scores = query + padded_depth_;
        // Interleaved, so that texts of different lengths spread over the threads.
        for (std::int64_t task = part; task < tasks; task += threads_) {
          const std::int64_t chunk = task / each, token = task % each / e_.kv_heads, kv_head = task % e_.kv_heads;
          const std::int64_t b = places.find(token), first_key = chunk * cache_chunk;
          const std::int64_t seen = std::min(places.position(token, b) + 1 - first_key, cache_chunk);
          if (seen <= 0) continue;
          const std::int64_t at = e_.offset(slots[b], kv_head, first_key);
          for (std::int64_t h = kv_head * e_.group(); h < (kv_head + 1) * e_.group(); ++h) {
            const T* from = qkv + token * e_.width + h * e_.depth;
            for_channels(e_.depth, [&](std::int64_t c, auto access) { store16(query + c, access.load(from + c)); });
            score(query, keys + at, seen, scores);
            multiply_by_steps(keys + at, seen, scores);
            float* partial = find_partial(partials, token, h, chunk);
            const float largest = find_largest(scores, seen, -std::numeric_limits<float>::infinity());
            partial[padded_depth_] = largest;
            partial[padded_depth_ + 1] = exp_row(scores, seen, cache_chunk, scale_, largest);
            multiply_by_steps(values + at, seen, scores);
            sum_values(scores, values + at, seen, partial);
          }
        }
      }
    });
  }

  /// Chunks of the longest text.
  std::int64_t count_chunks(const SequencePlaces& places) const {
    std::int64_t longest = 0;
    for (std::int64_t b = 0; b < e_.batch; ++b) longest = std::max(longest, places.position(places.end(b), b));
    return (longest + cache_chunk - 1) / cache_chunk;
  }

  /// Products of the query with each of `count` keys, sixteen at a time; the last key is repeated after them.
  template <typename C>
  void score(const float* query, const C* keys, std::int64_t count, float* scores) const {
    for (std::int64_t k0 = 0; k0 < count; k0 += lanes) {
      f32x16 sums[lanes] = {};
      const std::int64_t last = std::min<std::int64_t>(count - k0, lanes) - 1;
      const C* block = keys + k0 * e_.stride;
      for_channels(e_.depth, [&](std::int64_t c, auto access) {
        const f32x16 q = load16(query + c);
        for (std::int64_t k = 0; k < lanes; ++k) sums[k] += q * access.load(block + std::min(k, last) * e_.stride + c);
      });
      transpose(sums);
      for (int width = lanes / 2; width > 0; width /= 2) {
        for (int i = 0; i < width; ++i) sums[i] += sums[i + width];
      }
      store16(scores + k0, sums[0]);
    }
  }

  /// Multiplies a number for each of `count` positions by the position's step, if it has one.
  template <typename C>
  void multiply_by_steps(const C* cache, std::int64_t count, float* numbers) const {
    if constexpr (in_integers<C>) {
      for (std::int64_t k = 0; k < count; ++k) {
        float step;
        std::memcpy(&step, cache + k * e_.stride + e_.depth, sizeof step);
        numbers[k] *= step;
      }
    }
  }

  template <typename C>
  void sum_values(const float* weights, const C* values, std::int64_t count, float* to) const {
    constexpr std::int64_t chains = 4;  // independent sums, so that additions need not wait for each other
    for_channels(e_.depth, [&](std::int64_t c, auto access) {
      f32x16 sums[chains] = {};
      std::int64_t k = 0;
      for (; k + chains <= count; k += chains) {
        for (std::int64_t i = 0; i < chains; ++i) {
          sums[i] += splat(weights[k + i]) * access.load(values + (k + i) * e_.stride + c);
        }
      }
      for (; k < count; ++k) sums[0] += splat(weights[k]) * access.load(values + k * e_.stride + c);
      store16(to + c, (sums[0] + sums[1]) + (sums[2] + sums[3]));
    });
  }

  template <typename T>
  void join_chunks(const SequencePlaces& places, const float* partials, T* out) const {
    parallel_for(places.end() * e_.heads, e_.heads, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t row = begin; row < end; ++row) {
        const std::int64_t token = row / e_.heads;
        const std::int64_t keys = places.position(token, places.find(token)) + 1;
        const std::int64_t chunks = (keys + cache_chunk - 1) / cache_chunk;
        const float* first = partials + row * e_.chunks() * partial_floats();
        const auto get = [&](std::int64_t chunk, std::int64_t i) { return first[chunk * partial_floats() + i]; };
        float largest = get(0, padded_depth_), total = 0;
        for (std::int64_t i = 1; i < chunks; ++i) largest = std::max(largest, get(i, padded_depth_));
        const auto factor = [&](std::int64_t i) { return fast_exp(scale_ * (get(i, padded_depth_) - largest)); };
        for (std::int64_t i = 0; i < chunks; ++i) total += factor(i) * get(i, padded_depth_ + 1);
        T* to = out + row * e_.depth;
        for_channels(e_.depth, [&](std::int64_t c, auto access) {
          f32x16 sum{};
          for (std::int64_t i = 0; i < chunks; ++i) sum += splat(factor(i)) * load16(first + i * partial_floats() + c);
          access.store(to + c, sum * splat(1.0f / total));
        });
      }
    });
  }

  CacheDims e_;
  DType dtype_, cache_dtype_;
  std::int64_t padded_depth_;
  float scale_;
  std::int64_t threads_;
};

}  // namespace

std::unique_ptr<Kernel> make_append_cache(const KernelContext& context) {
  return std::make_unique<AppendCacheKernel>(context);
}
std::unique_ptr<Kernel> make_cached_attention(const KernelContext& context) {
  return std::make_unique<CachedAttentionKernel>(context);
}

}  // namespace ptrain::cpu
