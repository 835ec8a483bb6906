#include "core/passes/grad_allreduce.h"

#include "core/base/errors.h"
#include "core/base/round_up.h"
#include "core/ops/elementwise.h"
#include "core/ops/normalization/batch_norm.h"
#include "core/ops/training/accumulate.h"
#include "core/ops/training/all_reduce.h"
#include "core/ops/training/optimizer_update.h"
#include "core/passes/optimizer.h"
#include "core/passes/rewriter.h"
#include "core/passes/update/parameter_groups.h"

#include <algorithm>
#include <map>

namespace ptrain {
namespace {

/// A range of one gradient buffer.
struct Bucket {
  std::int64_t begin = 0, end = 0;  // elements
  std::size_t ready = 0;            // the node that computes its last gradient
};

/// A buffer of gradients and its buckets.
struct Exchanged {
  bool own_slices = false;       // a rank needs the sums of its slices alone
  ValueId gradients = no_value;  // what backward writes
  ValueId total = no_value;      // its sum over micro-batches, when accumulating
  ValueId micro_step = no_value, micro_weights = no_value;
  std::vector<const Node*> own_sums;  // bucket by bucket: adds the rank's slice to a total of its slices alone
  std::vector<Bucket> buckets;
};

/// A bucket that is exchanged while backward computes the next one's gradients.
struct Started {
  const Node* sum = nullptr;  // of the old graph: adds the rank's slice to its total; null: it has none
  ValueId data = no_value;
  std::int64_t begin = 0;  // of the slice in data
};

class GradAllReducePass {
 public:
  GradAllReducePass(const Graph& graph, const DistributionOptions& options)
      : graph_(graph), options_(options), rewriter_(graph) {}

  Graph run() {
    find_buffers();
    if (!options_.sync_batch_norm) collect_statistics();
    bool waited = false;
    const std::size_t last_norm = find_last_norm(), last_update = find_last_update();
    for (std::size_t i = 0; i < graph_.nodes().size(); ++i) {
      const Node& node = graph_.nodes()[i];
      if (i > last_norm && node.phase != Pass::forward && statistics_ != no_value && !statistics_started_) {
        start("exchange.statistics", statistics_, std::make_shared<AllReduceStart>(mean_factor()), Pass::exchange);
        statistics_started_ = true;
      }
      if (node.phase == Pass::update && !waited) {
        if (!waited_.empty()) wait("exchange.wait", waited_, exchange_phase());
        waited = true;
      }
      if (is_accumulation(node)) {  // done bucket by bucket
        finish_sum();
        continue;
      }
      emit(node);
      if (options_.shard && i == last_update) gather_parameters();
      for (const Exchanged& buffer : buffers_) {
        for (std::size_t k = 0; k < buffer.buckets.size(); ++k) {
          if (buffer.buckets[k].ready == i) exchange(buffer, k);
        }
      }
    }
    return rewriter_.finish();
  }

 private:
  Graph& to() { return rewriter_.graph(); }

  /// The update that counts the step, after those of parameter groups.
  std::size_t find_last_update() const {
    for (std::size_t i = graph_.nodes().size(); i-- > 0;) {
      if (graph_.nodes()[i].op->type() == "optimizer_update") return i;
    }
    throw std::logic_error("internal error: the graph has no optimizer update");
  }
  const Node& update_node() const { return graph_.nodes()[find_last_update()]; }

  /// The last node before the update that changes state: a norm in training, or one that backward computes again.
  std::size_t find_last_norm() const {
    std::size_t last = 0;
    for (std::size_t i = 0; i < graph_.nodes().size(); ++i) {
      const Node& node = graph_.nodes()[i];
      if (node.phase == Pass::forward || node.phase == Pass::recompute) {
        for (std::size_t k = 0; k < node.inputs.size(); ++k) {
          if (node.op->mutates_input(static_cast<int>(k))) last = i;
        }
      }
    }
    return last;
  }

  bool is_accumulation(const Node& node) const { return node.op->type() == "accumulate"; }

