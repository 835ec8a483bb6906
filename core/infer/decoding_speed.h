// Speed at which a language model reads texts (prefill) and writes them (decode), in the terms of llama.cpp's
// llama-bench: pp512 reads 512 tokens, tg128 writes 128, each after `depth` tokens.
#pragma once

#include "core/report/figures.h"
#include "core/report/statistics.h"
#include "core/runtime/decoding/text_decoder.h"

namespace ptrain {

struct DecodingSpeedOptions {
  bool writes = false;      // decode; else prefill
  std::int64_t tokens = 0;  // read or written, of each text
  std::int64_t depth = 0;   // of each text before them
  std::int64_t repeats = 5;
  std::int64_t vocabulary = 1;
};

/// What the device can do; absent: not known.
struct DecodingRates {
  std::optional<double> bytes_per_second, flops_per_second;
  std::optional<double> integers_per_second;  // operations of products with weights in blocks
};

/// The least time of a step: its weights and caches are read once, and its arithmetic is done.
struct DecodingBound {
  double weight_bytes = 0, cache_bytes = 0, flops = 0;
  std::optional<double> bytes_per_second = {}, flops_per_second = {}, tokens_per_second = {};

  void describe(Fields& field);
};

/// `ptrain.bench-decoding/1`.
struct DecodingReport {
  std::string scenario, name, model, device, precision, weights, cache_dtype;
  std::int64_t batch_size = 0, tokens = 0, depth = 0, repeats = 0;
  double tokens_per_second = 0, stdev = 0;
  Statistics first_token_ms, token_ms;
  DecodingBound bound;
  std::vector<KernelReport> kernels;

  void describe(Fields& field);
};

/// Measures random texts, one in each of the decoder's slots, after a warm-up. Throws Interrupted.
DecodingReport measure_decoding(TextDecoder& decoder, const DecodingSpeedOptions& options, const DecodingRates& rates);

}  // namespace ptrain
