#include "cli/engine_compilation.h"

#include "core/base/errors.h"
#include "core/cuda/engine_compiler.h"
#include "core/io/atomic_file.h"
#include "core/train/options_from_config.h"

namespace ptrain {

std::string compile_plans(Config config, const Workload& workload, const CompilationOptions& options) {
  refuse_block_weights(config);
  if (!config.amp.level) config.amp.level = AmpLevel::O1;  // as estimate --device predicts
  const auto compiler = cuda::make_plan_compiler(read_file(options.description), options.folder);
  const auto compile = [&] {
    const Ranks alone(nullptr);
    TrainObserver silent;
    TrainingPlans plans(
        training_plan_options(config, *workload.model, compiler->kernels().preferred_low_precision(), alone), *compiler,
        *workload.model, alone, nullptr, silent);
    plans.compile(*workload.training, workload.evaluation.get());
  };
  compile();
  if (config.fusion == Fusion::full) {  // such a run compiles both forms of its norms, and times them
    config.fusion = Fusion::always;
    compile();
  }
  const cuda::CompiledEngines compiled = compiler->compiled();
  if (compiled.plans == 0) {
    fail(
        "nothing was compiled for {}: the model uses no cuDNN plan, or there is no libcuda.so.1 that compiles "
        "without a GPU, such as the one of scripts/compile_plans.sh",
        compiled.gpu);
  }
  std::string summary = fmt::format("{} plans for {}; {} has {:.1f} MB", compiled.plans, compiled.gpu,
                                    compiled.folder.string(), static_cast<double>(compiled.bytes) * 1e-6);
  if (compiled.norms_left_out > 0) {
    summary += fmt::format(
        "\nnote: no plan was compiled for {} batch norms ({}); where that is for want of a driver, "
        "scripts/compile_plans.sh has a libcuda.so.1 that compiles without a GPU",
        compiled.norms_left_out, compiled.reason);
  }
  return summary;
}

}  // namespace ptrain
