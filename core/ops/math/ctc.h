// The recursions of connectionist temporal classification (Graves et al. 2006, section 4.1) at one step and position,
// in logarithms, for both backends.
#pragma once

#include "core/ops/math/exp.h"
#include "core/ops/math/log.h"
#include "core/ops/softmax_cross_entropy.h"

namespace ptrain {

/// log(0), of what cannot be.
PTRAIN_HD_INLINE float ctc_never() { return bits_to_float(0xff800000u); }

/// log(exp(a) + exp(b) + exp(c)); NaN where one of them is.
PTRAIN_HD_INLINE float log_add(float a, float b, float c) {
  const float greater = a > b ? a : b, largest = greater > c ? greater : c;
  if (largest == ctc_never()) return a + b + c;
  return largest + fast_log(fast_exp(a - largest) + fast_exp(b - largest) + fast_exp(c - largest));
}

/// The positions of a label in a sequence: its characters with a blank before, between and after them.
struct CtcPositions {
  const std::int32_t* labels;
  std::int64_t length;  // characters
  std::int32_t blank;

  PTRAIN_HD_INLINE std::int64_t count() const { return 2 * length + 1; }
  PTRAIN_HD_INLINE std::int32_t symbol(std::int64_t s) const { return s % 2 == 0 ? blank : labels[s / 2]; }
  /// Whether position s may follow on s - 2, without the blank between two characters.
  PTRAIN_HD_INLINE bool skips_to(std::int64_t s) const {
    return s % 2 == 1 && s > 1 && labels[s / 2] != labels[s / 2 - 1];
  }
  /// Whether there is a label and it fits into that many steps.
  PTRAIN_HD_INLINE bool are_learnt(std::int64_t steps) const {
    std::int64_t needed = length;
    for (std::int64_t i = 1; i < length; ++i) needed += labels[i] == labels[i - 1] ? 1 : 0;
    return length > 0 && needed <= steps;
  }
  /// Whether no position before s has its symbol.
  PTRAIN_HD_INLINE bool is_first(std::int64_t s) const {
    bool found = s % 2 == 0 && s > 0;
    for (std::int64_t i = 0; i < s / 2; ++i) found = found || (s % 2 == 1 && labels[i] == labels[s / 2]);
    return !found;
  }

  /// What comes to position s, from the forward variables of the step before; null: the first step.
  PTRAIN_HD_INLINE float come_to(std::int64_t s, const float* before) const {
    if (before == nullptr) return s < 2 ? 0.0f : ctc_never();
    return log_add(before[s], s > 0 ? before[s - 1] : ctc_never(), skips_to(s) ? before[s - 2] : ctc_never());
  }
  /// What follows position s, from the backward variables of the step after; null: the last step.
  PTRAIN_HD_INLINE float go_on(std::int64_t s, const float* after) const {
    if (after == nullptr) return s + 2 < count() ? ctc_never() : 0.0f;
    return log_add(after[s], s + 1 < count() ? after[s + 1] : ctc_never(),
                   s + 2 < count() && skips_to(s + 2) ? after[s + 2] : ctc_never());
  }
  /// Minus the logarithm of the label's probability, from the last step's forward variables; there is a label.
  PTRAIN_HD_INLINE float negative_likelihood(const float* last) const {
    return -log_add(last[count() - 1], last[count() - 2], ctc_never());
  }
};

/// The extents of a batch: logits [samples, steps, classes] and labels [samples, longest].
struct CtcExtent {
  std::int64_t samples, steps, classes, longest;
  std::int32_t blank;

  CtcExtent(const Shape& logits, const Shape& labels, std::int32_t blank_class)
      : samples(logits[0]), steps(logits[1]), classes(logits[2]), longest(labels[1]), blank(blank_class) {}

  PTRAIN_HD_INLINE std::int64_t most_positions() const { return 2 * longest + 1; }
  /// Of one sample, from all labels.
  PTRAIN_HD_INLINE CtcPositions positions(const std::int32_t* labels, std::int64_t sample) const {
    const std::int32_t* const own = labels + sample * longest;
    std::int64_t length = 0;
    while (length < longest && own[length] != ignored_label) ++length;
    return {own, length, blank};
  }
};

}  // namespace ptrain
