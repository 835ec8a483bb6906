// The row arithmetic of softmax cross entropy, forward and backward.
#pragma once

#include "core/ops/math/exp.h"
#include "core/ops/math/mixed_label.h"
#include "core/ops/softmax_cross_entropy.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace ptrain::cpu {

/// The divisor of the mean: the number of rows that count, or the sum of their weights; 1 if none counts.
inline double count_rows(const MixedLabels& labels, std::int64_t rows) {
  double sum = 0;
  for (std::int64_t r = 0; r < rows; ++r) sum += static_cast<double>(labels.row_weight(r, ignored_label));
  return sum > 0 ? sum : 1;
}

/// For a row's logits: the largest, and with class weights or label smoothing their mean and the mean weight.
struct RowFigures {
  float largest = -std::numeric_limits<float>::infinity();
  float mean = 0, mean_weight = 0;
};

/// Those figures of logits [classes].
template <typename T>
RowFigures row_figures(const T* logits, std::int64_t classes, const MixedLabels& labels) {
  RowFigures row;
  if (labels.class_weights == nullptr) {
    float largest = row.largest, total = 0;
#pragma omp simd reduction(max : largest) reduction(+ : total)
    for (std::int64_t c = 0; c < classes; ++c) {
      const auto value = static_cast<float>(logits[c]);
      largest = value > largest ? value : largest;
      total += value;
    }
    return {largest, total / static_cast<float>(classes), 1};
  }
  for (std::int64_t c = 0; c < classes; ++c) {
    const auto value = static_cast<float>(logits[c]);
    const float weight = labels.class_weight(c);
    row.largest = std::max(row.largest, value);
    row.mean += weight * value / static_cast<float>(classes);
    row.mean_weight += weight / static_cast<float>(classes);
  }
  return row;
}

/// Writes softmax(logits) of row `r`, in place if desired, and returns its cross entropy.
template <typename T>
float softmax_row(const T* logits, std::int64_t classes, const MixedLabels& labels, std::int64_t r, float smoothing,
                  float* probabilities) {
  const RowFigures row = row_figures(logits, classes, labels);
  const float largest = row.largest;
  const bool counts = labels.own[r] != ignored_label;
  const float of_labels =
      counts ? labels.mean(r, [logits](std::int32_t label) { return static_cast<float>(logits[label]); }) : 0.0f;
  float sum = 0;
#pragma omp simd reduction(+ : sum)
  for (std::int64_t c = 0; c < classes; ++c) {
    // A NaN must reach the loss: this sum carries it, which the maximum does not.
    probabilities[c] = fast_exp(static_cast<float>(logits[c]) - largest);
    sum += probabilities[c];
  }
  const float scale = 1 / sum;
  for (std::int64_t c = 0; c < classes; ++c) probabilities[c] *= scale;
  if (!counts) return 0;
  const float log_sum = largest + std::log(sum);
  const float of_row = labels.class_weight(labels.own[r]);
  return labels.target_weight(r, smoothing, row.mean_weight) * log_sum - (1 - smoothing) * of_row * of_labels -
         smoothing * row.mean;
}

/// What the gradients of a batch's rows have in common.
struct GradientFactors {
  float smoothing = 0;
  float scale = 0;        // the loss's gradient over the divisor of the mean
  float mean_weight = 1;  // of the classes
};

/// The factors for logits [rows, classes] with these labels, where `dloss` is the gradient of their loss.
inline GradientFactors compute_gradient_factors(const MixedLabels& labels, std::int64_t rows, std::int64_t classes,
                                                float smoothing, float dloss) {
  float mean_weight = 0;
  for (std::int64_t c = 0; c < classes; ++c) mean_weight += labels.class_weight(c) / static_cast<float>(classes);
  return {smoothing, dloss / static_cast<float>(count_rows(labels, rows)), mean_weight};
}

/// The gradient of a row with a plain class label and equal class weights; may overwrite the probabilities.
template <typename T>
void plain_gradient_row(const float* probabilities, std::int64_t classes, std::int32_t label, float smoothing,
                        float scale, T* gradient) {
  const float everywhere = smoothing / static_cast<float>(classes);
  const float of_label = (probabilities[label] - everywhere - (1 - smoothing)) * scale;
#pragma omp simd
  for (std::int64_t c = 0; c < classes; ++c) gradient[c] = T((probabilities[c] - everywhere) * scale);
  gradient[label] = T(of_label);
}

/// The gradient of row `r`'s logits; may overwrite the probabilities.
template <typename T>
void softmax_gradient_row(const float* probabilities, std::int64_t classes, const MixedLabels& labels, std::int64_t r,
                          const GradientFactors& factors, T* gradient) {
  const auto [smoothing, scale, mean_weight] = factors;
  if (labels.own[r] == ignored_label || scale == 0) {
    std::fill(gradient, gradient + classes, T(0.0f));
    return;
  }
  if (labels.other == nullptr && labels.class_weights == nullptr) {
    plain_gradient_row(probabilities, classes, labels.own[r], smoothing, scale, gradient);
    return;
  }
  const float everywhere = smoothing / static_cast<float>(classes);
  const float of_row = labels.target_weight(r, smoothing, mean_weight);
  for (std::int64_t c = 0; c < classes; ++c) {
    const float target = everywhere + (1 - smoothing) * labels.weight(r, c);
    gradient[c] = T((probabilities[c] * of_row - target * labels.class_weight(c)) * scale);
  }
}

}  // namespace ptrain::cpu
