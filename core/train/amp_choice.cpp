#include "core/train/amp_choice.h"

#include "core/config/model_catalog.h"
#include "core/train/state/checkpoints.h"

#include <fmt/format.h>

#include <array>

namespace ptrain {
namespace {

constexpr double worthwhile = 1.1;  // minimum ratio of rates: casts and copies of weights cost part of the gain

/// The single-thread rate if known: it does not depend on waiting for other threads on a busy machine.
std::optional<double> select_rate(const PrecisionRates& rates, MainWork work) {
  const bool convolutions = work == MainWork::convolutions;
  const std::optional<double> alone = convolutions ? rates.convolution_one_thread : rates.product_one_thread;
  return alone ? alone : convolutions ? rates.convolution : rates.product;
}

const PrecisionRates& select_rates(const DeviceRates& rates, DType low) {
  return low == DType::f16 ? rates.fp16 : rates.bf16;
}

std::string_view short_name(DType dtype) { return enum_name(to_amp_dtype(dtype)); }

std::string reason_for(DType dtype, const DeviceRates& rates, MainWork work) {
  const std::optional<double> fp32 = select_rate(rates.fp32, work), low = select_rate(select_rates(rates, dtype), work);
  const bool one_thread = rates.threads > 0;
  const char* what = work == MainWork::convolutions ? "3x3 convolutions" : "matrix products";
  if (!fp32) return "the device's rates could not be measured";
  if (!low) return fmt::format("{} {} cannot run here", short_name(dtype), what);
  return fmt::format("{} {} run at {:.2f} of fp32's rate here ({:.0f} of {:.0f} GFLOP/s{})", short_name(dtype), what,
                     *low / *fp32, *low * 1e-9, *fp32 * 1e-9, one_thread ? ", one thread" : "");
}

/// A note on a requested level that is slower than O0 would be.
std::string slower_note(const AmpChoice& choice, const DeviceRates& rates, MainWork work, DType preferred) {
  constexpr double noise = 0.95;
  const std::optional<double> fp32 = select_rate(rates.fp32, work);
  if (choice.level == AmpLevel::O0 || !fp32) return {};
  const bool is_fp16 = choice.dtype == AmpDType::automatic ? preferred == DType::f16 : choice.dtype == AmpDType::fp16;
  const DType dtype = is_fp16 ? DType::f16 : DType::bf16;
  const std::optional<double> low = select_rate(select_rates(rates, dtype), work);
  if (low.value_or(0) >= noise * *fp32) return {};
  return fmt::format("amp.level {}: O0 would be faster: {}", enum_name(choice.level), reason_for(dtype, rates, work));
}

}  // namespace

AmpDType to_amp_dtype(DType low) { return low == DType::f16 ? AmpDType::fp16 : AmpDType::bf16; }

AmpAdvice advise_amp(const DeviceRates& rates, MainWork work, DType preferred) {
  const std::optional<double> fp32 = select_rate(rates.fp32, work);
  const auto gain = [&](DType dtype) {
    return fp32 ? select_rate(select_rates(rates, dtype), work).value_or(0) / *fp32 : 0;
  };
  const DType other = preferred == DType::f16 ? DType::bf16 : DType::f16;
  AmpAdvice advice;
  advice.dtype = gain(other) > worthwhile * gain(preferred) ? other : preferred;
  advice.gain = gain(advice.dtype);
  advice.level = advice.gain >= worthwhile ? AmpLevel::O1 : AmpLevel::O0;
  advice.reason = reason_for(advice.dtype, rates, work);
  return advice;
}

AmpChoice choose_amp(const AmpConfig& requested, const AmpAdvice& advice, DType preferred) {
  AmpChoice choice;
  choice.level = requested.level.value_or(advice.level);
  choice.dtype = requested.dtype;
  if (!requested.level) choice.reason = advice.reason;
  if (choice.level == AmpLevel::O0) return choice;
  if (requested.dtype == AmpDType::automatic && advice.dtype != preferred) {
    choice.dtype = to_amp_dtype(advice.dtype);
    choice.reason = advice.reason;
  }
  return choice;
}

AmpChoice settle_amp(Config& config, DType preferred, const DeviceRates* rates, const Ranks& ranks) {
  AmpChoice choice;
  if (ranks.is_main()) {
    const MainWork work = config.model.entry.work;
    const DeviceRates known = rates == nullptr ? DeviceRates{} : *rates;
    AmpConfig requested = config.amp;
    const bool open = !requested.level || requested.dtype == AmpDType::automatic;
    const std::optional<TrainedAmp> trained = open ? trained_amp(config.resume, config.output.dir) : std::nullopt;
    if (trained && !requested.level) requested.level = trained->level;
    if (trained && requested.dtype == AmpDType::automatic) requested.dtype = trained->dtype;
    choice = choose_amp(requested, advise_amp(known, work, preferred), preferred);
    if (!config.amp.level && trained) choice.reason = "the checkpoint's";
    choice.note = slower_note(choice, known, work, preferred);
  }
  std::array<double, 2> agreed{static_cast<double>(choice.level), static_cast<double>(choice.dtype)};
  ranks.broadcast(agreed);
  choice.requested = config.amp.level ? enum_name(*config.amp.level) : "auto";
  config.amp.level = choice.level = static_cast<AmpLevel>(agreed[0]);
  config.amp.dtype = choice.dtype = static_cast<AmpDType>(agreed[1]);
  return choice;
}

}  // namespace ptrain
