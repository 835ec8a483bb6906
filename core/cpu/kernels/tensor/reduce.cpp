// Sums and maxima over axes. Each result is added up in runs of floats, in a fixed order and combined in double; where
// there are few results, parts of each are computed in parallel, their number depending on the shape only.
#include "core/ops/tensor/reduce.h"

#include "core/cpu/cpu_kernels.h"
#include "core/cpu/kernels/tensor/strided_runs.h"

#include <cmath>
#include <limits>

namespace ptrain::cpu {
namespace {

/// Elements that are added as floats before they are combined in double.
constexpr std::int64_t row_run = 2048, column_run = 128;
/// Neighbouring results computed together.
constexpr std::int64_t most_columns = 256;

struct Sum {
  static constexpr float start = 0;
  static PTRAIN_INLINE f32x16 join(f32x16 a, f32x16 b) { return a + b; }
  static double join(double a, double b) { return a + b; }
  static double join_lanes(const float (&values)[lanes]) {
    double halves[lanes / 2];
    for (int i = 0; i < lanes / 2; ++i) {
      halves[i] = static_cast<double>(values[i]) + static_cast<double>(values[i + lanes / 2]);
    }
    for (int width = lanes / 4; width > 0; width /= 2) {
      for (int i = 0; i < width; ++i) halves[i] += halves[i + width];
    }
    return halves[0];
  }
};

/// The maximum with a NaN is NaN.
struct Max {
  static constexpr float start = -std::numeric_limits<float>::infinity();
  static PTRAIN_INLINE f32x16 join(f32x16 a, f32x16 b) {
    return by_registers([](auto p, auto q) { return q > p ? q : (q == q ? p : q); }, a, b);
  }
  static double join(double a, double b) { return b > a || std::isnan(b) ? b : a; }
  static double join_lanes(float (&values)[lanes]) {
    for (int width = lanes / 2; width > 0; width /= 2) {
      for (int i = 0; i < width; ++i) {
        const float a = values[i], b = values[i + width];
        values[i] = ((b > a) | (b != b)) ? b : a;
      }
    }
    return static_cast<double>(values[0]);
  }
};

/// The axes of x, grouped into reduced and kept ones. A task computes `columns` neighbouring results, or a part of
/// them.
struct Extent {
  StridedIndex kept, reduced;
  std::int64_t inner = 1;  // of the last axis, which is contiguous
  bool inner_reduced = false;
  std::int64_t results = 1, parts = 1;

  Extent(const Shape& shape, const std::vector<bool>& is_reduced) {
    int first = shape.rank();  // the contiguous axes
    for (int axis = first - 1; axis >= 0; first = axis--) {
      if (shape[axis] == 1) continue;
      if (inner > 1 && is_reduced[at(axis)] != inner_reduced) break;
      inner_reduced = is_reduced[at(axis)];
      inner *= shape[axis];
    }
    std::int64_t stride = shape.count();
    for (int axis = 0; axis < first; ++axis) {
      stride /= shape[axis];
      (is_reduced[at(axis)] ? reduced : kept).add(shape[axis], stride);
    }
    results = kept.count() * (inner_reduced ? 1 : inner);
    const std::int64_t per_task = shape.count() / (kept.count() * column_blocks());
    if (kept.count() * column_blocks() < 32)
      parts = std::clamp<std::int64_t>(per_task >> 15, 1, std::min<std::int64_t>(64, units()));
  }

  static std::size_t at(int axis) { return static_cast<std::size_t>(axis); }
  std::int64_t column_blocks() const { return inner_reduced ? 1 : (inner + most_columns - 1) / most_columns; }
  /// Runs per row, and the units of parts: runs, or rows of columns.
  std::int64_t row_runs() const { return (inner + row_run - 1) / row_run; }
  std::int64_t units() const { return reduced.count() * (inner_reduced ? row_runs() : 1); }
  std::int64_t tasks() const { return kept.count() * column_blocks() * parts; }
};

/// One run of a row.
template <typename Join, typename T>
double reduce_run(const T* x, std::int64_t count) {
  f32x16 lanes_a = splat(Join::start), lanes_b = lanes_a;
  std::int64_t i = 0;
  for (; i + 2 * lanes <= count; i += 2 * lanes) {
    lanes_a = Join::join(lanes_a, load16(x + i));
    lanes_b = Join::join(lanes_b, load16(x + i + lanes));
  }
  float values[lanes];
  store16(values, Join::join(lanes_a, lanes_b));
  double result = Join::join_lanes(values);
  for (; i < count; ++i) result = Join::join(result, static_cast<double>(static_cast<float>(x[i])));
  return result;
}

/// results[c] = the reduction of units [begin, end) of columns [first, first + count).
template <typename Join, typename T>
void reduce_columns(const Extent& extent, const T* x, std::int64_t begin, std::int64_t end, std::int64_t count,
                    double* results) {
  std::fill_n(results, count, static_cast<double>(Join::start));
  for (std::int64_t first = begin; first < end; first += column_run) {
    float run[most_columns];
    std::fill_n(run, count, Join::start);
    for_parts(extent.reduced, first, std::min(column_run, end - first),
              [&](std::int64_t, std::int64_t offset, std::int64_t stride, std::int64_t rows) {
                for (std::int64_t row = 0; row < rows; ++row) {
                  const T* values = x + offset + row * stride;
                  for_channels(count, [&](std::int64_t c, auto access) {
                    access.store(run + c, Join::join(access.load(run + c), access.load(values + c)));
                  });
                }
              });
    for (std::int64_t c = 0; c < count; ++c) results[c] = Join::join(results[c], static_cast<double>(run[c]));
  }
}

class ReduceKernel final : public Kernel {
 public:
  explicit ReduceKernel(const KernelContext& context)
      : kind_(context.op_as<Reduce>().attrs().kind),
        x_(context.inputs[0]),
        extent_(x_.shape, reduced_axes(context.op_as<Reduce>().attrs(), x_.shape.rank())) {}

