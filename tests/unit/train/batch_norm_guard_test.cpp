// What guarded batch norms find reaches the result, the report and a note. No CPU kernel is guarded: here they claim
// it.
#include "core/report/environment.h"
#include "core/report/schema_check.h"
#include "core/train/run_report.h"
#include "tests/unit/train/small_training.h"

namespace ptrain {
namespace {

using namespace testing;

constexpr int norms = 20;  // of resnet18

/// A batch norm of the backend under test that says of every `every`th run that its statistics have drifted.
class DriftingKernel final : public Kernel {
 public:
  DriftingKernel(std::unique_ptr<Kernel> kernel, std::int64_t every, double drift)
      : kernel_(std::move(kernel)), every_(every), drift_(drift) {}

  void run(const KernelArgs& args) override {
    kernel_->run(args);
    if (runs_++ % every_ == 0) ++finding_.compared, finding_.worst_drift = drift_;
  }
  std::size_t workspace_bytes() const override { return kernel_->workspace_bytes(); }
  std::optional<GuardFinding> guard_finding() const override { return finding_; }

 private:
  std::unique_ptr<Kernel> kernel_;
  std::int64_t every_, runs_ = 0;
  double drift_;
  GuardFinding finding_;
};

/// `kernels` but for training batch norms; one of them drifts by `drift`, the others by half of it.
class DriftingKernels final : public KernelLibrary {
 public:
  DriftingKernels(KernelLibrary& kernels, double drift) : kernels_(kernels), drift_(drift) {}

  std::unique_ptr<Kernel> make_kernel(const KernelContext& context) override {
    auto kernel = kernels_.make_kernel(context);
    const std::int64_t every = context.options.batch_norm_guard_every;
    if (context.op.type() != "batch_norm" || every == 0) return kernel;
    return std::make_unique<DriftingKernel>(std::move(kernel), every, made_++ == 7 ? drift_ : drift_ / 2);
  }
  SearchCache& search_cache() override { return kernels_.search_cache(); }
  OptionEffects effects(const KernelOptions& options, std::span<const KernelRecord> kernels) const override {
    return kernels_.effects(options, kernels);
  }
  DType preferred_low_precision() const override { return kernels_.preferred_low_precision(); }

 private:
  KernelLibrary& kernels_;
  double drift_;
  int made_ = 0;
};

/// The backend under test with such kernels.
class DriftingBackend final : public Backend {
 public:
  explicit DriftingBackend(double drift) : backend_(make_test_backend()), kernels_(backend_->kernels(), drift) {}

  std::string_view name() const override { return backend_->name(); }
  std::string library() const override { return backend_->library(); }
  DeviceMemory& memory() override { return backend_->memory(); }
  Stream& stream() override { return backend_->stream(); }
  KernelLibrary& kernels() override { return kernels_; }
  const Instruments& instruments() override { return backend_->instruments(); }

 private:
  std::unique_ptr<Backend> backend_;
  DriftingKernels kernels_;
};

/// Six steps of two micro-batches; every third step is compared.
Config guarded_config() {
  Config config = resnet_config();
  config.batch_norm_guard_every_steps = 3;
  config.train.steps = 6;
  config.train.accumulate_steps = 2;
  return config;
}

Outcome train_drifting(const Config& config, double drift) {
  return train(config, {}, [&] { return std::make_unique<DriftingBackend>(drift); });
}

nlohmann::json get_report(const Config& config, const RunResult& result) {
  Report report = make_report(config);
  report.environment = capture_environment({1, {}, nlohmann::json::array()});
  const auto backend = make_test_backend();
  const auto training = open_dataset(data_settings(config), Split::train);
  fill_report(report, config, backend->kernels(), *small_model(config, training->info()), result);
  nlohmann::json content = to_json(report);
  EXPECT_EQ(schema_problem(content, report_schema()), "");
  return content.at("flags").at("cudnn_batchnorm_spatial_persistent");
}

TEST(BatchNormGuard, ReportsTheWorstOfAllNormsAndHowOftenItLooked) {
  const Config config = guarded_config();
  const Outcome outcome = train_drifting(config, 0.0002);
  EXPECT_EQ(get_report(config, outcome.result).at("guard"),
            (nlohmann::json{{"every_steps", 3}, {"compared", 2 * norms}, {"worst_drift", 0.0002}}));
  EXPECT_TRUE(outcome.notes.empty());
}

TEST(BatchNormGuard, WarnsOfADriftThatRoundingDoesNotExplain) {
  const Outcome outcome = train_drifting(guarded_config(), 0.02);
  ASSERT_EQ(outcome.notes.size(), 1u);
  EXPECT_NE(outcome.notes[0].find("0.02 of a standard deviation"), std::string::npos) << outcome.notes[0];
}

TEST(BatchNormGuard, WritesADriftThatIsNotFiniteAsNull) {
  const Config config = guarded_config();
  const Outcome outcome = train_drifting(config, std::numeric_limits<double>::infinity());
  EXPECT_TRUE(get_report(config, outcome.result).at("guard").at("worst_drift").is_null());
  EXPECT_EQ(outcome.notes.size(), 1u);
}

TEST(BatchNormGuard, IsNotThereWhenNobodyAskedForItOrNoKernelHasIt) {
  Config config = guarded_config();
  EXPECT_FALSE(get_report(config, train(config).result).contains("guard"));
  config.batch_norm_guard_every_steps = 0;
  EXPECT_FALSE(get_report(config, train_drifting(config, 0.02).result).contains("guard"));
}

}  // namespace
}  // namespace ptrain
