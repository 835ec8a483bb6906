#include "core/passes/optimizer.h"

#include "core/base/errors.h"
#include "core/base/round_up.h"
#include "core/ops/elementwise.h"
#include "core/ops/sparse/sparse_update.h"
#include "core/ops/training/accumulate.h"
#include "core/ops/training/grad_norm.h"
#include "core/ops/training/moving_average.h"
#include "core/ops/training/muon_update.h"
#include "core/passes/update/early_updates.h"

#include <algorithm>
#include <map>
#include <set>

namespace ptrain {
namespace {

constexpr std::int64_t alignment = 64;  // elements; keeps every parameter on its own cache lines

/// Allocates ranges of one flat buffer.
class FlatBuffer {
 public:
  std::int64_t reserve(std::int64_t count) {
    const std::int64_t offset = size_;
    size_ += round_up(count, alignment);
    return offset;
  }
  std::int64_t size() const { return size_; }

 private:
  std::int64_t size_ = 0;
};

class OptimizerPass {
 public:
  OptimizerPass(Differentiated differentiated, const OptimizerPassOptions& options)
      : graph_(std::move(differentiated.graph)), gradients_(std::move(differentiated.gradients)), options_(options) {}

  Graph run() {
    own_gradients();
    lay_out();
    if (!tables_.empty()) require_rows_suffice();
    create_buffers();
    place();
    if (options_.accumulate) add_accumulation();
    add_update();
    return early_.empty() ? std::move(graph_) : move_early_updates(graph_, early_);
  }

 private:
  struct Entry {
    ValueId parameter;  // what forward reads: fp32 or low precision
    ValueId master;     // fp32
    ValueId gradient;
    ParameterSegment segment;
    std::optional<std::size_t> group;  // for parameters with settings of their own
    bool early;
    bool muon;  // updated by Muon; with Muon, the other parameters use AdamW
  };

  /// A parameter that is updated by its sparse gradient.
  struct Table {
    ParameterGradient gradient;
    std::int64_t grad_offset;
    bool decay;
    OptimizerSettings settings;
  };

  /// Copies a gradient that is not one parameter's own activation, so that it can live in the flat buffer.
  void own_gradients() {
    std::map<ValueId, int> owners;
    for (const ParameterGradient& g : gradients_) ++owners[g.gradient];
    for (ParameterGradient& g : gradients_) {
      const Value& value = graph_.value(g.gradient);
      if (owners[g.gradient] == 1 && value.storage == Storage::activation && value.producer >= 0 &&
          value.desc.dtype == graph_.desc(g.parameter).dtype) {
        continue;
      }
      const DType dtype = graph_.desc(g.parameter).dtype;
      g.gradient = graph_.add(value.name + ".copy", std::make_shared<Cast>(dtype), {g.gradient}, Pass::backward);
    }
  }

  ValueId find_master(ValueId parameter) const {
    const Value& value = graph_.value(parameter);
    if (!is_low_precision(value.desc.dtype)) return parameter;
    const ValueId master = graph_.find_value(master_name(value.name));
    invariant(master != no_value, "a low-precision parameter has no master");
    return master;
  }

  bool decays(ValueId parameter) const {
    const Value& value = graph_.value(parameter);
    return !options_.decays || options_.decays(value.name, value.desc.shape);
  }

  /// The parameter's group, if its update differs from the default.
  std::optional<std::size_t> find_parameter_group(ValueId parameter) const {
    const std::optional<std::size_t> index = find_group(options_.groups, graph_.value(parameter).name);
    if (!index) return std::nullopt;
    const ParameterGroup& group = options_.groups[*index];
    return group.lr_scale == 1.0f && !group.weight_decay ? std::nullopt : index;
  }

  OptimizerSettings make_settings(std::optional<std::size_t> group) const {
    OptimizerSettings settings = options_.settings;
    if (!group) return settings;
    settings.lr_scale = options_.groups[*group].lr_scale;
    settings.weight_decay = options_.groups[*group].weight_decay.value_or(settings.weight_decay);
    return settings;
  }

