#include "cli/training_run.h"

#include "cli/device.h"
#include "cli/run_observer.h"
#include "cli/workload.h"
#include "core/base/clock.h"
#include "core/base/parallel.h"
#include "core/config/keys.h"
#include "core/report/environment.h"
#include "core/train/run_report.h"

#include <new>

namespace ptrain {
namespace {

/// A run that ended early, but in order, has its report; what is left is the exit code.
void throw_unless_ok(const RunResult& result) {
  if (result.status == RunStatus::diverged) throw Error(ExitCode::diverged, result.message);
  if (result.status == RunStatus::interrupted) throw Error(static_cast<ExitCode>(128 + result.signal), result.message);
}

nlohmann::json environment_of(const Backend& backend) {
  EnvironmentRequest request;
  request.threads = thread_count();
  const std::string library = backend.library();
  const std::size_t space = library.rfind(' ');
  request.libraries[library.substr(0, space)] = library.substr(space + 1);
  if (backend.name() == "cuda") {
    const cuda::CudaInfo info = cuda::cuda_info();
    request.libraries.insert(info.versions.begin(), info.versions.end());
    request.devices = describe_gpus(info);
  }
  return capture_environment(request);
}

/// One run with its report, which is written whatever happens.
class TrainingRun {
 public:
  TrainingRun(const LoadedConfig& loaded, ProgressStyle style)
      : config_(loaded.config), report_(make_report(config_)), observer_(config_, style) {
    report_.notes = loaded.notes;
    for (const std::string& note : loaded.notes) observer_.on_note(note);
  }

  void run(const std::function<void(Trainer&)>& work) {
    try {
      prepare();
      work(*trainer_);
      observer_.finish();
    } catch (const OutOfMemory& error) {
      write_failure(RunStatus::oom, error.what());
      throw;
    } catch (const std::bad_alloc&) {
      write_failure(RunStatus::oom, "out of memory");
      throw Error(ExitCode::failed, "out of memory: the host cannot allocate what the run needs");
    } catch (const std::exception& error) {
      write_failure(RunStatus::error, error.what());
      throw;
    }
    write();
    throw_unless_ok(trainer_->result());
  }

 private:
  void prepare() {
    workload_ = open_workload(config_);
    report_.environment = environment_of(*workload_.backend);
    trainer_.emplace(config_, config_hash(config_), *workload_.backend, *workload_.model, *workload_.training,
                     workload_.evaluation.get(), observer_);
    trainer_->check_memory();
    trainer_->compile();
    trainer_->prepare();
  }

  void write() {
    if (trainer_) fill_report(report_, config_, *workload_.backend, *workload_.model, trainer_->result());
    if (failure_) {
      report_.status = *failure_;
      report_.message = failure_message_;
    }
    report_.notes = observer_.notes();
    report_.progress.wall_seconds = watch_.seconds();
    write_report(report_, report_path(config_));
  }

  /// The run's own error is the one to tell: a report that cannot be written either adds nothing to it.
  void write_failure(RunStatus status, const std::string& message) {
    observer_.finish();
    failure_ = status;
    failure_message_ = message;
    if (report_.environment.is_null()) report_.environment = capture_environment({});
    try {
      write();
    } catch (const Error&) {
      return;
    }
  }

  const Stopwatch watch_;
  const Config& config_;
  Report report_;
  RunObserver observer_;
  Workload workload_;
  std::optional<Trainer> trainer_;
  std::optional<RunStatus> failure_;
  std::string failure_message_;
};

}  // namespace

std::filesystem::path report_path(const Config& config) {
  return config.output.report.empty() ? std::filesystem::path(config.output.dir) / "report.json"
                                      : std::filesystem::path(config.output.report);
}

void run_with_report(const LoadedConfig& loaded, ProgressStyle style, const std::function<void(Trainer&)>& work) {
  TrainingRun(loaded, style).run(work);
}

}  // namespace ptrain
