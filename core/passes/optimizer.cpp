#include "core/passes/optimizer.h"

#include "core/base/errors.h"
#include "core/ops/elementwise.h"
#include "core/ops/sparse/exchanged_rows.h"
#include "core/ops/sparse/find_rows.h"
#include "core/ops/sparse/sparse_update.h"
#include "core/ops/training/accumulate.h"
#include "core/ops/training/all_reduce.h"
#include "core/ops/training/grad_norm.h"
#include "core/ops/training/moving_average.h"
#include "core/ops/training/muon_update.h"
#include "core/passes/rewriter.h"
#include "core/passes/update/early_updates.h"
#include "core/passes/update/flat_layout.h"

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <span>
#include <utility>

namespace ptrain {
namespace {

/// Makes no variable of a parameter.
void drop(Graph& graph, ValueId parameter) { graph.value(parameter).storage = Storage::activation; }

class OptimizerPass {
 public:
  OptimizerPass(Differentiated differentiated, const OptimizerPassOptions& options)
      : graph_(std::move(differentiated.graph)), gradients_(std::move(differentiated.gradients)), options_(options) {}

  Graph run() {
    own_gradients();
    layout_ = lay_out_flat(graph_, gradients_, options_);
    if (!layout_.tables.empty()) require_rows_suffice();
    inputs_ = create_inputs();
    rest_inputs_ = create_rest_inputs();
    place();
    if (options_.accumulate) add_accumulation();
    add_update();
    return early_.empty() ? std::move(graph_) : move_early_updates(graph_, early_);
  }

 private:
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

  /// Sparse updates exclude what needs whole tables or sums over several batches.
  void require_rows_suffice() const {
    const std::string& table = graph_.value(layout_.tables.front().gradient.parameter).name;
    const auto reject = [&](std::string_view key, std::string_view what) {
      fail_usage("{}: {}, but {} is updated by sparse gradients", key, what, table);
    };
    const OptimizerKind kind = make_element_settings(options_, {}).kind;
    if (!updates_rows(kind))
      reject("train.optimizer.name", fmt::format("{} scales by norms of whole tables", enum_name(kind)));
    if (options_.accumulate) reject("train.accumulate_steps", "gradient accumulation needs all rows");
    if (options_.average_decay > 0) reject("train.ema_decay", "a moving average needs all rows");
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
    return slices(name, layout_.divided());
  }

  /// Of every update but the rest's.
  std::vector<ValueId> create_inputs() {
    DType low_dtype = DType::bf16;
    for (const FlatParameter& p : layout_.parameters) {
      if (p.low()) low_dtype = graph_.desc(p.parameter).dtype;
    }
    const int moments = moment_count(options_.settings);
    std::vector<ValueId> inputs(OptimizerUpdate::count, no_value);
    inputs[OptimizerUpdate::learning_rate] = graph_.add_input(flat::learning_rate, {DType::f32, Shape{1}});
    inputs[OptimizerUpdate::grad_f32] = state(flat::grad, DType::f32, layout_.grad);
    inputs[OptimizerUpdate::grad_low] = state(flat::grad_low, low_dtype, layout_.grad_low);
    inputs[OptimizerUpdate::loss_scale] = options_.loss_scale;
    inputs[OptimizerUpdate::master] = layout_.divides_masters ? slices(flat::master, layout_.divided())
                                                              : state(flat::master, DType::f32, layout_.master);
    inputs[OptimizerUpdate::low] = state(flat::low, low_dtype, layout_.low);
    inputs[OptimizerUpdate::moment1] = moment(flat::moment1, moments >= 1 ? layout_.master : 0);
    inputs[OptimizerUpdate::moment2] = moment(flat::moment2, moments >= 2 ? layout_.second_moments : 0);
    inputs[OptimizerUpdate::moment3] = moment(flat::moment3, moments >= 3 ? layout_.master : 0);
    inputs[OptimizerUpdate::updates] = state(flat::updates, DType::f32, 1);
    return inputs;
  }

  /// Of the parameters without a low-precision copy, where ranks divide the masters of the others; else none.
  std::vector<ValueId> create_rest_inputs() {
    if (!layout_.divides_masters) return {};
    std::vector<ValueId> inputs = inputs_;
    inputs[OptimizerUpdate::low] = no_value;
    constexpr std::array names{
        std::pair{OptimizerUpdate::master, flat::master}, std::pair{OptimizerUpdate::moment1, flat::moment1},
        std::pair{OptimizerUpdate::moment2, flat::moment2}, std::pair{OptimizerUpdate::moment3, flat::moment3}};
    for (const auto& [input, name] : names) {
      ValueId& part = inputs[static_cast<std::size_t>(input)];
      if (part == no_value) continue;
      part = state(std::string(name) + std::string(flat::rest), DType::f32, layout_.master - layout_.divided());
    }
    return inputs;
  }