  /// The settings of parameters that AdamW updates when Muon is chosen.
  OptimizerSettings make_element_settings(std::optional<std::size_t> group) const {
    OptimizerSettings settings = make_settings(group);
    if (settings.kind == OptimizerKind::muon) settings.kind = OptimizerKind::adamw;
    return settings;
  }

  /// Embedding and position tables are not weights of matrix products.
  bool is_looked_up(ValueId parameter) const {
    return std::any_of(graph_.nodes().begin(), graph_.nodes().end(), [&](const Node& node) {
      const std::string_view type = node.op->type();
      return (type.ends_with("embedding") || type == "embedding_bag") &&
             std::find(node.inputs.begin(), node.inputs.end(), parameter) != node.inputs.end();
    });
  }
  bool is_for_muon(ValueId parameter, ValueId master) const {
    const Shape& shape = graph_.desc(master).shape;
    return options_.settings.kind == OptimizerKind::muon && shape.rank() == 2 && shape[0] > 1 && shape[1] > 1 &&
           !is_looked_up(parameter) && !is_looked_up(master);
  }

  /// Sparse updates exclude what needs whole tables or sums over several batches.
  void require_rows_suffice() const {
    const std::string& table = graph_.value(tables_.front().gradient.parameter).name;
    const auto reject = [&](std::string_view key, std::string_view what) {
      fail_usage("{}: {}, but {} is updated by sparse gradients", key, what, table);
    };
    const OptimizerKind kind = make_element_settings({}).kind;
    if (!updates_rows(kind))
      reject("train.optimizer.name", fmt::format("{} scales by norms of whole tables", enum_name(kind)));
    if (options_.accumulate) reject("train.accumulate_steps", "gradient accumulation needs all rows");
    if (options_.average_decay > 0) reject("train.ema_decay", "a moving average needs all rows");
  }

  /// Whether any update needs all gradients first.
  bool needs_all_gradients() const {
    return options_.accumulate || options_.loss_scale != no_value || options_.settings.clip_norm > 0;
  }
  /// Whether a rank needs the gradients of the parameters that it updates alone. They then lie as parameters do, so
  /// that slices of both are of the same parameters.
  bool needs_own_gradients() const {
    return options_.shard && low_.size() == 0 && options_.loss_scale == no_value && options_.settings.clip_norm == 0;
  }
  bool is_early(const ParameterGradient& g) const {
    if (!options_.early_updates || needs_all_gradients()) return false;
    const EarlyUpdates& rule = *options_.early_updates;
    const TensorDesc& gradient = graph_.desc(g.gradient);
    if (gradient.bytes() < rule.least) return false;
    if (gradient.bytes() >= rule.any || rule.arithmetic == 0) return true;
    const Node& maker = graph_.nodes()[static_cast<std::size_t>(graph_.value(g.gradient).producer)];
    const double flops = maker.op->cost(graph_.input_descs(maker), graph_.output_descs(maker)).flops;
    return gradient.shape.rank() == 2 && flops >= rule.arithmetic * static_cast<double>(gradient.count());
  }

  /// Masters follow the model's parameter order; gradients follow the order in which backward computes them.
  void lay_out() {
    std::map<ValueId, std::size_t> by_master;
    for (const ParameterGradient& g : gradients_) {
      if (g.rows != no_value) {
        tables_.push_back({g, 0, decays(g.parameter), make_element_settings(find_parameter_group(g.parameter))});
        continue;
      }
      const ValueId master = find_master(g.parameter);
      by_master[master] = entries_.size();
      const Value& value = graph_.value(master);
      Entry entry{g.parameter,
                  master,
                  g.gradient,
                  {},
                  find_parameter_group(master),
                  is_early(g),
                  is_for_muon(g.parameter, master)};
      entry.segment.count = value.desc.count();
      entry.segment.decay = decays(master);
      const bool low = g.parameter != master;
      if (low) entry.segment.low_offset = low_.reserve(entry.segment.count);
      if (!entry.early) entry.segment.grad_offset = (low ? grad_low_ : grad_).reserve(entry.segment.count);
      entries_.push_back(entry);
    }
    for (const bool muon : {false, true}) {  // Muon's parameters come last: they have no second moment
      for (auto& [master, index] : by_master) {
        if (entries_[index].muon != muon) continue;
        entries_[index].segment.master_offset = master_.reserve(entries_[index].segment.count);
      }
      if (!muon) second_moments_ = master_.size();
    }
    if (needs_own_gradients()) {
      for (Entry& e : entries_) e.segment.grad_offset = e.segment.master_offset;
      grad_ = master_;
    }
    for (Table& t : tables_) t.grad_offset = grad_.reserve(graph_.desc(t.gradient.gradient).count());
  }