  void find_buffers() {
    const Node& update = update_node();
    for (const int input : {OptimizerUpdate::grad_f32, OptimizerUpdate::grad_low}) {
      Exchanged buffer;
      buffer.gradients = update.inputs[static_cast<std::size_t>(input)];
      if (buffer.gradients == no_value) continue;
      const ValueId read = buffer.gradients;
      for (const Node& node : graph_.nodes()) {
        if (!is_accumulation(node) || graph_.root(node.inputs[Accumulate::total]) != read) continue;
        if (node.inputs[Accumulate::total] == read) {
          buffer.total = read;
        } else {
          buffer.own_sums.push_back(&node);
        }
        buffer.gradients = graph_.root(node.inputs[Accumulate::x]);
        buffer.micro_step = node.inputs[Accumulate::micro_step];
        buffer.micro_weights = node.inputs[Accumulate::weights];
      }
      buffer.own_slices = !buffer.own_sums.empty() || needs_own_slices(update, input);
      buffer.buckets = buffer.own_slices ? cut_blocks(buffer, count_divided(update)) : cut(buffer);
      if (exchanges_copy(buffer)) {
        const std::int64_t all = graph_.desc(buffer.gradients).count();
        const std::int64_t count = buffer.own_sums.empty() ? all : std::min(all, in_turn * options_.shard->block);
        copies_[buffer.gradients] = to().add_state(flat::grad_low_f32, {DType::f32, Shape{count}});
      }
      buffers_.push_back(std::move(buffer));
    }
  }

  bool divides_masters(const Node& update) const {
    return is_shard(graph_.value(update.inputs[OptimizerUpdate::master]).name);
  }

  /// Elements of the buffers that ranks divide.
  std::int64_t count_divided(const Node& update) const {
    return graph_.desc(update.inputs[divides_masters(update) ? OptimizerUpdate::low : OptimizerUpdate::master]).count();
  }

  /// Whether nothing but updates of slices reads the sums, whose buffer add_optimizer has then laid out as parameters
  /// are: neither updates of whole parameters, nor a norm, nor the sum over further micro-batches, which rank 0
  /// continues.
  bool needs_own_slices(const Node& update, int gradients) const {
    const auto accumulates = [this](const Node& node) { return is_accumulation(node); };
    const bool continued =
        options_.reproducible && std::any_of(graph_.nodes().begin(), graph_.nodes().end(), accumulates);
    const bool low = update.inputs[OptimizerUpdate::low] != no_value;
    return options_.shard && low == divides_masters(update) && low == (gradients == OptimizerUpdate::grad_low) &&
           update.inputs[OptimizerUpdate::grad_norm] == no_value && !continued;
  }

  /// Whether low-precision gradients are widened before they are exchanged.
  bool exchanges_copy(const Exchanged& buffer) const {
    return buffer.total == no_value && is_low_precision(graph_.desc(buffer.gradients).dtype) &&
           options_.average == GradAverage::fp32;
  }

  DType exchanged_dtype(const Exchanged& buffer) const {
    const bool widened = buffer.total != no_value || exchanges_copy(buffer);
    return widened ? DType::f32 : graph_.desc(buffer.gradients).dtype;
  }

  std::vector<Bucket> cut(const Exchanged& buffer) const {
    const auto element = static_cast<std::int64_t>(element_size(graph_.desc(buffer.gradients).dtype));
    std::map<std::int64_t, std::size_t> ready;  // by first element: the gradients in the buffer's order
    std::int64_t end = graph_.desc(buffer.gradients).count();
    for (const Value& value : graph_.values()) {
      if (value.base != buffer.gradients || value.producer < 0) continue;
      const auto producer = static_cast<std::size_t>(value.producer);
      const std::int64_t offset = value.byte_offset / element;
      if (graph_.nodes()[producer].op->type() == "sparse_gradient") {
        end = std::min(end, offset);
      } else {
        ready[offset] = producer;
      }
    }
    const std::int64_t most = options_.bucket_bytes / static_cast<std::int64_t>(element_size(exchanged_dtype(buffer)));
    std::vector<Bucket> buckets;
    for (const auto& [offset, node] : ready) {
      if (buckets.empty() || offset - buckets.back().begin >= most) {
        if (!buckets.empty()) buckets.back().end = offset;
        buckets.push_back({offset, 0, 0});
      }
      buckets.back().ready = std::max(buckets.back().ready, node);
    }
    if (!buckets.empty()) buckets.back().end = end;
    return buckets;
  }

  /// Buckets of which ranks own slices, of gradients that lie as `count` parameters do.
  std::vector<Bucket> cut_blocks(const Exchanged& buffer, std::int64_t count) const {
    const auto element = static_cast<std::int64_t>(element_size(graph_.desc(buffer.gradients).dtype));
    std::vector<Bucket> buckets;
    for (const RankSlice& block : options_.shard->blocks(count)) {
      Bucket bucket{block.begin, block.end, 0};
      for (const Value& value : graph_.values()) {
        if (value.base != buffer.gradients || value.producer < 0) continue;
        const std::int64_t begin = value.byte_offset / element;
        if (begin >= block.end || begin + value.desc.count() <= block.begin) continue;
        bucket.ready = std::max(bucket.ready, static_cast<std::size_t>(value.producer));
      }
      buckets.push_back(bucket);
    }
    return buckets;
  }

