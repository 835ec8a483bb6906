// Embedding gradients split the columns among the threads: each element is summed in token order by one thread, so the
// result depends neither on timing nor on the thread count.
#include "core/ops/text/embedding.h"
#include "core/ops/math/sequences.h"

#include "core/base/parallel.h"
#include "core/cpu/cpu_kernels.h"

#include <algorithm>
#include <cstring>

namespace ptrain::cpu {
namespace {

constexpr std::int64_t column_grain = 64;

/// A range of columns of row-major matrices that share their width.
struct Columns {
  std::int64_t begin;
  std::int64_t end;
  std::int64_t width;

  void zero(float* table, std::int64_t rows) const {
    for (std::int64_t r = 0; r < rows; ++r) {
      std::memset(table + r * width + begin, 0, static_cast<std::size_t>(end - begin) * sizeof(float));
    }
  }
  void add(const float* from, std::int64_t from_row, float* to, std::int64_t to_row) const {
    const float* source = from + from_row * width;
    float* target = to + to_row * width;
    for (std::int64_t c = begin; c < end; ++c) target[c] += source[c];
  }
};

template <typename Body>
void for_columns(std::int64_t width, Body&& body) {
  parallel_for(width, column_grain, [&](std::int64_t begin, std::int64_t end) { body(Columns{begin, end, width}); });
}

class EmbeddingKernel final : public Kernel {
  using Op = Embedding;

 public:
  explicit EmbeddingKernel(const KernelContext& context)
      : tokens_(context.inputs[Op::ids].count()), width_(context.inputs[Op::table].shape[1]) {}

  void run(const KernelArgs& args) override {
    const auto* ids = static_cast<const std::int32_t*>(args.inputs[Op::ids]);
    const auto* table = static_cast<const float*>(args.inputs[Op::table]);
    auto* y = static_cast<float*>(args.outputs[0]);
    parallel_for(tokens_, 16, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t t = begin; t < end; ++t) {
        const auto bytes = static_cast<std::size_t>(width_) * sizeof(float);
        if (ids[t] < 0) {
          std::memset(y + t * width_, 0, bytes);
        } else {
          std::memcpy(y + t * width_, table + ids[t] * width_, bytes);
        }
      }
    });
  }

 private:
  std::int64_t tokens_;
  std::int64_t width_;
};

class EmbeddingGradKernel final : public Kernel {
  using Op = EmbeddingGrad;

 public:
  explicit EmbeddingGradKernel(const KernelContext& context)
      : tokens_(context.inputs[Op::ids].count()),
        rows_(context.outputs[0].shape[0]),
        width_(context.outputs[0].shape[1]),
        bag_(tokens_ * width_ / context.inputs[Op::dy].count()) {}

  void run(const KernelArgs& args) override {
    const auto* ids = static_cast<const std::int32_t*>(args.inputs[Op::ids]);
    const auto* dy = static_cast<const float*>(args.inputs[Op::dy]);
    auto* table = static_cast<float*>(args.outputs[0]);
    for_columns(width_, [&](const Columns& columns) {
      columns.zero(table, rows_);
      for (std::int64_t t = 0; t < tokens_; ++t) {
        if (ids[t] >= 0) columns.add(dy, t / bag_, table, ids[t]);
      }
    });
  }

 private:
  std::int64_t tokens_;
  std::int64_t rows_;
  std::int64_t width_;
  std::int64_t bag_;  // tokens per row of dy
};

/// Number of sequences in the tokens of a BERT embedding or its gradient; `slot` is the input with packed sequences'
/// offsets.
std::int64_t count_sequences(const KernelContext& context, std::size_t slot) {
  return context.inputs.size() > slot ? context.inputs[slot].shape[0] - 1 : context.inputs[0].shape[0];
}

class BertEmbeddingKernel final : public Kernel {
  using Op = BertEmbedding;

