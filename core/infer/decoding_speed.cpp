#include "core/infer/decoding_speed.h"

#include "core/base/clock.h"
#include "core/base/rng.h"
#include "core/base/signals.h"
#include "core/ops/text/cached_attention.h"

#include <algorithm>
#include <array>
#include <set>

namespace ptrain {

void DecodingBound::describe(Fields& field) {
  field("weight_bytes", weight_bytes, "bytes of weights that a step reads");
  field("cache_bytes", cache_bytes, "bytes of keys and values that a step reads, on average");
  field("flops", flops, "operations of a step");
  field("bytes_per_second", bytes_per_second, "measured memory bandwidth; null: not known");
  field("flops_per_second", flops_per_second,
        "measured rate of matrix products at this precision, of weights in blocks at that of 8-bit integers; null: not "
        "known");
  field("tokens_per_second", tokens_per_second, "speed at which the slower of the two would be all that counts");
}

void DecodingReport::describe(Fields& field) {
  field.document("ptrain.bench-decoding/1", "Speed at which a language model reads and writes texts.");
  field("scenario", scenario, "prefill: reads tokens; decode: writes them one by one");
  field("name", name, "in llama-bench's terms");
  field("model", model, "folder of the model");
  field("device", device, "backend");
  field("precision", precision, "AMP level");
  field("weights", weights, "weights in memory: full, or the format of their blocks");
  field("cache_dtype", cache_dtype, "precision of the kept keys and values");
  field("batch_size", batch_size, "texts at once");
  field("tokens", tokens, "tokens of each text, measured");
  field("depth", depth, "tokens of each text before them");
  field("repeats", repeats, "repetitions");
  field("tokens_per_second", tokens_per_second, "mean of the repetitions, of all texts together");
  field("stdev", stdev, "sample standard deviation of the repetitions");
  field("first_token_ms", first_token_ms, "from reading the tokens before it to the first token");
  field("token_ms", token_ms, "from a token to the next; decode only");
  field("bound", bound, "what the machine allows");
  field("kernels", kernels, "ops of the last plan used; only with --per-op");
}

namespace {

/// The rate of a step's arithmetic, where each part has its own.
std::optional<double> mean_rate(const Graph& graph, double flops, const DecodingRates& rates) {
  double integers = 0;
  for (const Node& node : graph.nodes()) {
    if (node.op->type() == "block_linear") {
      integers += node.op->cost(graph.input_descs(node), graph.output_descs(node)).flops;
    }
  }
  if (integers == 0) return rates.flops_per_second;
  if (!rates.integers_per_second || !rates.flops_per_second) return std::nullopt;
  return flops / (integers / *rates.integers_per_second + (flops - integers) / *rates.flops_per_second);
}

/// The step that the decoder ran last, for texts of `length` tokens.
DecodingBound bound_step(DeployedModel& model, double length, std::int64_t tokens, const DecodingRates& rates) {
  const Graph& graph = model.last_plan().graph();
  DecodingBound bound{.bytes_per_second = rates.bytes_per_second};
  constexpr std::array<std::string_view, 3> lookups{"embedding", "bert_embedding", "block_embedding"};  // of few rows
  std::set<ValueId> counted;
  for (const Node& node : graph.nodes()) {
    const bool looks_up = std::ranges::find(lookups, node.op->type()) != lookups.end();
    for (const ValueId id : node.inputs) {
      if (id == no_value || looks_up || !counted.insert(id).second) continue;
      const Value& value = graph.value(id);
      if (value.storage == Storage::parameter) bound.weight_bytes += static_cast<double>(value.desc.bytes());
    }
    if (node.op->type() != "cached_attention") continue;
    const TensorDesc& keys = graph.desc(node.inputs[AppendCache::keys]);
    bound.cache_bytes += 2 * static_cast<double>(keys.bytes()) * length / static_cast<double>(keys.shape[2]);
  }
  bound.flops = step_cost(graph).flops;
  bound.flops_per_second = mean_rate(graph, bound.flops, rates);
  if (!rates.bytes_per_second || !bound.flops_per_second) return bound;
  const double seconds = std::max((bound.weight_bytes + bound.cache_bytes) / *rates.bytes_per_second,
                                  bound.flops / *bound.flops_per_second);
  bound.tokens_per_second = static_cast<double>(tokens) / seconds;
  return bound;
}

std::vector<NewTokens> for_all_slots(const TextDecoder& decoder, std::span<const std::int32_t> ids) {
  std::vector<NewTokens> texts;
  for (std::int64_t slot = 0; slot < decoder.slots(); ++slot) texts.push_back({slot, ids});
  return texts;
}

}  // namespace

DecodingReport measure_decoding(TextDecoder& decoder, const DecodingSpeedOptions& options, const DecodingRates& rates) {
  const InterruptibleWork interruptible;
  std::vector<std::int32_t> ids(static_cast<std::size_t>(options.depth + options.tokens));
  const RandomStream random{1, 0, 0};
  for (std::size_t i = 0; i < ids.size(); ++i) {
    ids[i] = static_cast<std::int32_t>(random.bits(i) % static_cast<std::uint32_t>(options.vocabulary));
  }
  const std::span<const std::int32_t> all = ids;
  std::vector<double> rates_of_repeats, first_token, each_token;
  for (std::int64_t repeat = -1; repeat < options.repeats; ++repeat) {  // the first is a warm-up
    InterruptibleWork::check("while decoding was measured");
    const auto timed = [&](std::span<const std::int32_t> some) {
      const Stopwatch watch;
      decoder.append(for_all_slots(decoder, some));
      return watch.seconds();
    };
    for (std::int64_t slot = 0; slot < decoder.slots(); ++slot) decoder.clear(slot);
    const auto depth = static_cast<std::size_t>(options.depth);
    double before = options.depth > 0 ? timed(all.first(depth)) : 0, seconds = 0;
    std::vector<double> steps;
    if (options.writes) {
      for (std::size_t i = depth; i < all.size(); ++i) steps.push_back(timed(all.subspan(i, 1)));
      for (const double step : steps) seconds += step;
      if (options.depth == 0) before = steps.front();
    } else {
      seconds = timed(all.subspan(depth));
      before += seconds;
    }
    if (repeat < 0) continue;
    rates_of_repeats.push_back(static_cast<double>(options.tokens * decoder.slots()) / seconds);
    first_token.push_back(before * 1e3);
    for (const double step : steps) each_token.push_back(step * 1e3);
  }
  DecodingReport report;
  report.scenario = options.writes ? "decode" : "prefill";
  report.name = fmt::format("{}{}", options.writes ? "tg" : "pp", options.tokens);
  if (options.depth > 0) report.name += fmt::format(" @ d{}", options.depth);
  report.batch_size = decoder.slots();
  report.tokens = options.tokens;
  report.depth = options.depth;
  report.repeats = options.repeats;
  const Statistics speeds = summarize(rates_of_repeats);
  report.tokens_per_second = speeds.mean;
  report.stdev = speeds.stdev;
  report.first_token_ms = summarize(first_token);
  report.token_ms = summarize(each_token);
  const double length = static_cast<double>(options.depth) + static_cast<double>(options.tokens + 1) / 2;
  report.bound = bound_step(decoder.model(), length, decoder.slots() * (options.writes ? 1 : options.tokens), rates);
  return report;
}

}  // namespace ptrain
