#include "core/train/plans/training_plans.h"

#include "core/exec/fusion_policy.h"
#include "core/runtime/dynamic_table.h"
#include "core/train/input/class_weights.h"
#include "core/train/plans/memory_estimate.h"

#include <algorithm>

namespace ptrain {
namespace {

/// Number of batches for which plans are compiled before training.
constexpr int first_batches = 32;

}  // namespace

bool TrainingPlans::translates(const Dataset& evaluation) const {
  return task().translates() && evaluation.decode({}).has_value();
}

DeployOptions TrainingPlans::translator_options(const DatasetInfo& data) const {
  DeployOptions options;
  options.batch_size = options_.evaluation_loader.batch_size;
  options.max_length = data.max_length;
  options.amp = options_.evaluation.amp;
  options.kernels = options_.step.plan.kernels;
  options.kernels.exhaustive_search = false;
  options.cache = CacheOptions{};
  return options;
}

std::unique_ptr<Translator> TrainingPlans::make_translator(const Dataset& evaluation) const {
  if (!translates(evaluation)) return nullptr;
  const DatasetInfo& data = evaluation.info();
  return std::make_unique<Translator>(backend_, model_, task(), variables_, translator_options(data), search_options(),
                                      data.end_token);
}

TrainingPlans::TrainingPlans(TrainingPlanOptions options, Backend& backend, const Model& model, const Ranks& ranks,
                             Collectives* gradients, TrainObserver& observer)
    : options_(std::move(options)),
      backend_(backend),
      model_(model),
      ranks_(ranks),
      gradients_(gradients),
      observer_(observer),
      variables_(backend.memory()) {}

void TrainingPlans::compile(const Dataset& training, const Dataset* evaluation) {
  ranks_.note("compiling", 0);
  ranks_.main_first([&] { compile_sets(training, evaluation); });
}

void TrainingPlans::compile_sets(const Dataset& training, const Dataset* evaluation) {
  class_weights_ = ptrain::class_weights(options_.class_weights, options_.classes, training);
  PlanOptions plan = options_.step.plan;
  plan.collectives = gradients_;
  const std::string_view what =
      plan.kernels.exhaustive_search ? "searching for the fastest kernels" : "choosing kernels";
  plan.on_node = [this, what](std::int64_t done, std::int64_t total) { observer_.on_activity(what, done, total); };
  const std::vector<Bucket> buckets = phase_buckets(options_.phases, training);
  training_.emplace(training_shapes(plan), buckets.front(), backend_, variables_, plan);
  for (const Bucket& bucket : buckets) training_->for_bucket(bucket);
  const Cost cost = compile_for_first_batches(*training_, training, in_phase(options_.loader, options_.phases.front()));
  if (evaluation != nullptr) {
    const LoaderOptions& loader = options_.evaluation_loader;
    evaluation_.emplace(evaluation_shapes(), full_bucket(loader.batch_size, *evaluation), backend_, variables_, plan);
    compile_for_first_batches(*evaluation_, *evaluation, loader);
    if (translates(*evaluation)) {
      figures_.translator_bytes = Translator::estimate_memory(model_, task(), translator_options(evaluation->info()),
                                                              search_options(), backend_.kernels());
    }
  }
  if (options_.per_op) training_->enable_profile();
  if (options_.numerics) training_->watch_values(&value_watch_.emplace());
  announce_search();
  note_useless_recompute();
  count_memory();
  figures_.flops_per_sample = cost.flops / static_cast<double>(buckets.front().rows);
  figures_.bytes_per_sample = cost.bytes / static_cast<double>(buckets.front().rows);
  figures_.parameters = parameter_count(model_);
}

PlanSet::Shapes TrainingPlans::training_shapes(const PlanOptions& plan) {
  PipelineOptions options = options_.step.passes;
  if (options.fusion == Fusion::full && backend_.kernels().fuses_convolutions()) {
    options.choose_fusion = [this, fuse = fuse_where_faster(backend_, plan.kernels),
                             done = std::int64_t{0}](const FusionChoice& choice) mutable {
      observer_.on_activity("choosing fusions", ++done, 0);
      return fuse(choice);
    };
  }
  figures_.loss_scaling = options.loss_scaling;
  PlanSet::Shapes shapes;
  shapes.planned = [this](const Bucket& batch) { return model_.bucket_for(batch, Mode::training); };
  shapes.build = [this, options](const Bucket& bucket) {
    LossGraph learnt = build_with_losses(model_, task(), bucket, Mode::training);
    figures_.loss_weights = std::move(learnt.terms);
    PipelineResult built = build_training_graph(learnt.graph, options);
    figures_.amp = built.amp;
    return std::move(built.graph);
  };
  return shapes;
}

PlanSet::Shapes TrainingPlans::evaluation_shapes() {
  PlanSet::Shapes shapes;
  shapes.planned = [this](const Bucket& batch) { return model_.bucket_for(batch, Mode::evaluation); };
  shapes.build = [this](const Bucket& bucket) {
    const Graph forward = build_with_losses(model_, task(), bucket, Mode::evaluation).graph;
    return build_evaluation_graph(forward, options_.evaluation).graph;
  };
  return shapes;
}

Cost TrainingPlans::compile_for_first_batches(PlanSet& plans, const Dataset& data, LoaderOptions options) {
  if (!packs_text()) return plans.largest_member().cost;
  if (data.size() < options.batch_size * options.world_size) options.remainder = Remainder::keep;  // for an evaluation
  options.workers = 0;
  Loader loader(data, options);
  Cost mean;
  for (int i = 0; i < first_batches; ++i) {
    const Cost cost = plans.for_batch(loader.next()).cost;
    mean.flops += cost.flops / first_batches;
    mean.bytes += cost.bytes / first_batches;
  }
  return mean;
}

bool TrainingPlans::has_running_statistics() const {
  return std::ranges::any_of(variables_.entries(), [](const auto& entry) { return is_running_statistic(entry.first); });
}

std::int64_t TrainingPlans::count_table_file_bytes() const {
  if (options_.step.table_folder.empty()) return 0;
  std::int64_t bytes = 0;
  for (const std::string& name : list_table_variables(model_)) {
    if (!variables_.contains(name) || variables_.at(name).view) continue;
    bytes += static_cast<std::int64_t>(variables_.at(name).desc.bytes());
  }
  return bytes;
}

void TrainingPlans::count_memory() {
  const auto larger = [this](std::size_t (PlanSet::*bytes)() const) {
    return static_cast<std::int64_t>(
        std::max((*training_.*bytes)(), evaluation_ ? (*evaluation_.*bytes)() : std::size_t{0}));
  };
  figures_.table_file_bytes = count_table_file_bytes();
  figures_.variable_bytes = static_cast<std::int64_t>(variables_.bytes()) - figures_.table_file_bytes;
  figures_.optimizer_bytes = 0;
  for (const auto& [name, entry] : variables_.entries()) {
    if (name.starts_with(flat::moments)) figures_.optimizer_bytes += static_cast<std::int64_t>(entry.desc.bytes());
  }
  figures_.arena_bytes = larger(&PlanSet::arena_bytes);
  figures_.workspace_bytes = larger(&PlanSet::workspace_bytes);
  figures_.input_bytes =
      static_cast<std::int64_t>(training_->input_bytes() + (evaluation_ ? evaluation_->input_bytes() : 0));
  figures_.planned_peak_bytes =
      backend_.memory().usage().resident_bytes +
      ranks_.ranks_in_process() *
          (static_cast<std::int64_t>(variables_.allocated_bytes()) - figures_.table_file_bytes + figures_.arena_bytes +
           figures_.workspace_bytes + figures_.input_bytes + figures_.translator_bytes);
}

void TrainingPlans::allocate() {
  const std::string& table_folder = options_.step.table_folder;
  if (!table_folder.empty()) table_files_.emplace(table_folder, model_, variables_);
  variables_.allocate();
  memory_.emplace(backend_.memory(), static_cast<std::size_t>(figures_.arena_bytes),
                  static_cast<std::size_t>(figures_.workspace_bytes));
  training_->bind(*memory_);
  if (evaluation_) evaluation_->bind(*memory_);
}

void TrainingPlans::announce_search() {
  for (const std::string& note : backend_.kernels().search_cache().take_notes()) observer_.on_note(note);
  figures_.search_hash = backend_.kernels().search_cache().hash();
}

void TrainingPlans::note_useless_recompute() {
  const Recompute what = options_.step.passes.recompute;
  const bool repeats = std::ranges::any_of(training_->largest().graph().nodes(),
                                           [](const Node& node) { return node.phase == Pass::recompute; });
  if (what == Recompute::none || repeats) return;
  observer_.on_note(fmt::format("train.recompute: {} changes nothing: {} has no blocks with values to compute again",
                                enum_name(what), model_.name()));
}

void TrainingPlans::note_trained(double flops, std::int64_t samples) {
  announce_search();
  const bool differ = packs_text() || training_->size() > 1;
  if (differ && samples > 0) figures_.flops_per_sample = flops / static_cast<double>(samples);
}

PlannedFigures TrainingPlans::figures() const {
  PlannedFigures figures = figures_;
  for (const std::optional<PlanSet>* plans : {&training_, &evaluation_}) {
    if (*plans) figures.search_seconds += (*plans)->compile_seconds();
  }
  return figures;
}

}  // namespace ptrain