  void place() {
    for (const FlatParameter& p : layout_.parameters) {
      if (layout_.is_rest(p)) {
        graph_.place(p.master, rest_inputs_[OptimizerUpdate::master], p.segment.master_offset - layout_.divided());
      } else if (layout_.divides_masters) {
        drop(graph_, p.master);
      } else {
        graph_.place(p.master, inputs_[OptimizerUpdate::master], p.segment.master_offset);
      }
      if (p.low()) graph_.place(p.parameter, inputs_[OptimizerUpdate::low], p.segment.low_offset);
      if (!p.early) {
        graph_.place(p.gradient, p.low() ? inputs_[OptimizerUpdate::grad_low] : inputs_[OptimizerUpdate::grad_f32],
                     p.segment.grad_offset);
      }
    }
    for (const FlatTable& t : layout_.tables) {
      if (!t.is_of_own_rows()) {
        graph_.place(t.gradient.gradient, inputs_[OptimizerUpdate::grad_f32], t.grad_offset);
      }
      const Value& table = graph_.value(t.gradient.parameter);
      const ValueId buffer = graph_.add_state(flat::table + table.name, table.desc);  // which may reallocate the values
      graph_.value(t.gradient.parameter).base = buffer;
    }
  }

  /// A moment of the table's size, or one number per row; none where the optimizer keeps fewer moments.
  ValueId table_moment(const FlatTable& t, const char* name, bool kept) {
    if (!kept) return no_value;
    const Value& table = graph_.value(t.gradient.parameter);
    const Shape shape = keeps_row_sums(options_.settings) ? Shape{table.desc.shape[0]} : table.desc.shape;
    return graph_.add_state(fmt::format("{}.{}", name, table.name), {DType::f32, shape});
  }

  /// Zeroes moments of a dynamic table's rows that other categories had before.
  void restart_moments(ValueId table, std::span<const ValueId> moments) {
    const auto& nodes = graph_.nodes();
    const auto start = std::ranges::find_if(nodes, [&](const Node& node) {
      return node.op->type() == "start_rows" && node.inputs[StartRows::table] == table;
    });
    if (start == nodes.end()) return;
    std::vector<ValueId> inputs = start->inputs;
    const ValueId fresh = inputs[StartRows::fresh];
    const Node& finds = nodes[static_cast<std::size_t>(graph_.value(fresh).producer)];
    if (!static_cast<const FindRows&>(*finds.op).attrs().sweep) return;
    for (const ValueId moment : moments) {
      if (moment == no_value) continue;
      const std::string name = graph_.value(moment).name + ".start";
      inputs[StartRows::table] = moment;
      graph_.add_node(name, std::make_shared<StartRows>(StartRowsAttributes{}), inputs, Pass::update);
    }
  }