  ValueId state(const std::string& name, DType dtype, std::int64_t count) {
    return count == 0 ? no_value : graph_.add_state(name, {dtype, Shape{count}});
  }

  ValueId moment(const std::string& name, std::int64_t count) {
    if (count == 0 || !options_.shard) return state(name, DType::f32, count);
    return state(name + std::string(flat::shard), DType::f32, options_.shard->size(count));
  }

  void create_buffers() {
    DType low_dtype = DType::bf16;
    for (const Entry& e : entries_) {
      if (e.parameter != e.master) low_dtype = graph_.desc(e.parameter).dtype;
    }
    const int moments = moment_count(options_.settings);
    inputs_.assign(OptimizerUpdate::count, no_value);
    inputs_[OptimizerUpdate::learning_rate] = graph_.add_input(flat::learning_rate, {DType::f32, Shape{1}});
    inputs_[OptimizerUpdate::grad_f32] = state(flat::grad, DType::f32, grad_.size());
    inputs_[OptimizerUpdate::grad_low] = state(flat::grad_low, low_dtype, grad_low_.size());
    inputs_[OptimizerUpdate::loss_scale] = options_.loss_scale;
    inputs_[OptimizerUpdate::master] = state(flat::master, DType::f32, master_.size());
    inputs_[OptimizerUpdate::low] = state(flat::low, low_dtype, low_.size());
    inputs_[OptimizerUpdate::moment1] = moment(flat::moment1, moments >= 1 ? master_.size() : 0);
    inputs_[OptimizerUpdate::moment2] = moment(flat::moment2, moments >= 2 ? second_moments_ : 0);
    inputs_[OptimizerUpdate::moment3] = moment(flat::moment3, moments >= 3 ? master_.size() : 0);
    inputs_[OptimizerUpdate::updates] = state(flat::updates, DType::f32, 1);
  }

  void view(ValueId id, int buffer, std::int64_t offset) {
    Value& value = graph_.value(id);
    value.base = inputs_[static_cast<std::size_t>(buffer)];
    value.byte_offset = offset * static_cast<std::int64_t>(element_size(value.desc.dtype));
  }

  void place() {
    for (const Entry& e : entries_) {
      const bool low = e.parameter != e.master;
      view(e.master, OptimizerUpdate::master, e.segment.master_offset);
      if (low) view(e.parameter, OptimizerUpdate::low, e.segment.low_offset);
      if (!e.early)
        view(e.gradient, low ? OptimizerUpdate::grad_low : OptimizerUpdate::grad_f32, e.segment.grad_offset);
    }
    for (const Table& t : tables_) {
      view(t.gradient.gradient, OptimizerUpdate::grad_f32, t.grad_offset);
      const Value& table = graph_.value(t.gradient.parameter);
      const ValueId buffer = graph_.add_state(flat::table + table.name, table.desc);  // which may reallocate the values
      graph_.value(t.gradient.parameter).base = buffer;
    }
  }

