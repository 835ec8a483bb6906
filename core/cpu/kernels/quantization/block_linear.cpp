// Some rows of weights at a time, with four adjacent elements of each in a register, so that a lane adds up one element
// of y. One product serves one row of x and many: a block's integers are exact, and blocks are added in their order, so
// that a text's values do not depend on the texts beside it.
#include "core/ops/quantization/block_linear.h"

#include "core/base/parallel.h"
#include "core/cpu/cpu_kernels.h"
#include "core/cpu/kernels/quantization/block_products.h"
#include "core/cpu/simd/small_gemm.h"

#include <fmt/format.h>

#include <cstring>

namespace ptrain::cpu {
namespace {

using namespace block_panel;

class BlockLinearKernel final : public Kernel {
  using Op = BlockLinear;

 public:
  explicit BlockLinearKernel(const KernelContext& context)
      : format_(context.op_as<Op>().attrs().format),
        in_(context.inputs[Op::x].shape[-1]),
        out_(context.inputs[Op::w].shape[0]),
        rows_(context.inputs[Op::x].count() / in_) {}

  std::size_t workspace_bytes() const override { return RoundedRows::bytes(rows_, in_); }
  KernelRecord record() const override {
    return {fmt::format("{}:{}", enum_name(format_), uses_amx() ? "amx" : instructions)};
  }

  void run(const KernelArgs& args) override {
    const auto* x = static_cast<const float*>(args.inputs[Op::x]);
    const RoundedRows rounded(args.workspace, rows_, in_);
    parallel_for(rows_, std::max<std::int64_t>(1, elements_at_once / in_), [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t row = begin; row < end; ++row) rounded.round_row(x + row * in_, row);
    });
    switch (format_) {
      case BlockFormat::q8_0:
        return multiply<BlockFormat::q8_0>(rounded, args);
      case BlockFormat::q4_0:
        return multiply<BlockFormat::q4_0>(rounded, args);
      case BlockFormat::q4_1:
        return multiply<BlockFormat::q4_1>(rounded, args);
      case BlockFormat::q4_k:
        return multiply<BlockFormat::q4_k>(rounded, args);
      case BlockFormat::q5_k:
        return multiply<BlockFormat::q5_k>(rounded, args);
      case BlockFormat::q6_k:
        return multiply<BlockFormat::q6_k>(rounded, args);
    }
  }

 private:
  static constexpr std::int64_t elements_at_once = 1 << 14;  // per thread
  static constexpr int tile_rows = 4;                        // of x
  static constexpr std::int64_t many_rows = 8;               // fewer read weights in the order of the memory

  /// What is kept, in the first-level cache or near it, while all rows of x are multiplied by it.
  struct Kept {
    std::int64_t panels, blocks;  // of each
  };
  static constexpr Kept kept_for_few{1, 32}, kept_for_many{4, 8}, kept_for_amx{1, knows_amx ? 64 : 0};
  static constexpr std::int64_t kept_blocks =
      std::max({kept_for_few.blocks, kept_for_many.panels* kept_for_many.blocks, kept_for_amx.blocks});

  bool uses_amx() const { return rows_ >= amx_rows && has_amx(); }
  Kept kept() const { return uses_amx() ? kept_for_amx : rows_ < many_rows ? kept_for_few : kept_for_many; }

  template <BlockFormat format>
  void multiply(const RoundedRows& x, const KernelArgs& args) const {
    const Layer layer{static_cast<const std::byte*>(args.inputs[Op::w]),
                      args.inputs.size() > Op::bias ? static_cast<const float*>(args.inputs[Op::bias]) : nullptr,
                      static_cast<float*>(args.outputs[0])};
    parallel_for((out_ + panel_rows - 1) / panel_rows, std::max<std::int64_t>(1, elements_at_once / in_ / panel_rows),
                 [&](std::int64_t begin, std::int64_t end) {
                   const std::int64_t most = kept().panels;
                   for (std::int64_t panel = begin; panel < end; panel += most) {
                     multiply_panels<format>(layer, x, panel, std::min(most, end - panel));
                   }
                 });
  }