 public:
  explicit BertEmbeddingKernel(const KernelContext& context)
      : sequences_(count_sequences(context, 5)),
        length_(context.inputs[Op::ids].shape[-1]),
        tokens_(context.inputs[Op::ids].count()),
        width_(context.inputs[Op::word].shape[1]),
        first_position_(context.op_as<BertEmbedding>().first_position()) {}

  void run(const KernelArgs& args) override {
    const auto* ids = static_cast<const std::int32_t*>(args.inputs[Op::ids]);
    const auto* types = static_cast<const std::int32_t*>(args.inputs[Op::token_types]);
    const auto* word = static_cast<const float*>(args.inputs[Op::word]);
    const auto* position = static_cast<const float*>(args.inputs[Op::position]) + first_position_ * width_;
    const auto* token_type = static_cast<const float*>(args.inputs[Op::token_type]);
    const SequencePlaces places = sequence_places(sequences_, length_, args.inputs, 5);
    auto* y = static_cast<float*>(args.outputs[0]);
    parallel_for(tokens_, 16, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t t = begin; t < end; ++t) {
        float* out = y + t * width_;
        const std::int64_t at = places.position(t);
        if (at < 0) {
          std::fill(out, out + width_, 0.0f);
          continue;
        }
        const float* w = word + ids[t] * width_;
        const float* p = position + at * width_;
        const float* k = token_type + types[t] * width_;
        for (std::int64_t c = 0; c < width_; ++c) out[c] = w[c] + p[c] + k[c];
      }
    });
  }

 private:
  std::int64_t sequences_;
  std::int64_t length_;
  std::int64_t tokens_;
  std::int64_t width_;
  std::int64_t first_position_;
};

class BertEmbeddingGradKernel final : public Kernel {
  using Op = BertEmbeddingGrad;

 public:
  explicit BertEmbeddingGradKernel(const KernelContext& context)
      : sequences_(count_sequences(context, 3)),
        length_(context.inputs[Op::ids].shape[-1]),
        width_(context.inputs[Op::dy].shape[-1]),
        rows_(context.op_as<BertEmbeddingGrad>().rows()) {}

  void run(const KernelArgs& args) override {
    const auto* ids = static_cast<const std::int32_t*>(args.inputs[Op::ids]);
    const auto* types = static_cast<const std::int32_t*>(args.inputs[Op::token_types]);
    const auto* dy = static_cast<const float*>(args.inputs[Op::dy]);
    const SequencePlaces places = sequence_places(sequences_, length_, args.inputs, 3);
    auto* word = static_cast<float*>(args.outputs[0]);
    auto* position = static_cast<float*>(args.outputs[1]);
    auto* token_type = static_cast<float*>(args.outputs[2]);
    for_columns(width_, [&](const Columns& columns) {
      columns.zero(word, rows_.words);
      columns.zero(position, rows_.positions);
      columns.zero(token_type, rows_.token_types);
      for (std::int64_t b = 0; b < sequences_; ++b) {
        for (std::int64_t first = places.begin(b), t = first; t < places.end(b); ++t) {
          columns.add(dy, t, word, ids[t]);
          columns.add(dy, t, position, rows_.first_position + t - first);
          columns.add(dy, t, token_type, types[t]);
        }
      }
    });
  }

 private:
  std::int64_t sequences_;
  std::int64_t length_;
  std::int64_t width_;
  BertTableRows rows_;
};

}  // namespace

std::unique_ptr<Kernel> make_bert_embedding(const KernelContext& context) {
  return std::make_unique<BertEmbeddingKernel>(context);
}
std::unique_ptr<Kernel> make_bert_embedding_grad(const KernelContext& context) {
  return std::make_unique<BertEmbeddingGradKernel>(context);
}
std::unique_ptr<Kernel> make_embedding(const KernelContext& context) {
  return std::make_unique<EmbeddingKernel>(context);
}
std::unique_ptr<Kernel> make_embedding_grad(const KernelContext& context) {
  return std::make_unique<EmbeddingGradKernel>(context);
}

}  // namespace ptrain::cpu