  /// A moment of the table's size, or one number per row; none where the optimizer keeps fewer moments.
  ValueId table_moment(const Table& t, const char* name, bool kept) {
    if (!kept) return no_value;
    const Value& table = graph_.value(t.gradient.parameter);
    const Shape shape = keeps_row_sums(options_.settings) ? Shape{table.desc.shape[0]} : table.desc.shape;
    return graph_.add_state(fmt::format("{}.{}", name, table.name), {DType::f32, shape});
  }

  void add_table_update(const Table& t) {
    const int moments = moment_count(options_.settings);
    std::vector<ValueId> inputs(SparseUpdate::count, no_value);
    inputs[SparseUpdate::learning_rate] = inputs_[OptimizerUpdate::learning_rate];
    inputs[SparseUpdate::rows] = t.gradient.rows;
    inputs[SparseUpdate::values] = t.gradient.gradient;
    inputs[SparseUpdate::updates] = inputs_[OptimizerUpdate::updates];
    inputs[SparseUpdate::grad_norm] = inputs_[OptimizerUpdate::grad_norm];
    inputs[SparseUpdate::loss_scale] = options_.loss_scale;
    inputs[SparseUpdate::table] = graph_.value(t.gradient.parameter).base;
    inputs[SparseUpdate::moment1] = table_moment(t, flat::moment1, moments >= 1);
    inputs[SparseUpdate::moment2] = table_moment(t, flat::moment2, moments >= 2);
    inputs[SparseUpdate::moment3] = table_moment(t, flat::moment3, moments >= 3);
    graph_.add_node(graph_.value(t.gradient.parameter).name + ".update",
                    std::make_shared<SparseUpdate>(SparseUpdateAttributes{t.settings, t.decay}), inputs, Pass::update);
  }

  /// Replaces the update's gradients by fp32 sums over the micro-batches.
  void add_accumulation() {
    const ValueId micro_step = graph_.add_input(flat::micro_step, {DType::i32, Shape{1}});
    const ValueId weights = graph_.add_input(flat::micro_weights, {DType::f32, Shape{2}});
    for (const int input : {OptimizerUpdate::grad_f32, OptimizerUpdate::grad_low}) {
      ValueId& gradient = inputs_[static_cast<std::size_t>(input)];
      if (gradient == no_value) continue;
      const std::string name = graph_.value(gradient).name + ".total";
      const ValueId total = graph_.add_state(name, {DType::f32, graph_.desc(gradient).shape});
      graph_.add_node(name, std::make_shared<Accumulate>(), {total, gradient, micro_step, weights}, Pass::backward);
      gradient = total;
    }
  }

  /// The update of a single parameter.
  void add_single_update(const Entry& e, std::vector<ValueId> inputs) {
    OpPtr op;
    if (e.muon) {
      const Shape& shape = graph_.desc(e.master).shape;
      op = std::make_shared<MuonUpdate>(MuonUpdateAttributes{make_settings(e.group), e.segment, shape[0], shape[1]});
      inputs[OptimizerUpdate::moment2] = no_value;
    } else {
      op =
          std::make_shared<OptimizerUpdate>(make_element_settings(e.group), std::vector{e.segment}, UpdateCount::later);
    }
    graph_.add_node(graph_.value(e.master).name + ".update", std::move(op), std::move(inputs), Pass::update);
  }

  /// The parts of a segment that this rank updates.
  std::vector<ParameterSegment> find_own_parts(const ParameterSegment& segment) const {
    if (!options_.shard) return {segment};
    std::vector<ParameterSegment> parts;
    std::int64_t moments = 0;  // of the slices before
    for (const RankSlice& slice : options_.shard->slices(master_.size())) {
      const std::int64_t begin = std::max(slice.begin, segment.master_offset);
      const std::int64_t end = std::min(slice.end, segment.master_offset + segment.count);
      if (begin < end) {
        ParameterSegment part = segment;
        const std::int64_t skipped = begin - segment.master_offset;
        part.count = end - begin;
        part.master_offset = begin;
        part.moment_shift = moments - slice.begin;
        part.grad_offset += skipped;
        if (part.low_offset >= 0) part.low_offset += skipped;
        parts.push_back(part);
      }
      moments += slice.count();
    }
    return parts;
  }