  struct Layer {
    const std::byte* w;
    const float* bias;  // or nullptr
    float* y;
  };

  template <BlockFormat format>
  void multiply_panels(const Layer& layer, const RoundedRows& x, std::int64_t first, std::int64_t count) const {
    PanelBlock<format> panels[kept_blocks];
    const std::int64_t most = kept().blocks;
    for (std::int64_t block = 0; block < x.blocks; block += most) {
      const std::int64_t blocks = std::min<std::int64_t>(most, x.blocks - block);
      for (std::int64_t p = 0; p < count; ++p) load_panel(layer.w, first + p, block, blocks, panels + p * blocks);
      const auto tile = [&]<int rows>(std::int64_t row) {
        for (std::int64_t p = 0; p < count; ++p) {
          multiply_tile<format, rows>(layer, x, row, (first + p) * panel_rows, panels + p * blocks, block, blocks);
        }
      };
      std::int64_t row = 0;
      if constexpr (knows_amx) {
        if (uses_amx()) {
          const AmxTiles<format> tiles;
          for (; row + amx_rows <= rows_; row += amx_rows) tile.template operator()<amx_rows>(row);
        }
      }
      for (; row + tile_rows <= rows_; row += tile_rows) tile.template operator()<tile_rows>(row);
      if (rows_ - row == 3) tile.template operator()<3>(row);
      if (rows_ - row == 2) tile.template operator()<2>(row);
      if (rows_ - row == 1) tile.template operator()<1>(row);
    }
  }

  /// Rows beyond the last repeat it.
  template <BlockFormat format>
  void load_panel(const std::byte* w, std::int64_t panel, std::int64_t first, std::int64_t blocks,
                  PanelBlock<format>* to) const {
    const std::byte* rows[panel_rows];
    for (int i = 0; i < panel_rows; ++i) {
      rows[i] = w + std::min(panel * panel_rows + i, out_ - 1) * bytes_in_blocks(format, in_);
    }
    const std::int64_t ahead = panel_rows * bytes_in_blocks(format, in_);  // the next panel
    for (std::int64_t b = 0; b < blocks; ++b) {
      const std::int64_t at = (first + b) * block_row_elements / block_elements(format) * block_bytes(format);
      for (const std::byte* row : rows) __builtin_prefetch(row + ahead + at);
      to[b].load(rows, first + b);
    }
  }

  /// Of y, a panel's columns (fewer at its end) of `rows` rows: begins with the bias, or adds to y.
  template <BlockFormat format, int rows>
  void multiply_tile(const Layer& layer, const RoundedRows& x, std::int64_t row, std::int64_t column,
                     const PanelBlock<format>* panel, std::int64_t first, std::int64_t blocks) const {
    const auto bytes = static_cast<std::size_t>(std::min<std::int64_t>(panel_rows, out_ - column)) * sizeof(float);
    Floats sums[rows] = {};
    for (int j = 0; j < rows; ++j) {
      const float* from = first > 0 ? layer.y + (row + j) * out_ : layer.bias;
      if (from != nullptr) sums[j] = load_columns(from + column, bytes);
    }
    const BlockRows block_rows(x, row, first);
    if constexpr (rows == amx_rows) {
      AmxTiles<format>::add(panel, blocks, block_rows, sums);
    } else {
      add_blocks<format, rows>(panel, blocks, block_rows, sums);
    }
    for (int j = 0; j < rows; ++j) store_columns(layer.y + (row + j) * out_ + column, sums[j], bytes);
  }

  /// By one instruction where they are all of a panel.
  PTRAIN_INLINE static Floats load_columns(const float* from, std::size_t bytes) {
    Floats columns{};
    if (bytes == sizeof columns) {
      memcpy(&columns, from, sizeof columns);
    } else {
      memcpy(&columns, from, bytes);
    }
    return columns;
  }
  PTRAIN_INLINE static void store_columns(float* to, Floats columns, std::size_t bytes) {
    if (bytes == sizeof columns) {
      memcpy(to, &columns, sizeof columns);
    } else {
      memcpy(to, &columns, bytes);
    }
  }