  ValueId part(ValueId buffer, const Bucket& bucket) { return to().add_part(buffer, bucket.begin, bucket.end); }

  float mean_factor() const { return 1.0f / static_cast<float>(options_.world_size); }
  /// The pass of the gradients' exchange.
  Pass exchange_phase() const { return options_.reproducible ? Pass::backward : Pass::exchange; }

  void start(std::string name, ValueId data, std::shared_ptr<AllReduceStart> op, Pass phase) {
    to().add_node(std::move(name), std::move(op), {data}, phase);
    waited_.push_back(data);
  }

  void wait(std::string name, std::vector<ValueId> data, Pass phase) {
    to().add_node(std::move(name), std::make_shared<AllReduceWait>(), std::move(data), phase);
  }

  /// Adds what was exchanged last to the rank's sum.
  void finish_sum() {
    if (started_.data == no_value) return;
    wait("exchange.wait." + to().value(started_.data).name, {started_.data}, Pass::backward);
    if (started_.sum != nullptr) {
      std::vector<ValueId> inputs = rewriter_.mapped(started_.sum->inputs);
      const std::int64_t count = to().desc(inputs[Accumulate::total]).count();
      inputs[Accumulate::x] = to().add_part(to().root(started_.data), started_.begin, started_.begin + count);
      rewriter_.copy(*started_.sum, std::move(inputs));
    }
    started_ = {};
  }

  /// The node that adds up this rank's slice of a bucket; null where the slice is empty.
  const Node* find_own_sum(const Exchanged& buffer, const Bucket& bucket) const {
    for (const Node* sum : buffer.own_sums) {
      const std::int64_t begin = find_begin(sum->inputs[Accumulate::x]);
      if (begin >= bucket.begin && begin < bucket.end) return sum;
    }
    return nullptr;
  }
  std::int64_t find_begin(ValueId part) const {
    const Value& value = graph_.value(part);
    return value.byte_offset / static_cast<std::int64_t>(element_size(value.desc.dtype));
  }

  /// For a rank that keeps sums of its slices alone: every micro-batch's gradients are exchanged.
  void exchange_for_own_sum(const Exchanged& buffer, std::size_t index) {
    finish_sum();
    const Bucket& bucket = buffer.buckets[index];
    ValueId exchanged = part(rewriter_.mapped(buffer.gradients), bucket);
    const std::string name = to().value(exchanged).name;
    const Node* sum = find_own_sum(buffer, bucket);
    std::int64_t begin = sum == nullptr ? 0 : find_begin(sum->inputs[Accumulate::x]);
    if (exchanges_copy(buffer)) {
      const std::int64_t at = static_cast<std::int64_t>(index) % in_turn * options_.shard->block;
      exchanged = widen(exchanged, copies_.at(buffer.gradients), at, Pass::backward);
      begin += at - bucket.begin;
    }
    to().add_node("exchange." + name, std::make_shared<ReduceScatterStart>(mean_factor()), {exchanged}, Pass::backward);
    started_ = {sum, exchanged, begin};
  }

  /// A copy in fp32, in `copies` from element `at` on.
  ValueId widen(ValueId gradients, ValueId copies, std::int64_t at, Pass phase) {
    const std::string name = "widen." + to().value(gradients).name;
    to().place(to().add(name, std::make_shared<Cast>(DType::f32), {gradients}, phase), copies, at);
    return to().add_part(copies, at, at + to().desc(gradients).count());
  }

  void exchange(const Exchanged& buffer, std::size_t index) {
    if (!buffer.own_sums.empty()) return exchange_for_own_sum(buffer, index);
    const Bucket& bucket = buffer.buckets[index];
    const ValueId gradients = part(rewriter_.mapped(buffer.gradients), bucket);
    const std::string name = to().value(gradients).name;
    ValueId exchanged = gradients;
    if (buffer.total != no_value) {
      exchanged = part(rewriter_.mapped(buffer.total), bucket);
      to().add_node("accumulate." + name, std::make_shared<Accumulate>(),
                    {exchanged, gradients, rewriter_.mapped(buffer.micro_step), rewriter_.mapped(buffer.micro_weights)},
                    Pass::backward);
    } else if (exchanges_copy(buffer)) {
      exchanged = widen(gradients, copies_.at(buffer.gradients), bucket.begin, exchange_phase());
    }
    // Gradients that are summed in a fixed order are scaled for the mean from the start (build_training_graph).
    const float factor = options_.reproducible ? 1.0f : mean_factor();
    start("exchange." + name, exchanged,
          buffer.own_slices ? std::make_shared<ReduceScatterStart>(factor) : std::make_shared<AllReduceStart>(factor),
          exchange_phase());
  }

