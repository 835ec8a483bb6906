#include "core/ops/linear_cross_entropy.h"

#include "core/base/errors.h"
#include "core/ops/require.h"

#include <algorithm>

namespace ptrain {
namespace {

TensorDesc infer_logits(std::span<const TensorDesc> inputs, const LinearCrossEntropyAttributes& attributes) {
  const TensorDesc &x = inputs[LinearCrossEntropy::x], &w = inputs[LinearCrossEntropy::w];
  require_floating(x, "x");
  require_floating(w, "w");
  require(w.shape.rank() == 2, "w: expected [V,K], got {}", w.to_string());
  require(x.shape.rank() >= 1 && x.shape[-1] == w.shape[1], "x {} does not fit w {}", x.to_string(), w.to_string());
  require_desc(inputs[LinearCrossEntropy::labels], {DType::i32, Shape{leading_shape(x.shape).count()}}, "labels");
  require(attributes.chunk_rows > 0 && attributes.chunk_rows % chunk_rows_multiple == 0,
          "chunk_rows: expected a multiple of {}, got {}", chunk_rows_multiple, attributes.chunk_rows);
  return {DType::f32, Shape{attributes.chunk_rows, w.shape[0]}};
}

std::string describe_loss(const LinearCrossEntropyAttributes& attributes) {
  std::string text = fmt::format("chunk_rows={}", attributes.chunk_rows);
  if (attributes.label_smoothing > 0) text += fmt::format(" label_smoothing={}", attributes.label_smoothing);
  return text;
}

/// Figures of the chunks that costs are counted by.
struct ChunkSizes {
  double products;      // multiply-adds of one product, as two operations each
  double logits;        // elements, of all rows
  double logits_bytes;  // their traffic while softmax and loss are computed: written, read, written as probabilities
  double again;         // bytes of the weights for the chunks after the first
};

ChunkSizes measure_chunks(std::span<const TensorDesc> inputs, const LinearCrossEntropyAttributes& attributes) {
  const TensorDesc &x = inputs[LinearCrossEntropy::x], &w = inputs[LinearCrossEntropy::w];
  const std::int64_t rows = leading_shape(x.shape).count();
  const std::int64_t chunks = (rows + attributes.chunk_rows - 1) / attributes.chunk_rows;
  const double logits = static_cast<double>(rows) * static_cast<double>(w.shape[0]);
  return {2 * logits * static_cast<double>(w.shape[1]), logits, 3 * logits * sizeof(float),
          static_cast<double>(chunks - 1) * static_cast<double>(w.bytes())};
}

}  // namespace

std::int64_t choose_chunk_rows(std::int64_t rows) {
  constexpr std::int64_t most_chunks = 8, fewest_rows = 256;
  const std::int64_t chunks = std::clamp<std::int64_t>(rows / fewest_rows, 1, most_chunks);
  const std::int64_t multiples = (rows + chunks * chunk_rows_multiple - 1) / (chunks * chunk_rows_multiple);
  return multiples * chunk_rows_multiple;
}

std::string LinearCrossEntropy::attributes() const { return describe_loss(attributes_); }

std::vector<TensorDesc> LinearCrossEntropy::infer(std::span<const TensorDesc> inputs) const {
  require_count(inputs, 3, 3);
  return {{DType::f32, Shape{}}, infer_logits(inputs, attributes_)};
}

void LinearCrossEntropy::gradient(GradientBuilder& builder) const {
  const ValueId dloss = builder.output_gradient(loss);
  if (dloss == no_value || (!builder.needs_gradient(x) && !builder.needs_gradient(w))) return;
  LinearCrossEntropyGradAttributes attributes{attributes_, builder.needs_gradient(x), {}};
  if (builder.needs_gradient(w)) attributes.dw = builder.desc(builder.input(w)).dtype;
  const auto op = std::make_shared<LinearCrossEntropyGrad>(attributes);
  const std::vector<ValueId> outputs =
      builder.emit(op, {builder.input(x), builder.input(w), builder.input(labels), dloss});
  const LinearCrossEntropyGrad::Slots slots = op->slots(builder.desc(builder.input(x)).dtype);
  if (slots.dx >= 0) builder.set_input_gradient(x, outputs[static_cast<std::size_t>(slots.dx)]);
  if (slots.dw >= 0) builder.set_input_gradient(w, outputs[static_cast<std::size_t>(slots.dw)]);
}

Cost LinearCrossEntropy::cost(std::span<const TensorDesc> inputs, std::span<const TensorDesc> /*outputs*/) const {
  const ChunkSizes sizes = measure_chunks(inputs, attributes_);
  return {sizes.products + 5 * sizes.logits, traffic(inputs, {}) + sizes.logits_bytes + sizes.again};
}

LinearCrossEntropyGrad::Slots LinearCrossEntropyGrad::slots(DType x_dtype) const {
  Slots slots;
  int next = logits + 1;
  if (attributes_.dx) slots.dx = next++;
  if (attributes_.dw) slots.dw = next++;
  if (is_low_precision(x_dtype)) slots.dlogits = next++;
  if (attributes_.dw && is_low_precision(*attributes_.dw)) slots.sums = next++;
  return slots;
}

std::string LinearCrossEntropyGrad::attributes() const {
  std::string text = describe_loss(attributes_.loss);
  if (attributes_.dx) text += " dx";
  if (attributes_.dw) text += fmt::format(" dw={}", to_string(*attributes_.dw));
  return text;
}

std::vector<TensorDesc> LinearCrossEntropyGrad::infer(std::span<const TensorDesc> inputs) const {
  require_count(inputs, 4, 4);
  invariant(attributes_.dx || attributes_.dw, "a gradient of nothing");
  require_desc(inputs[dloss], {DType::f32, Shape{}}, "dloss");
  const TensorDesc of_chunk = infer_logits(inputs, attributes_.loss);
  std::vector<TensorDesc> outputs{{DType::f32, Shape{}}, of_chunk};
  const Slots slots = this->slots(inputs[x].dtype);
  if (slots.dx >= 0) outputs.push_back(inputs[x]);
  if (slots.dw >= 0) outputs.push_back({*attributes_.dw, inputs[w].shape});
  if (slots.dlogits >= 0) outputs.push_back({inputs[x].dtype, of_chunk.shape});
  if (slots.sums >= 0) outputs.push_back({DType::f32, inputs[w].shape});
  return outputs;
}

Cost LinearCrossEntropyGrad::cost(std::span<const TensorDesc> inputs, std::span<const TensorDesc> outputs) const {
  const ChunkSizes sizes = measure_chunks(inputs, attributes_.loss);
  const Slots slots = this->slots(inputs[x].dtype);
  const int products = 1 + (attributes_.dx ? 1 : 0) + (attributes_.dw ? 1 : 0);
  // The gradient of the logits is computed from the probabilities, and read by each further product.
  const double gradient_bytes =
      sizes.logits * (sizeof(float) + products * static_cast<double>(element_size(inputs[x].dtype)));
  Cost cost{products * sizes.products + 7 * sizes.logits,
            traffic(inputs, {}) + sizes.logits_bytes + gradient_bytes + sizes.again};
  if (slots.dx >= 0) {
    cost.bytes +=
        static_cast<double>(outputs[static_cast<std::size_t>(slots.dx)].bytes() + inputs[w].bytes()) + sizes.again;
  }
  if (slots.dw >= 0) {
    // Each chunk adds to the f32 sums.
    const double chunks = 1 + sizes.again / static_cast<double>(inputs[w].bytes());
    cost.bytes += static_cast<double>(inputs[x].bytes()) +
                  2 * chunks * static_cast<double>(inputs[w].count() * static_cast<std::int64_t>(sizeof(float)));
    if (slots.sums >= 0) cost.bytes += static_cast<double>(outputs[static_cast<std::size_t>(slots.dw)].bytes());
  }
  return cost;
}

}  // namespace ptrain
