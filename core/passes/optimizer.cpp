#include "core/passes/optimizer.h"

#include "core/base/errors.h"
#include "core/base/round_up.h"
#include "core/ops/elementwise.h"
#include "core/ops/sparse/sparse_update.h"
#include "core/ops/training/accumulate.h"
#include "core/ops/training/all_reduce.h"
#include "core/ops/training/grad_norm.h"
#include "core/ops/training/moving_average.h"
#include "core/ops/training/muon_update.h"
#include "core/passes/rewriter.h"
#include "core/passes/update/early_updates.h"

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <utility>

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

/// Makes no variable of a parameter.
void drop(Graph& graph, ValueId parameter) { graph.value(parameter).storage = Storage::activation; }

class OptimizerPass {
 public:
  OptimizerPass(Differentiated differentiated, const OptimizerPassOptions& options)
      : graph_(std::move(differentiated.graph)), gradients_(std::move(differentiated.gradients)), options_(options) {}

  Graph run() {
    own_gradients();
    lay_out();
    if (!tables_.empty()) require_rows_suffice();
    inputs_ = create_inputs();
    rest_inputs_ = create_rest_inputs();
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

    bool low() const { return parameter != master; }
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
  bool needs_all_gradients() const { return options_.accumulate || needs_norm(); }
  bool needs_norm() const { return options_.loss_scale != no_value || options_.settings.clip_norm > 0; }
  bool divides_masters() const { return options_.shard && !options_.whole_masters && low_.size() > 0; }
  bool divides_sums() const { return options_.accumulate && !options_.whole_sums && lies_as_divided(); }
  /// Whether the parameters that ranks divide are all those with a gradient of one precision.
  bool lies_as_divided() const { return options_.shard && (low_.size() == 0 || divides_masters()); }
  /// Whether a rank needs the gradients of the parameters that it updates alone. They then lie as parameters do, so
  /// that slices of both are of the same parameters.
  bool needs_own_gradients() const { return lies_as_divided() && (divides_sums() || !needs_norm()); }
  /// Elements of the buffers of which ranks keep slices.
  std::int64_t divided() const { return divides_masters() ? low_.size() : master_.size(); }
  bool is_early(const ParameterGradient& g) const {
    if (!options_.early_updates || needs_all_gradients()) return false;
    const EarlyUpdates& rule = *options_.early_updates;
    const TensorDesc& gradient = graph_.desc(g.gradient);
    if (gradient.bytes() < rule.least) return false;
    if (gradient.bytes() >= rule.any || rule.arithmetic == 0) return true;
    if (gradient.shape.rank() != 2) return false;
    const Node& maker = graph_.nodes()[static_cast<std::size_t>(graph_.value(g.gradient).producer)];
    const double flops = maker.op->cost(graph_.input_descs(maker), graph_.output_descs(maker)).flops;
    return flops >= rule.arithmetic * static_cast<double>(gradient.count());
  }

  /// Masters follow the model's parameter order, those with a low-precision copy first; gradients follow the order in
  /// which backward computes them.
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
      if (!entry.early) entry.segment.grad_offset = (entry.low() ? grad_low_ : grad_).reserve(entry.segment.count);
      entries_.push_back(entry);
    }
    for (const bool muon : {false, true}) {  // Muon's parameters come last: they have no second moment
      for (const bool low : {true, false}) {
        for (const auto& [master, index] : by_master) {
          Entry& entry = entries_[index];
          if (entry.muon != muon || entry.low() != low) continue;
          entry.segment.master_offset = master_.reserve(entry.segment.count);
          if (low) entry.segment.low_offset = low_.reserve(entry.segment.count);
        }
      }
      if (!muon) second_moments_ = master_.size();
    }
    if (needs_own_gradients()) {
      for (Entry& e : entries_) {
        if (e.low() || low_.size() == 0) e.segment.grad_offset = e.segment.master_offset;
      }
      (low_.size() == 0 ? grad_ : grad_low_) = low_.size() == 0 ? master_ : low_;
    }
    for (Table& t : tables_) t.grad_offset = grad_.reserve(graph_.desc(t.gradient.gradient).count());
  }

  ValueId state(const std::string& name, DType dtype, std::int64_t count) {
    return count == 0 ? no_value : graph_.add_state(name, {dtype, Shape{count}});
  }

  /// This rank's slices of a buffer that ranks divide.
  ValueId slices(const std::string& name, std::int64_t count) {
    return count == 0 ? no_value : state(name + std::string(flat::shard), DType::f32, options_.shard->size(count));
  }

  ValueId moment(const std::string& name, std::int64_t count) {
    if (count == 0 || !options_.shard) return state(name, DType::f32, count);
    return slices(name, divided());
  }

  /// Of every update but the rest's.
  std::vector<ValueId> create_inputs() {
    DType low_dtype = DType::bf16;
    for (const Entry& e : entries_) {
      if (e.low()) low_dtype = graph_.desc(e.parameter).dtype;
    }
    const int moments = moment_count(options_.settings);
    std::vector<ValueId> inputs(OptimizerUpdate::count, no_value);
    inputs[OptimizerUpdate::learning_rate] = graph_.add_input(flat::learning_rate, {DType::f32, Shape{1}});
    inputs[OptimizerUpdate::grad_f32] = state(flat::grad, DType::f32, grad_.size());
    inputs[OptimizerUpdate::grad_low] = state(flat::grad_low, low_dtype, grad_low_.size());
    inputs[OptimizerUpdate::loss_scale] = options_.loss_scale;
    inputs[OptimizerUpdate::master] =
        divides_masters() ? slices(flat::master, divided()) : state(flat::master, DType::f32, master_.size());
    inputs[OptimizerUpdate::low] = state(flat::low, low_dtype, low_.size());
    inputs[OptimizerUpdate::moment1] = moment(flat::moment1, moments >= 1 ? master_.size() : 0);
    inputs[OptimizerUpdate::moment2] = moment(flat::moment2, moments >= 2 ? second_moments_ : 0);
    inputs[OptimizerUpdate::moment3] = moment(flat::moment3, moments >= 3 ? master_.size() : 0);
    inputs[OptimizerUpdate::updates] = state(flat::updates, DType::f32, 1);
    return inputs;
  }

  /// Of the parameters without a low-precision copy, where ranks divide the masters of the others; else none.
  std::vector<ValueId> create_rest_inputs() {
    if (!divides_masters()) return {};
    std::vector<ValueId> inputs = inputs_;
    inputs[OptimizerUpdate::low] = no_value;
    constexpr std::array names{
        std::pair{OptimizerUpdate::master, flat::master}, std::pair{OptimizerUpdate::moment1, flat::moment1},
        std::pair{OptimizerUpdate::moment2, flat::moment2}, std::pair{OptimizerUpdate::moment3, flat::moment3}};
    for (const auto& [input, name] : names) {
      ValueId& part = inputs[static_cast<std::size_t>(input)];
      if (part == no_value) continue;
      part = state(std::string(name) + std::string(flat::rest), DType::f32, master_.size() - divided());
    }
    return inputs;
  }

  void place() {
    for (const Entry& e : entries_) {
      if (is_rest(e)) {
        graph_.place(e.master, rest_inputs_[OptimizerUpdate::master], e.segment.master_offset - divided());
      } else if (divides_masters()) {
        drop(graph_, e.master);
      } else {
        graph_.place(e.master, inputs_[OptimizerUpdate::master], e.segment.master_offset);
      }
      if (e.low()) graph_.place(e.parameter, inputs_[OptimizerUpdate::low], e.segment.low_offset);
      if (!e.early) {
        graph_.place(e.gradient, e.low() ? inputs_[OptimizerUpdate::grad_low] : inputs_[OptimizerUpdate::grad_f32],
                     e.segment.grad_offset);
      }
    }
    for (const Table& t : tables_) {
      graph_.place(t.gradient.gradient, inputs_[OptimizerUpdate::grad_f32], t.grad_offset);
      const Value& table = graph_.value(t.gradient.parameter);
      const ValueId buffer = graph_.add_state(flat::table + table.name, table.desc);  // which may reallocate the values
      graph_.value(t.gradient.parameter).base = buffer;
    }
  }

  /// Whether all ranks update all of it, while they divide others.
  bool is_rest(const Entry& e) const { return divides_masters() && !e.low(); }

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
    const auto add = [&](ValueId total, ValueId gradient) {
      graph_.add_node(graph_.value(total).name, std::make_shared<Accumulate>(), {total, gradient, micro_step, weights},
                      Pass::backward);
    };
    for (const int input : {OptimizerUpdate::grad_f32, OptimizerUpdate::grad_low}) {
      ValueId& gradient = inputs_[static_cast<std::size_t>(input)];
      if (gradient == no_value) continue;
      const std::string name = graph_.value(gradient).name + ".total";
      const bool is_divided = (input == OptimizerUpdate::grad_low) == (low_.size() > 0);
      if (divides_sums() && is_divided) {
        const ValueId total = slices(name, divided());
        std::int64_t at = 0;
        for (const RankSlice& slice : options_.shard->slices(divided())) {
          if (slice.count() == 0) continue;
          const ValueId part = graph_.add_part(total, at, at + slice.count());
          add(part, graph_.add_part(gradient, slice.begin, slice.end));
          at += slice.count();
        }
        gradient = total;
      } else {
        const ValueId total = graph_.add_state(name, {DType::f32, graph_.desc(gradient).shape});
        add(total, gradient);
        gradient = total;
      }
      if (!rest_inputs_.empty()) rest_inputs_[static_cast<std::size_t>(input)] = gradient;
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

  /// The parts of a parameter that this rank updates.
  std::vector<ParameterSegment> find_own_parts(const Entry& e) const {
    const ParameterSegment& segment = e.segment;
    if (!options_.shard) return {segment};
    std::vector<ParameterSegment> parts;
    if (is_rest(e)) {
      parts.push_back(segment);
      parts.back().master_offset -= divided();
      return parts;
    }
    std::int64_t kept = 0;  // of the slices before
    for (const RankSlice& slice : options_.shard->slices(divided())) {
      const std::int64_t begin = std::max(slice.begin, segment.master_offset);
      const std::int64_t end = std::min(slice.end, segment.master_offset + segment.count);
      if (begin < end) {
        ParameterSegment part = segment;
        const std::int64_t skipped = begin - segment.master_offset, own = begin - slice.begin + kept;
        part.count = end - begin;
        part.master_offset = divides_masters() ? own : begin;
        part.moment_shift = own - part.master_offset;
        part.grad_offset = divides_sums() ? own : segment.grad_offset + skipped;
        if (part.low_offset >= 0) part.low_offset += skipped;
        parts.push_back(part);
      }
      kept += slice.count();
    }
    return parts;
  }

  void add_early_update(const Entry& e) {
    std::vector<ValueId> inputs = inputs_;
    inputs[OptimizerUpdate::grad_f32] = e.low() ? no_value : e.gradient;
    inputs[OptimizerUpdate::grad_low] = e.low() ? e.gradient : no_value;
    early_[graph_.nodes().size()] = {e.parameter, e.master, e.gradient};
    add_single_update(e, std::move(inputs));
  }

  ValueId add_norm(const char* name, ValueId grad_f32, ValueId grad_low) {
    return graph_.add(name, std::make_shared<GradNorm>(), {grad_f32, grad_low, options_.loss_scale}, Pass::update);
  }

  /// The norm of sums of which every rank has slices.
  ValueId add_norm_of_parts() {
    const bool low = low_.size() > 0;
    const ValueId sums = inputs_[OptimizerUpdate::grad_f32];
    const ValueId own = add_norm("grad_norm.own", low ? inputs_[OptimizerUpdate::grad_low] : sums, no_value);
    const std::int64_t size = graph_.desc(own).count();
    const ValueId all = state(flat::grad_norms, DType::f32, options_.shard->world_size * size);
    graph_.place(own, all, options_.shard->rank * size);
    graph_.add_node("grad_norm.gather", std::make_shared<AllGatherStart>(), {all}, Pass::update);
    graph_.add_node("grad_norm.wait", std::make_shared<AllReduceWait>(), {all}, Pass::update);
    const ValueId rest = low && sums != no_value ? add_norm("grad_norm.rest", sums, no_value) : no_value;
    return graph_.add(flat::grad_norm, std::make_shared<NormOfParts>(), {all, rest}, Pass::update);
  }

  void add_update() {
    if (needs_norm()) {
      const ValueId norm = divides_sums() ? add_norm_of_parts()
                                          : add_norm(flat::grad_norm, inputs_[OptimizerUpdate::grad_f32],
                                                     inputs_[OptimizerUpdate::grad_low]);
      inputs_[OptimizerUpdate::grad_norm] = norm;
      if (!rest_inputs_.empty()) rest_inputs_[OptimizerUpdate::grad_norm] = norm;
      graph_.set_output(flat::grad_norm, norm);
    }
    for (const Table& t : tables_) add_table_update(t);  // before the op that counts the update
    std::map<std::optional<std::size_t>, std::vector<ParameterSegment>> segments, rest;
    for (const Entry& e : entries_) {
      if (e.early) {
        add_early_update(e);
      } else if (e.muon) {
        add_single_update(e, inputs_);
      } else {
        for (const ParameterSegment& part : find_own_parts(e)) (is_rest(e) ? rest : segments)[e.group].push_back(part);
      }
    }
    const auto add = [&](std::string name, std::optional<std::size_t> group, std::vector<ParameterSegment> parameters,
                         const std::vector<ValueId>& inputs, UpdateCount counted) {
      graph_.add_node(std::move(name),
                      std::make_shared<OptimizerUpdate>(make_element_settings(group), std::move(parameters), counted),
                      inputs, Pass::update);
    };
    for (auto& [group, parameters] : rest) {
      add(group ? fmt::format("optimizer.group{}.rest", *group) : "optimizer.rest", group, std::move(parameters),
          rest_inputs_, UpdateCount::later);
    }
    for (auto& [group, parameters] : segments) {
      if (!group) continue;
      add(fmt::format("optimizer.group{}", *group), group, std::move(parameters), inputs_, UpdateCount::later);
    }
    add("optimizer", {}, std::move(segments[{}]), inputs_, UpdateCount::here);
    if (options_.average_decay > 0) add_averages();
    if (options_.loss_scale != no_value) {
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
  std::vector<ValueId> inputs_, rest_inputs_;
  std::map<std::size_t, EarlyUpdate> early_;  // by node
};

}  // namespace

Graph add_optimizer(Differentiated differentiated, const OptimizerPassOptions& options) {
  return OptimizerPass(std::move(differentiated), options).run();
}

void drop_masters(Graph& graph) {
  const std::vector<int> readers = count_readers(graph);
  for (std::size_t i = 0; i < graph.values().size(); ++i) {
    const Value& low = graph.values()[i];
    if (low.storage != Storage::parameter || !is_low_precision(low.desc.dtype)) continue;
    const ValueId master = graph.find_value(master_name(low.name));
    if (master != no_value && readers[static_cast<std::size_t>(master)] == 0) drop(graph, master);
  }
}

}  // namespace ptrain