  /// Gives every rank all parameters, of which each has updated its slices.
  void gather_parameters() {
    const Node& update = update_node();
    const int updated = divides_masters(update) ? OptimizerUpdate::low : OptimizerUpdate::master;
    const ValueId parameters = rewriter_.mapped(update.inputs[static_cast<std::size_t>(updated)]);
    std::vector<ValueId> gathered;
    for (const RankSlice& block : options_.shard->blocks(count_divided(update))) {
      const ValueId data = to().add_part(parameters, block.begin, block.end);
      to().add_node("gather." + to().value(data).name, std::make_shared<AllGatherStart>(), {data}, Pass::update);
      gathered.push_back(data);
    }
    wait("gather.wait", std::move(gathered), Pass::update);
    if (!divides_masters(update)) copy_to_low_precision(update.inputs[OptimizerUpdate::low]);
  }

  void copy_to_low_precision(ValueId low) {
    if (low == no_value) return;
    for (const Value& parameter : graph_.values()) {
      if (parameter.base != low) continue;
      const ValueId master = rewriter_.mapped(graph_.find_value(master_name(parameter.name)));
      const ValueId copy =
          to().add("gather." + parameter.name, std::make_shared<Cast>(parameter.desc.dtype), {master}, Pass::update);
      to().value(copy).base = rewriter_.mapped(low);
      to().value(copy).byte_offset = parameter.byte_offset;
    }
  }

  /// The update and the norm read the fp32 copy where there is one.
  void emit(const Node& node) {
    std::vector<ValueId> inputs = rewriter_.mapped(node.inputs);
    if (node.phase == Pass::update) {
      for (std::size_t i = 0; i < inputs.size(); ++i) {
        const auto copy = copies_.find(node.inputs[i]);
        if (copy != copies_.end()) inputs[i] = copy->second;
      }
    }
    rewriter_.copy(node, std::move(inputs));
  }

  void collect_statistics() {
    std::int64_t count = 0;
    std::vector<std::pair<ValueId, std::int64_t>> places;
    for (const Node& node : graph_.nodes()) {
      if (node.op->type() != "batch_norm") continue;
      for (const int input : {BatchNorm::running_mean, BatchNorm::running_var}) {
        if (!node.op->mutates_input(input)) continue;
        const ValueId id = node.inputs[static_cast<std::size_t>(input)];
        places.emplace_back(id, count);
        count += round_up(graph_.desc(id).count(), alignment);
      }
    }
    if (places.empty()) return;
    statistics_ = to().add_state(flat::statistics, {DType::f32, Shape{count}});
    for (const auto& [id, offset] : places) to().place(rewriter_.mapped(id), statistics_, offset);
  }

  static constexpr std::int64_t alignment = 16;  // elements: a cache line
  static constexpr std::int64_t in_turn = 2;     // buckets of which there are fp32 copies at one time

  const Graph& graph_;
  const DistributionOptions& options_;
  Rewriter rewriter_;
  std::vector<Exchanged> buffers_;
  std::map<ValueId, ValueId> copies_;  // by the gradient buffer in the old graph
  std::vector<ValueId> waited_;
  Started started_;
  ValueId statistics_ = no_value;
  bool statistics_started_ = false;
};

}  // namespace

Graph add_grad_allreduce(const Graph& graph, const DistributionOptions& options) {
  return GradAllReducePass(graph, options).run();
}

Graph synchronize_batch_norm(const Graph& forward) {
  Rewriter rewriter(forward);
  for (const Node& node : forward.nodes()) {
    Node marked = node;
    if (node.op->type() == "batch_norm") {
      BatchNorm::Attributes attributes = static_cast<const BatchNorm&>(*node.op).attrs();
      attributes.sync = attributes.training;
      marked.op = std::make_shared<BatchNorm>(attributes);
    }
    rewriter.copy(marked);
  }
  return rewriter.finish();
}

}  // namespace ptrain
