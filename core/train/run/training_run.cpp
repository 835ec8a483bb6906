#include "core/train/run/training_run.h"

#include "core/base/clock.h"
#include "core/base/signals.h"
#include "core/base/standard_streams.h"
#include "core/comm/rank_failure.h"
#include "core/config/keys.h"
#include "core/io/folder_lock.h"
#include "core/io/free_output.h"
#include "core/io/run_files.h"
#include "core/report/environment.h"
#include "core/report/json_file.h"
#include "core/report/run_start.h"
#include "core/train/amp_choice.h"
#include "core/train/data_report.h"
#include "core/train/input/image_decoders.h"
#include "core/train/measure/cached_device_rates.h"
#include "core/train/options_from_config.h"
#include "core/train/run/run_environment.h"
#include "core/train/run/run_log.h"
#include "core/train/run/start_ranks.h"
#include "core/train/run_report.h"

#include <new>

namespace ptrain {
namespace {

namespace fs = std::filesystem;

/// A run that ended early, but regularly, has its report; only the exit code remains.
void throw_unless_ok(const RunResult& result) {
  if (result.status == RunStatus::diverged) throw Error(ExitCode::diverged, result.message);
  if (result.status == RunStatus::interrupted) throw Error(static_cast<ExitCode>(128 + result.signal), result.message);
}

/// Throws Error{usage} when the report would replace the configuration, the data or the weights.
void require_own_report(const LoadedConfig& loaded) {
  const DataConfig& data = loaded.config.data;
  const fs::path folder = data.path;
  require_free_output(
      "output.report", report_path(loaded.config.output),
      {loaded.file, folder, folder / data.train_file, folder / data.dev_file, data.vocab, loaded.config.model.weights},
      "ptrain.report", FolderInputs::are_inputs);
}

/// One rank of a run; rank 0 shows its progress and writes its report in any case.
class TrainingRun {
 public:
  TrainingRun(const LoadedConfig& loaded, const RunTools& tools, OutputUse use, Communicator* communicator)
      : config_(loaded.config),
        use_(use),
        tools_(tools),
        report_(make_report(config_)),
        decoder_place_(loaded.origins.at("data.decoder")),
        communicator_(communicator),
        view_(tools.make_view(config_, is_main() ? RankOutput::full : RankOutput::report_only)),
        observer_(config_, is_main() ? *view_ : silent_view_) {
    for (const std::string& note : loaded.notes) observer_.on_note(note);
  }

  void run(const std::function<void(Trainer&)>& work) {
    lock_output();
    try {
      prepare();
      work(*trainer_);
      view_->finish();
      if (is_main()) {
        fill();
        write(report_, Flush::yes);
        view_->on_end(report_, trainer_->result().step_ms, report_path(config_.output));
      }
      if (communicator_ != nullptr) communicator_->close();
    } catch (const RankFailure& failure) {
      if (reports_loss(failure)) write_failure(failure.what(), RunStatus::error, Flush::no);
      throw;
    } catch (const OutOfMemory& error) {
      give_up(RunStatus::oom, error.what());
      throw;
    } catch (const std::bad_alloc&) {
      give_up(RunStatus::oom, "out of memory");
      throw Error(ExitCode::failed, "out of memory: the host cannot allocate what the run needs");
    } catch (const Interrupted& interrupted) {
      give_up(RunStatus::interrupted, interrupted.what());
      throw;
    } catch (const std::exception& error) {
      give_up(RunStatus::error, error.what());
      throw;
    }
    throw_unless_ok(trainer_->result());
  }

 private:
  bool is_main() const { return communicator_ == nullptr || communicator_->rank() == 0; }

  /// Rank 0 writes the report of a lost rank; if rank 0 is lost, rank 1 does.
  bool reports_loss(const RankFailure& lost) const {
    return is_main() || (lost.rank() == 0 && communicator_->rank() == 1);
  }

  /// Writes at once, in another thread: a launcher may end this process before the training thread gets to its own
  /// report.
  void write_loss(const RankFailure& lost) {
    if (!reports_loss(lost)) return;
    print_error_line(fmt::format("note: {}", lost.what()));
    write_failed(prepared_, RunStatus::error, lost.what(), Flush::no);
  }

  /// Nothing, not even a report, is written where another run writes or has written.
  void lock_output() {
    if (!is_main()) return;
    try {
      lock_.emplace(config_.output.dir);
      claim_output(config_, use_);
    } catch (const Error& error) {
      if (communicator_ != nullptr) communicator_->abort(error.what());
      throw;
    }
  }

  /// Ends this rank with an error of its own.
  void give_up(RunStatus status, const std::string& message) {
    if (is_main()) write_failure(message, status);
    if (communicator_ != nullptr) communicator_->abort(message);
  }