  void add_early_update(const Entry& e) {
    std::vector<ValueId> inputs = inputs_;
    inputs[OptimizerUpdate::grad_f32] = e.parameter == e.master ? e.gradient : no_value;
    inputs[OptimizerUpdate::grad_low] = e.parameter == e.master ? no_value : e.gradient;
    early_[graph_.nodes().size()] = {e.parameter, e.master, e.gradient};
    add_single_update(e, std::move(inputs));
  }

  void add_update() {
    const bool scaled = options_.loss_scale != no_value;
    if (scaled || options_.settings.clip_norm > 0) {
      inputs_[OptimizerUpdate::grad_norm] = graph_.add(
          flat::grad_norm, std::make_shared<GradNorm>(),
          {inputs_[OptimizerUpdate::grad_f32], inputs_[OptimizerUpdate::grad_low], options_.loss_scale}, Pass::update);
      graph_.set_output(flat::grad_norm, inputs_[OptimizerUpdate::grad_norm]);
    }
    for (const Table& t : tables_) add_table_update(t);  // before the op that counts the update
    std::map<std::optional<std::size_t>, std::vector<ParameterSegment>> segments;
    for (const Entry& e : entries_) {
      if (e.early) {
        add_early_update(e);
      } else if (e.muon) {
        add_single_update(e, inputs_);
      } else {
        for (const ParameterSegment& part : find_own_parts(e.segment)) segments[e.group].push_back(part);
      }
    }
    for (auto& [group, parameters] : segments) {
      if (!group) continue;
      graph_.add_node(
          fmt::format("optimizer.group{}", *group),
          std::make_shared<OptimizerUpdate>(make_element_settings(group), std::move(parameters), UpdateCount::later),
          inputs_, Pass::update);
    }
    graph_.add_node("optimizer", std::make_shared<OptimizerUpdate>(make_element_settings({}), std::move(segments[{}])),
                    inputs_, Pass::update);
    if (options_.average_decay > 0) add_averages();
    if (scaled) {
      graph_.add_node("loss_scale.update", std::make_shared<LossScaleUpdate>(options_.loss_scale_attributes),
                      {inputs_[OptimizerUpdate::grad_norm], options_.loss_scale}, Pass::update);
    }
  }

  void add_averages() {
    add_average(state(flat::average, DType::f32, master_.size()), inputs_[OptimizerUpdate::master]);
    for (const ValueId statistic : find_statistics()) {
      const Value& value = graph_.value(statistic);
      add_average(graph_.add_state(std::string(flat::average_of) + value.name, value.desc), statistic);
    }
  }
  void add_average(ValueId average, ValueId of) {
    graph_.add_node(graph_.value(average).name + ".update", std::make_shared<MovingAverage>(options_.average_decay),
                    {average, of, inputs_[OptimizerUpdate::updates]}, Pass::update);
  }
  /// Variables that the forward pass updates: running statistics.
  std::set<ValueId> find_statistics() const {
    std::set<ValueId> found;
    for (const Node& node : graph_.nodes()) {
      for (std::size_t i = 0; node.phase == Pass::forward && i < node.inputs.size(); ++i) {
        if (node.op->mutates_input(static_cast<int>(i))) found.insert(node.inputs[i]);
      }
    }
    return found;
  }

  Graph graph_;
  std::vector<ParameterGradient> gradients_;
  const OptimizerPassOptions& options_;
  std::vector<Entry> entries_;
  std::vector<Table> tables_;
  FlatBuffer master_, low_, grad_, grad_low_;
  std::int64_t second_moments_ = 0;  // elements, from the first on
  std::vector<ValueId> inputs_;
  std::map<std::size_t, EarlyUpdate> early_;  // by node
};

}  // namespace

Graph add_optimizer(Differentiated differentiated, const OptimizerPassOptions& options) {
  return OptimizerPass(std::move(differentiated), options).run();
}

}  // namespace ptrain