  std::size_t workspace_bytes() const override {
    return extent_.parts == 1 ? 0 : static_cast<std::size_t>(extent_.parts * extent_.results) * sizeof(double);
  }

  void run(const KernelArgs& args) override {
    visit_floating(x_.dtype, [&](auto zero) {
      if (kind_ == ReduceKind::max) {
        run_as<Max, decltype(zero)>(args);
      } else {
        run_as<Sum, decltype(zero)>(args);
      }
    });
  }

 private:
  template <typename Join, typename T>
  void run_as(const KernelArgs& args) const {
    const auto* x = static_cast<const T*>(args.inputs[0]);
    auto* y = static_cast<T*>(args.outputs[0]);
    auto* partial = static_cast<double*>(args.workspace);
    const double factor =
        kind_ == ReduceKind::mean ? static_cast<double>(extent_.results) / static_cast<double>(x_.count()) : 1;
    const auto put = [&](std::int64_t result, double value) { y[result] = T(static_cast<float>(value * factor)); };
    const std::int64_t tasks_at_once =
        std::max<std::int64_t>(1, (1 << 14) / std::max<std::int64_t>(1, x_.count() / extent_.tasks()));
    parallel_for(extent_.tasks(), tasks_at_once, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t task = begin; task < end; ++task) {
        double results[most_columns];
        const std::int64_t part = task % extent_.parts, block = task / extent_.parts;
        const Range range = run_task<Join>(x, block, part, results);
        for (std::int64_t i = 0; i < range.count; ++i) {
          if (extent_.parts == 1) {
            put(range.first + i, results[i]);
          } else {
            partial[part * extent_.results + range.first + i] = results[i];
          }
        }
      }
    });
    if (extent_.parts == 1) return;
    parallel_for(extent_.results, 512, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t result = begin; result < end; ++result) {
        double value = partial[result];
        for (std::int64_t part = 1; part < extent_.parts; ++part) {
          value = Join::join(value, partial[part * extent_.results + result]);
        }
        put(result, value);
      }
    });
  }

  struct Range {
    std::int64_t first, count;  // results
  };

  template <typename Join, typename T>
  Range run_task(const T* x, std::int64_t block, std::int64_t part, double* results) const {
    const std::int64_t begin = extent_.units() * part / extent_.parts,
                       end = extent_.units() * (part + 1) / extent_.parts;
    if (!extent_.inner_reduced) {
      const std::int64_t outer = block / extent_.column_blocks(),
                         first = block % extent_.column_blocks() * most_columns;
      const std::int64_t count = std::min(most_columns, extent_.inner - first);
      reduce_columns<Join>(extent_, x + extent_.kept.offset(outer) + first, begin, end, count, results);
      return {outer * extent_.inner + first, count};
    }
    const T* rows = x + extent_.kept.offset(block);
    results[0] = static_cast<double>(Join::start);
    for (std::int64_t unit = begin; unit < end; ++unit) {
      const std::int64_t first = unit % extent_.row_runs() * row_run;
      const T* run = rows + extent_.reduced.offset(unit / extent_.row_runs()) + first;
      results[0] = Join::join(results[0], reduce_run<Join>(run, std::min(row_run, extent_.inner - first)));
    }
    return {block, 1};
  }

  ReduceKind kind_;
  TensorDesc x_;
  Extent extent_;
};

}  // namespace

std::unique_ptr<Kernel> make_reduce(const KernelContext& context) { return std::make_unique<ReduceKernel>(context); }

}  // namespace ptrain::cpu