  void prepare() {
    workload_ = tools_.open_workload(config_, communicator_ == nullptr ? 0 : communicator_->local_rank());
    check_decoder();
    if (is_main()) announce_data();
    const std::optional<DeviceRates> rates = measure();
    report_.environment = capture_run_environment(config_.device, config_.dist.ranks, *workload_.backend, rates);
    settle_precision(rates ? &*rates : nullptr);
    trainer_.emplace(config_, config_hash(config_), *workload_.backend, *workload_.model, *workload_.training,
                     workload_.evaluation.get(), is_main() ? observer_ : silent_, communicator_);
    trainer_->check_memory();
    trainer_->compile(use_);
    trainer_->prepare();
    if (is_main() && use_ == OutputUse::training) write_start();
    if (communicator_ == nullptr) return;
    prepared_ = report_;
    fill_report(prepared_, config_, workload_.backend->kernels(), *workload_.model, trainer_->result());
    prepared_.data = data_;
    prepared_.notes = observer_.notes();
    on_failure_.emplace(*communicator_, [this](const RankFailure* lost) {
      if (lost != nullptr) write_loss(*lost);
    });
  }

  /// For those who look at the run before it has a report.
  void write_start() const {
    Report known = report_;
    fill_report(known, config_, workload_.backend->kernels(), *workload_.model, trainer_->result());
    const RunStart start{known.environment.time, known.progress.planned_steps, known.model, known.amp, known.config};
    write_document(start, fs::path(config_.output.dir) / run_files::start, Flush::no);
  }

  /// Checked before anything is measured; the error names the key's place.
  void check_decoder() {
    try {
      image_decoders(config_.data, *workload_.backend, Ranks(communicator_));
    } catch (const Error& error) {
      throw Error(error.code(), fmt::format("{}: {}", decoder_place_, error.what()));
    }
  }

  void announce_data() {
    const Communicator::BusyScope busy(communicator_, "examining the data");
    DataFindings found = examine_data(config_.data, config_.seed, *workload_.training, workload_.evaluation.get());
    data_ = found.report;
    for (const std::string& note : found.notes) observer_.on_note(note);
  }

  /// Rank 0's device represents all. A run continues without rates if they cannot be measured.
  std::optional<DeviceRates> measure() {
    if (!is_main()) return std::nullopt;
    const Communicator::BusyScope busy(communicator_, "measuring the device");
    observer_.on_activity("measuring the device", 0, 0);
    try {
      return cached_device_rates(*workload_.backend, plan_options(config_).kernels);
    } catch (const Error& error) {
      observer_.on_note(fmt::format("the device's rates could not be measured: {}", error.what()));
      return std::nullopt;
    }
  }

  /// Resolves auto: configuration and report contain the chosen precision from here on.
  void settle_precision(const DeviceRates* rates) {
    const AmpChoice choice =
        settle_amp(config_, workload_.backend->kernels().preferred_low_precision(), rates, Ranks(communicator_));
    EnvironmentReport environment = std::move(report_.environment);
    report_ = make_report(config_);
    report_.environment = std::move(environment);
    report_.amp.requested = choice.requested;
    report_.amp.reason = choice.reason;
    if (!choice.reason.empty()) {
      observer_.on_note(fmt::format("amp.level {}: {}, {}", choice.requested, enum_name(choice.level), choice.reason));
    }
    if (!choice.note.empty()) observer_.on_note(choice.note);
  }

  void fill() {
    if (trainer_) fill_report(report_, config_, workload_.backend->kernels(), *workload_.model, trainer_->result());
    if (workload_.training) report_.model.labels = label_names(workload_.training->info());
    report_.data = data_;
    report_.notes = observer_.notes();
  }

  void write(Report& report, Flush flush) {
    report.progress.wall_seconds = watch_.seconds();
    write_report(report, report_path(config_.output), flush);
    view_->on_report(report, report_path(config_.output));
  }

  void write_failure(const std::string& message, RunStatus status, Flush flush = Flush::yes) {
    view_->finish();
    if (report_.environment.time.empty()) report_.environment = capture_environment({});
    fill();
    write_failed(report_, status, message, flush);
  }

  /// The run's own error is reported; failing to write the report does not replace it.
  void write_failed(Report& report, RunStatus status, const std::string& message, Flush flush) {
    report.status = status;
    report.message = message;
    try {
      write(report, flush);
    } catch (const std::exception&) {
      return;
    }
  }

  const Stopwatch watch_;
  Config config_;  // after settle_precision
  const OutputUse use_;
  const RunTools& tools_;
  std::optional<FolderLock> lock_;
  Report report_;
  Report prepared_;  // before the first step, for write_loss
  const std::string decoder_place_;
  Communicator* communicator_;
  const std::unique_ptr<RunView> view_;
  RunView silent_view_;
  RunLog observer_;
  TrainObserver silent_;
  Workload workload_;
  std::optional<DataReport> data_;  // once the data is open
  std::optional<Trainer> trainer_;
  std::optional<Communicator::OnFailure> on_failure_;
};

}  // namespace

void run_with_report(const LoadedConfig& loaded, const RunTools& tools, OutputUse use,
                     const std::function<void(Trainer&)>& work) {
  require_own_report(loaded);
  on_every_rank(loaded, [&](const LoadedConfig& mine, Communicator* communicator) {
    TrainingRun(mine, tools, use, communicator).run(work);
  });
}

}  // namespace ptrain