  BlockFormat format_;
  std::int64_t in_, out_, rows_;
};

/// Threads share the columns of dx. Of their weights some rows at a time are dequantized, which all rows of dy read.
class BlockLinearGradInputKernel final : public Kernel {
  using Op = BlockLinearGradInput;

 public:
  explicit BlockLinearGradInputKernel(const KernelContext& context)
      : format_(context.op_as<Op>().attrs().format),
        in_(context.outputs[0].shape[-1]),
        out_(context.inputs[Op::w].shape[0]),
        rows_(context.inputs[Op::dy].count() / out_) {}

  void run(const KernelArgs& args) override {
    const auto* dy = static_cast<const float*>(args.inputs[Op::dy]);
    const auto* w = static_cast<const std::byte*>(args.inputs[Op::w]);
    auto* dx = static_cast<float*>(args.outputs[0]);
    const std::int64_t columns = std::max(least_columns, block_elements(format_));
    parallel_for((in_ + columns - 1) / columns, 1, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t column = begin * columns; column < std::min(in_, end * columns); column += columns) {
        multiply_columns(dy, w, column, std::min(columns, in_ - column), dx);
      }
    });
  }

 private:
  static constexpr std::int64_t least_columns = 128, most_columns = 256, tile_rows = 64;

  void multiply_columns(const float* dy, const std::byte* w, std::int64_t column, std::int64_t count, float* dx) const {
    alignas(64) float tile[tile_rows * most_columns];
    const auto values = static_cast<std::size_t>(count);
    const auto bytes = static_cast<std::size_t>(bytes_in_blocks(format_, count));
    for (std::int64_t row = 0; row < out_; row += tile_rows) {
      const std::int64_t depth = std::min(tile_rows, out_ - row);
      for (std::int64_t i = 0; i < depth; ++i) {
        const std::byte* blocks = w + bytes_in_blocks(format_, (row + i) * in_ + column);
        dequantize_blocks(format_, {blocks, bytes}, {tile + i * count, values});
      }
      small_gemm(SmallGemm<float>{.rows = rows_,
                                  .columns = count,
                                  .depth = depth,
                                  .a = dy + row,
                                  .a_row = out_,
                                  .a_column = 1,
                                  .b = tile,
                                  .ldb = count,
                                  .c = dx + column,
                                  .ldc = in_,
                                  .accumulate = row > 0});
    }
  }

  BlockFormat format_;
  std::int64_t in_, out_, rows_;
};

class BlockEmbeddingKernel final : public Kernel {
  using Op = BlockEmbedding;

 public:
  explicit BlockEmbeddingKernel(const KernelContext& context)
      : format_(context.op_as<Op>().attrs().format),
        tokens_(context.inputs[Op::ids].count()),
        width_(static_cast<std::size_t>(context.outputs[0].shape[-1])),
        row_bytes_(static_cast<std::size_t>(context.inputs[Op::table].shape[1])) {}

  void run(const KernelArgs& args) override {
    const auto* ids = static_cast<const std::int32_t*>(args.inputs[Op::ids]);
    const auto* table = static_cast<const std::byte*>(args.inputs[Op::table]);
    auto* y = static_cast<float*>(args.outputs[0]);
    parallel_for(tokens_, 16, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t t = begin; t < end; ++t) {
        dequantize_blocks(format_, {table + static_cast<std::size_t>(ids[t]) * row_bytes_, row_bytes_},
                          {y + static_cast<std::size_t>(t) * width_, width_});
      }
    });
  }

 private:
  BlockFormat format_;
  std::int64_t tokens_;
  std::size_t width_, row_bytes_;
};

}  // namespace

std::unique_ptr<Kernel> make_block_linear(const KernelContext& context) {
  return std::make_unique<BlockLinearKernel>(context);
}
std::unique_ptr<Kernel> make_block_linear_grad_input(const KernelContext& context) {
  return std::make_unique<BlockLinearGradInputKernel>(context);
}
std::unique_ptr<Kernel> make_block_embedding(const KernelContext& context) {
  return std::make_unique<BlockEmbeddingKernel>(context);
}

}  // namespace ptrain::cpu