  void add_table_update(const FlatTable& t) {
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
    restart_moments(t.gradient.parameter, std::span(inputs).subspan(SparseUpdate::moment1));
    graph_.add_node(
        graph_.value(t.gradient.parameter).name + ".update",
        std::make_shared<SparseUpdate>(SparseUpdateAttributes{make_element_settings(options_, t.group), t.decay}),
        inputs, Pass::update);
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
      const bool is_divided = (input == OptimizerUpdate::grad_low) == (layout_.low > 0);
      if (layout_.divides_sums && is_divided) {
        const ValueId total = slices(name, layout_.divided());
        std::int64_t at = 0;
        for (const RankSlice& slice : options_.shard->slices(layout_.divided())) {
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
  void add_single_update(const FlatParameter& p, std::vector<ValueId> inputs) {
    OpPtr op;
    if (p.muon) {
      const Shape& shape = graph_.desc(p.master).shape;
      op = std::make_shared<MuonUpdate>(
          MuonUpdateAttributes{make_settings(options_, p.group), p.segment, shape[0], shape[1]});
      inputs[OptimizerUpdate::moment2] = no_value;
    } else {
      op = std::make_shared<OptimizerUpdate>(make_element_settings(options_, p.group), std::vector{p.segment},
                                             UpdateCount::later);
    }
    graph_.add_node(graph_.value(p.master).name + ".update", std::move(op), std::move(inputs), Pass::update);
  }

  /// The parts of a parameter that this rank updates.
  std::vector<ParameterSegment> find_own_parts(const FlatParameter& p) const {
    const ParameterSegment& segment = p.segment;
    if (!options_.shard) return {segment};
    std::vector<ParameterSegment> parts;
    if (layout_.is_rest(p)) {
      parts.push_back(segment);
      parts.back().master_offset -= layout_.divided();
      return parts;
    }
    std::int64_t kept = 0;  // of the slices before
    for (const RankSlice& slice : options_.shard->slices(layout_.divided())) {
      const std::int64_t begin = std::max(slice.begin, segment.master_offset);
      const std::int64_t end = std::min(slice.end, segment.master_offset + segment.count);
      if (begin < end) {
        ParameterSegment part = segment;
        const std::int64_t skipped = begin - segment.master_offset, own = begin - slice.begin + kept;
        part.count = end - begin;
        part.master_offset = layout_.divides_masters ? own : begin;
        part.moment_shift = own - part.master_offset;
        part.grad_offset = layout_.divides_sums ? own : segment.grad_offset + skipped;
        if (part.low_offset >= 0) part.low_offset += skipped;
        parts.push_back(part);
      }
      kept += slice.count();
    }
    return parts;
  }

  void add_early_update(const FlatParameter& p) {
    std::vector<ValueId> inputs = inputs_;
    inputs[OptimizerUpdate::grad_f32] = p.low() ? no_value : p.gradient;
    inputs[OptimizerUpdate::grad_low] = p.low() ? p.gradient : no_value;
    early_[graph_.nodes().size()] = {p.parameter, p.master, p.gradient};
    add_single_update(p, std::move(inputs));
  }

  ValueId add_norm(const char* name, ValueId grad_f32, ValueId grad_low) {
    return graph_.add(name, std::make_shared<GradNorm>(), {grad_f32, grad_low, options_.loss_scale}, Pass::update);
  }

  void gather_norms(ValueId all) {
    graph_.add_node("grad_norm.gather", std::make_shared<AllGatherStart>(), {all}, Pass::update);
    graph_.add_node("grad_norm.wait", std::make_shared<AllReduceWait>(), {all}, Pass::update);
  }

  /// The norm of sums of which every rank has slices.
  ValueId add_norm_of_parts() {
    const bool low = layout_.low > 0;
    const ValueId sums = inputs_[OptimizerUpdate::grad_f32];
    const ValueId own = add_norm("grad_norm.own", low ? inputs_[OptimizerUpdate::grad_low] : sums, no_value);
    const std::int64_t size = graph_.desc(own).count();
    const ValueId all = state(flat::grad_norms, DType::f32, options_.shard->world_size * size);
    graph_.place(own, all, options_.shard->rank * size);
    gather_norms(all);
    const ValueId rest = low && sums != no_value ? add_norm("grad_norm.rest", sums, no_value) : no_value;
    return graph_.add(flat::grad_norm, std::make_shared<NormOfParts>(), {all, rest}, Pass::update);
  }

  /// The norm of gradients that every rank has, and of tables' of which each has its rows'.
  ValueId add_norm_with_tables(const std::vector<const FlatTable*>& tables) {
    const ValueId dense =
        add_norm("grad_norm.dense", inputs_[OptimizerUpdate::grad_f32], inputs_[OptimizerUpdate::grad_low]);
    const std::int64_t size = graph_.desc(dense).count(), own = size * static_cast<std::int64_t>(tables.size());
    const ValueId all = state(flat::table_norms, DType::f32, options_.tables->world_size * own);
    std::int64_t at = options_.tables->rank * own;
    for (const FlatTable* t : tables) {
      const ValueId norm = graph_.add(graph_.value(t->gradient.parameter).name + ".norm", std::make_shared<RowsNorm>(),
                                      {t->gradient.gradient, t->gradient.used, options_.loss_scale}, Pass::update);
      graph_.place(norm, all, at);
      at += size;
    }
    gather_norms(all);
    return graph_.add(flat::grad_norm, std::make_shared<NormOfParts>(), {all, dense}, Pass::update);
  }

  ValueId add_whole_norm() {
    std::vector<const FlatTable*> tables;
    for (const FlatTable& t : layout_.tables) {
      if (t.is_of_own_rows()) tables.push_back(&t);
    }
    if (!tables.empty()) return add_norm_with_tables(tables);
    if (layout_.divides_sums) return add_norm_of_parts();
    return add_norm(flat::grad_norm, inputs_[OptimizerUpdate::grad_f32], inputs_[OptimizerUpdate::grad_low]);
  }

  void add_update() {
    if (needs_norm(options_)) {
      const ValueId norm = add_whole_norm();
      inputs_[OptimizerUpdate::grad_norm] = norm;
      if (!rest_inputs_.empty()) rest_inputs_[OptimizerUpdate::grad_norm] = norm;
      graph_.set_output(flat::grad_norm, norm);
    }
    for (const FlatTable& t : layout_.tables) add_table_update(t);  // before the op that counts the update
    std::map<std::optional<std::size_t>, std::vector<ParameterSegment>> segments, rest;
    for (const FlatParameter& p : layout_.parameters) {
      if (p.early) {
        add_early_update(p);
      } else if (p.muon) {
        add_single_update(p, inputs_);
      } else {
        for (const ParameterSegment& part : find_own_parts(p))
          (layout_.is_rest(p) ? rest : segments)[p.group].push_back(part);
      }
    }
    const auto add = [&](std::string name, std::optional<std::size_t> group, std::vector<ParameterSegment> parameters,
                         const std::vector<ValueId>& inputs, UpdateCount counted) {
      graph_.add_node(
          std::move(name),
          std::make_shared<OptimizerUpdate>(make_element_settings(options_, group), std::move(parameters), counted),
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
    add_average(state(flat::average, DType::f32, layout_.master), inputs_[OptimizerUpdate::master]);
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
  FlatLayout layout_;
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
