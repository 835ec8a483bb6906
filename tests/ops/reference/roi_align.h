// Naive RoIAlign in double precision.
#pragma once

#include "core/ops/detection/roi_align.h"
#include "tests/ops/op_case.h"

#include <algorithm>
#include <cmath>

namespace ptrain::testing {

/// The level of a box by the logarithm of its side, as the paper on feature pyramids has it.
inline int reference_level(const RoiLevels& levels, const double* box) {
  const double side = std::sqrt((box[2] - box[0]) * (box[3] - box[1]));
  const double level = std::floor(4 + std::log2(side / 224) + 1e-6) - std::log2(levels.finest_stride);
  return static_cast<int>(std::clamp(level, 0.0, levels.count - 1.0));
}

/// inputs: boxes, then maps. Reads maps at real coordinates by weights 1 - distance.
inline std::vector<double> reference_roi_align(const RoiAlignAttributes& align, const std::vector<HostTensor>& inputs) {
  const Shape& boxes = inputs[0].desc.shape;
  std::vector<double> y;
  for (std::int64_t region = 0; region < boxes[0] * boxes[1]; ++region) {
    const double* box = inputs[0].values.data() + region * boxes[2];
    const int level = reference_level(align.levels, box);
    const HostTensor& map = inputs[static_cast<std::size_t>(1 + level)];
    const Shape& shape = map.desc.shape;
    const double stride = align.levels.finest_stride * std::pow(2, level);
    const double height = std::max((box[3] - box[1]) / stride, 1.0), width = std::max((box[2] - box[0]) / stride, 1.0);
    const auto weight = [](double at, std::int64_t pixel, std::int64_t size) {
      if (at < -1 || at > static_cast<double>(size)) return 0.0;
      at = std::clamp(at, 0.0, static_cast<double>(size - 1));
      return std::max(0.0, 1 - std::abs(at - static_cast<double>(pixel)));
    };
    for (int p = 0; p < align.bins; ++p)
      for (int q = 0; q < align.bins; ++q)
        for (std::int64_t c = 0; c < shape[3]; ++c) {
          double sum = 0;
          for (int i = 0; i < align.samples; ++i)
            for (int j = 0; j < align.samples; ++j) {
              const double row = box[1] / stride + (p + (i + 0.5) / align.samples) * height / align.bins;
              const double column = box[0] / stride + (q + (j + 0.5) / align.samples) * width / align.bins;
              const auto first_row = std::max<std::int64_t>(0, static_cast<std::int64_t>(row) - 1);
              const auto first_column = std::max<std::int64_t>(0, static_cast<std::int64_t>(column) - 1);
              for (std::int64_t h = first_row; h < std::min(shape[1], first_row + 4); ++h)
                for (std::int64_t w = first_column; w < std::min(shape[2], first_column + 4); ++w) {
                  const auto at = ((region / boxes[1] * shape[1] + h) * shape[2] + w) * shape[3] + c;
                  sum +=
                      weight(row, h, shape[1]) * weight(column, w, shape[2]) * map.values[static_cast<std::size_t>(at)];
                }
            }
          y.push_back(sum / (align.samples * align.samples));
        }
  }
  return y;
}

}  // namespace ptrain::testing
