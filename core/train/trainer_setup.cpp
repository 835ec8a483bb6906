// Getting a training run ready: plans, memory, starting state.
#include "core/base/errors.h"
#include "core/exec/fusion_choice.h"
#include "core/io/atomic_file.h"
#include "core/train/estimate.h"
#include "core/train/settings.h"
#include "core/train/snapshot.h"
#include "core/train/trainer.h"
#include "core/train/weights.h"

#include <algorithm>
#include <array>

namespace ptrain {
namespace {

/// Batches that are looked at before training.
constexpr int first_batches = 32;

std::int64_t parameter_count(const Model& model) {
  std::int64_t count = 0;
  for (const WeightMapping& mapping : model.weights()) {
    if (!is_running_statistic(mapping.variable)) count += mapping.external_shape.count();
  }
  return count;
}

}  // namespace

Trainer::Trainer(const Config& config, std::string config_hash, Backend& backend, const Model& model,
                 const Dataset& training, const Dataset* evaluation, TrainObserver& observer,
                 Communicator* communicator)
    : config_(config),
      config_hash_(std::move(config_hash)),
      backend_(backend),
      model_(model),
      training_data_(training),
      evaluation_data_(evaluation),
      observer_(observer),
      ranks_(communicator),
      variables_(backend) {
  if (const std::string gpu = backend_.pci_bus_id(); !gpu.empty() && ranks_.is_main()) watch_gpu(gpu);
  if (!ranks_.several()) return;
  if (config_.dist.sync_batch_norm && !backend_.syncs_batch_norm()) {
    fail_usage("dist.sync_batch_norm: is made for device cpu only");
  }
  collectives_ = backend_.make_collectives(*communicator);
  if (config_.dist.reproducible && !collectives_->adds_in_rank_order()) {
    fail_usage("dist.reproducible: is made for device cpu only; {} adds in its own order", collectives_->engine());
  }
}

void Trainer::watch_gpu(const std::string& pci_bus_id) {
  try {
    gpu_watch_.emplace(std::make_unique<Nvml>(pci_bus_id));
  } catch (const Error& error) {
    observer_.on_note(fmt::format("power and clocks of the GPU are not in the report: {}", error.what()));
  }
}

/// Rank 0 searches for kernels while the others wait, so that one search's timings do not disturb another's and all
/// ranks of a machine choose alike.
void Trainer::compile() {
  ranks_.note("compiling", 0);
  ranks_.main_first([this] { compile_plans(); });
}

void Trainer::compile_plans() {
  training_.emplace(make_plans(Mode::training, config_.data.batch_size));
  const Cost cost = compile_for_first_batches(*training_, training_data_, loader_options(config_, Split::train));
  result_.search_seconds = training_->compile_seconds();
  if (evaluation_data_ != nullptr) {
    const LoaderOptions loader = loader_options(config_, Split::eval);
    evaluation_.emplace(make_plans(Mode::evaluation, loader.batch_size));
    compile_for_first_batches(*evaluation_, *evaluation_data_, loader);
    result_.search_seconds += evaluation_->compile_seconds();
  }
  if (config_.output.per_op) training_->enable_profile();
  if (const auto warning = backend_.search_cache().save()) observer_.on_note(*warning);
  result_.search_hash = backend_.search_cache().hash();

  const std::size_t evaluation_arena = evaluation_ ? evaluation_->arena_bytes() : 0;
  const std::size_t evaluation_workspace = evaluation_ ? evaluation_->workspace_bytes() : 0;
  result_.variable_bytes = static_cast<std::int64_t>(variables_.bytes());
  result_.arena_bytes = static_cast<std::int64_t>(std::max(training_->arena_bytes(), evaluation_arena));
  result_.workspace_bytes = static_cast<std::int64_t>(std::max(training_->workspace_bytes(), evaluation_workspace));
  result_.input_bytes =
      static_cast<std::int64_t>(training_->input_bytes() + (evaluation_ ? evaluation_->input_bytes() : 0));
  result_.planned_peak_bytes = backend_.memory_use().resident_bytes +
                               ranks_.ranks_in_process() * (result_.variable_bytes + result_.arena_bytes +
                                                            result_.workspace_bytes + result_.input_bytes);
  result_.flops_per_sample = cost.flops / static_cast<double>(config_.data.batch_size);
  result_.bytes_per_sample = cost.bytes / static_cast<double>(config_.data.batch_size);
  result_.parameters = parameter_count(model_);
}

PlanSet Trainer::make_plans(Mode mode, std::int64_t batch) {
  const DType low = backend_.preferred_low_precision();
  PlanOptions plan = plan_options(config_);
  plan.collectives = collectives_.get();
  PlanSet::Shapes shapes;
  shapes.capacity = [this, batch](std::int64_t tokens) { return model_.token_capacity(batch, tokens); };
  if (mode == Mode::evaluation) {
    shapes.build = [this, batch, low](std::int64_t tokens) {
      return build_inference_graph(model_.build({batch, tokens}, Mode::evaluation), evaluation_options(config_, low))
          .graph;
    };
  } else {
    PipelineOptions options = training_options(config_, low);
    if (config_.fusion == FusionMode::full && backend_.fuses_convolutions()) {
      options.choose_fusion = fuse_where_faster(backend_, plan.kernels);
    }
    if (ranks_.several()) options.distribution = distribution_options(config_, ranks_.world_size());
    result_.loss_scaling = options.loss_scaling;
    shapes.build = [this, batch, options](std::int64_t tokens) {
      PipelineResult built = build_training_graph(model_.build({batch, tokens}, Mode::training), options);
      result_.amp = built.amp;
      return std::move(built.graph);
    };
  }
  const std::int64_t most_tokens = batch * training_data_.info().max_length;
  return {std::move(shapes), most_tokens, backend_, variables_, plan};
}

Cost Trainer::compile_for_first_batches(PlanSet& plans, const Dataset& data, LoaderOptions options) {
  if (model_.token_capacity(options.batch_size, 1) == 0) return plans.largest_member().cost;
  ranks_.shard(options);
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

void Trainer::check_memory() const { require_memory(0); }

void Trainer::require_memory(std::int64_t workspace) const {
  const bool shares_memory = backend_.host_reads_device();
  const auto available =
      static_cast<std::int64_t>(backend_.available_memory()) / (shares_memory ? ranks_.ranks_on_host() : 1);
  const std::int64_t needed = estimate_memory(config_, backend_, model_, config_.data.batch_size).total() + workspace;
  if (needed <= available) return;
  const std::int64_t fits = largest_batch(config_, backend_, model_, available - workspace);
  throw OutOfMemory(
      fmt::format("data.batch_size: {} needs {} MiB by the memory plan, but {} MiB are available{}: {}",
                  config_.data.batch_size, needed >> 20, available >> 20, ranks_.several() ? " to each rank" : "",
                  fits > 0 ? fmt::format("{} would fit", fits) : std::string("not even a batch of 1 fits")));
}

void Trainer::prepare() {
  const bool others_take_it_too = ranks_.several() && backend_.host_reads_device();
  if (!others_take_it_too) require_memory(result_.workspace_bytes);
  variables_.allocate();
  memory_.emplace(backend_, static_cast<std::size_t>(result_.arena_bytes),
                  static_cast<std::size_t>(result_.workspace_bytes));
  training_->bind(*memory_);
  if (evaluation_) evaluation_->bind(*memory_);
  for (Flight& flight : flights_) {
    for (std::int64_t i = 0; i < config_.train.accumulate_steps; ++i) {
      flight.losses.push_back(backend_.make_readback(sizeof(float)));
    }
    if (result_.loss_scaling) flight.loss_scale = backend_.make_readback(LossScaleState::size * sizeof(float));
  }
  ranks_.note("setting up", 0);
  if (ranks_.is_main()) set_up_start();
  std::array<double, 2> start{static_cast<double>(result_.first_step), result_.first_loss.value_or(0.0)};
  ranks_.broadcast(start);
  ranks_.broadcast(variables_);
  result_.first_step = static_cast<std::int64_t>(start[0]);
  if (result_.first_step > 0) result_.first_loss = start[1];
  count_steps();
  observer_.on_start(result_);
}

void Trainer::set_up_start() {
  initialize_variables(model_, variables_, static_cast<std::uint64_t>(config_.seed));
  if (result_.loss_scaling) {
    const std::array<float, LossScaleState::size> state{static_cast<float>(config_.amp.scaler.init)};
    variables_.write(loss_scale_state, state.data(), sizeof state);
  }
  if (!config_.model.weights.empty()) {
    const LoadedWeights loaded = load_weights(config_.model.weights, model_, variables_);
    for (const std::string& name : loaded.fresh) {
      observer_.on_note(fmt::format("{}: {} is not taken from it and starts afresh", config_.model.weights, name));
    }
  }
  restore();
}

void Trainer::count_steps() {
  if (ranks_.world_size() > 1 && !config_.data.drop_last) {
    fail_usage("data.drop_last: false is not exact with {} ranks, whose parts of an epoch's last batch would differ",
               ranks_.world_size());
  }
  LoaderOptions options = loader_options(config_, Split::train);
  options.workers = 0;
  ranks_.shard(options);
  const Loader probe(training_data_, options);
  steps_per_epoch_ = probe.batches_per_epoch() / config_.train.accumulate_steps;
  if (steps_per_epoch_ == 0) {
    fail_usage("train.accumulate_steps: {} batches make no step of {}", probe.batches_per_epoch(),
               config_.train.accumulate_steps);
  }
  total_steps_ = config_.train.steps > 0 ? config_.train.steps : config_.train.epochs * steps_per_epoch_;
  result_.total_steps = total_steps_;
  result_.steps_per_epoch = steps_per_epoch_;
  schedule_ = make_schedule(config_, steps_per_epoch_, total_steps_);
}

void Trainer::restore() {
  if (config_.resume == "none") return;
  std::optional<Checkpoint> checkpoint;
  if (config_.resume == "auto") {
    LatestCheckpoint latest = find_latest(config_.output.dir);
    for (const std::string& warning : latest.warnings) observer_.on_note(warning);
    if (!latest.checkpoint) return;
    checkpoint = std::move(latest.checkpoint);
  } else {
    checkpoint = load_checkpoint(config_.resume);
  }
  restore_snapshot(*checkpoint, model_.signature(), variables_);
  result_.resumed_from = checkpoint->path().string();
  result_.first_step = static_cast<std::int64_t>(checkpoint->info().step);
  result_.first_loss = checkpoint->info().state.value("first_loss", 0.0);
  const std::int64_t samples = config_.data.batch_size * config_.train.accumulate_steps * ranks_.world_size();
  const std::int64_t earlier = checkpoint->info().state.value("samples_per_step", samples);
  if (earlier != samples) {
    observer_.on_note(fmt::format("{}: was made with {} samples a step, not {}: the data goes on in another order",
                                  checkpoint->path().string(), earlier, samples));
  }
  if (checkpoint->info().config_hash != config_hash_) {
    observer_.on_note(fmt::format("{}: was made under another configuration", checkpoint->path().string()));
  }
  observer_.on_note(fmt::format("resumed from {} at step {}", checkpoint->path().string(), result_.first_step));
}

void Trainer::export_weights(const std::filesystem::path& path) const {
  if (!ranks_.is_main()) return;
  const Communicator::Busy busy(ranks_.communicator(), "writing the weights");
  save_weights(path, model_, variables_, result_.first_step + result_.steps);
  const std::string config = model_.config_json();
  if (!config.empty()) write_file_atomic(path.parent_path() / "config.json", config);
}

}  // namespace ptrain
