#include "core/machine_check/checks.h"

#include "core/report/schema_check.h"
#include "tests/error_message.h"
#include "tests/temporary_directory.h"

#include <gtest/gtest.h>

namespace ptrain {
namespace {

DeviceCondition healthy() {
  DeviceCondition c;
  c.new_memory_errors = c.all_memory_errors = c.rows_to_remap = c.failed_remaps = 0;
  c.pcie_generation = c.most_pcie_generation = 5;
  c.pcie_width = c.most_pcie_width = 16;
  c.links = c.most_links = 18;
  c.link_bandwidth = 26.5e9;
  c.power_limit = c.default_power_limit = 700;
  c.most_sm_mhz = 1980;
  c.most_memory_mhz = 2602;
  return c;
}

DeviceRates rates_of_h200() {
  DeviceRates rates;
  rates.fp32.product = 50e12;
  rates.bf16.product = rates.fp16.product = 700e12;
  rates.memory_bandwidth = 4e12;
  return rates;
}

MetricMap found_facts(const DeviceCondition& condition) {
  MetricMap metrics = collect_metrics(rates_of_h200());
  metrics.merge(collect_metrics(condition));
  metrics["memory_gb"] = 150;
  metrics["sm_clock_mhz"] = 1700;
  metrics["memory_clock_mhz"] = 2602;
  return metrics;
}

/// The checks' verdicts by what was checked, of an H200.
std::map<std::string, CheckVerdict> verdicts(const DeviceCondition& condition, const MetricMap& changed = {},
                                             const ExpectedMachine& expected = {}) {
  ProbedDevice device{"cuda:0", {found_facts(condition), {{"model", "NVIDIA H200"}, {"driver", "580.95.05"}}}};
  for (const auto& [name, value] : changed) device.metrics.figures[name] = value;
  std::map<std::string, CheckVerdict> by_name;
  for (const Check& check : check_metrics(DeviceClass::gpu, device, expected.gpu, expected,
                                          default_expectations(condition, find_datasheet("NVIDIA H200")))) {
    by_name[check.what] = check.verdict;
  }
  return by_name;
}

std::vector<std::string> failures(const std::map<std::string, CheckVerdict>& verdicts) {
  std::vector<std::string> failed;
  for (const auto& [what, verdict] : verdicts) {
    if (verdict == CheckVerdict::failed) failed.push_back(what);
  }
  return failed;
}

TEST(GpuChecks, PassAHealthyOneAndSkipWhatNothingIsExpectedOf) {
  const auto found = verdicts(healthy());
  EXPECT_EQ(failures(found), std::vector<std::string>{});
  EXPECT_EQ(found.at("PCIe width"), CheckVerdict::ok);
  EXPECT_EQ(found.at("bf16, matrix product"), CheckVerdict::ok);
  EXPECT_EQ(found.at("driver"), CheckVerdict::skipped);
  EXPECT_EQ(found.at("int8, 3x3 convolution"), CheckVerdict::skipped);
}

TEST(GpuChecks, EachFailsByItself) {
  const std::pair<const char*, std::optional<double> DeviceCondition::*> worse[] = {
      {"uncorrected ECC errors, volatile", &DeviceCondition::new_memory_errors},
      {"uncorrected ECC errors, aggregate", &DeviceCondition::all_memory_errors},
      {"remapped rows pending", &DeviceCondition::rows_to_remap},
      {"row remapping failed", &DeviceCondition::failed_remaps},
      {"PCIe generation", &DeviceCondition::pcie_generation},
      {"PCIe width", &DeviceCondition::pcie_width},
      {"NVLink, links", &DeviceCondition::links},
      {"NVLink, each link and direction", &DeviceCondition::link_bandwidth},
      {"power limit", &DeviceCondition::power_limit},
  };
  for (const auto& [what, member] : worse) {
    DeviceCondition condition = healthy();
    condition.*member = 1;
    EXPECT_EQ(failures(verdicts(condition)), std::vector<std::string>{what});
  }
  const std::pair<const char*, const char*> slower[] = {
      {"fp32, matrix product", "fp32_product"},      {"bf16, matrix product", "bf16_product"},
      {"memory bandwidth", "memory_bandwidth_gb_s"}, {"memory", "memory_gb"},
      {"SM clock under load", "sm_clock_mhz"},       {"memory clock under load", "memory_clock_mhz"},
  };
  for (const auto& [what, name] : slower) {
    EXPECT_EQ(failures(verdicts(healthy(), {{name, 1}})), std::vector<std::string>{what});
  }
}

TEST(GpuChecks, SkipWhatTheDeviceDoesNotTell) {
  const auto found = verdicts({});
  EXPECT_EQ(failures(found), std::vector<std::string>{});
  for (const char* what : {"uncorrected ECC errors, volatile", "PCIe width", "NVLink, links", "power limit"}) {
    EXPECT_EQ(found.at(what), CheckVerdict::skipped) << what;
  }
}

TEST(GpuChecks, OfAFileComeBeforeTheDataSheets) {
  ExpectedMachine file;
  file.gpu.figures["pcie_generation"] = 4;
  file.gpu.figures["bf16_product"] = 800e3;
  file.gpu.texts["driver"] = "570.1";
  DeviceCondition condition = healthy();
  condition.pcie_generation = 4;
  EXPECT_EQ(failures(verdicts(condition, {}, file)), (std::vector<std::string>{"bf16, matrix product", "driver"}));
  file.tolerance = 0.2;
  EXPECT_EQ(failures(verdicts(condition, {}, file)), (std::vector<std::string>{"driver"}));
}

TEST(GpuChecks, ThrottlingFailsButByThePowerCap) {
  GpuReport seen;
  seen.throttled = {{"power_cap", 0.5}, {"thermal", 0}};
  EXPECT_EQ(check_throttling("cuda:0", seen, "").verdict, CheckVerdict::ok);
  seen.throttled["thermal"] = 0.1;
  EXPECT_EQ(check_throttling("cuda:0", seen, "").verdict, CheckVerdict::failed);
  EXPECT_EQ(check_throttling("cuda:0", {}, "no library").verdict, CheckVerdict::skipped);
}

TEST(CpuChecks, HoldRatesToTheFilesTolerance) {
  ProbedDevice cpu{"cpu", {{{"threads", 2}, {"fp32_product", 95}}, {}}};
  ExpectedMachine file;
  file.cpu.figures = {{"threads", 2}, {"fp32_product", 100}, {"bf16_product", 200}};
  CheckReport report;
  report.add(check_metrics(DeviceClass::cpu, cpu, file.cpu, file, {}));
  EXPECT_EQ(report.count(CheckVerdict::ok), 2);
  EXPECT_EQ(report.count(CheckVerdict::failed), 1);  // bf16 was expected and cannot be run
  EXPECT_FALSE(report.passed);
  EXPECT_NE(checks_text(report).find("FAIL: cannot be run here"), std::string::npos);
  EXPECT_EQ(schema_problem(write_fields(report), schema_of_fields<CheckReport>()), "");
}

class ExpectedFile : public testing::Test {
 protected:
  std::string get_error_message(const std::string& yaml) {
    const std::string file = folder_.write("expected.yaml", yaml);
    const std::string message = get_error([&] { load_expected(file); }, ExitCode::usage);
    return message.substr(std::min(message.size(), file.size()));
  }

  TemporaryDirectory folder_;
};

TEST_F(ExpectedFile, NamesWhatIsWrong) {
  EXPECT_EQ(get_error_message("cpu:\n  fp32_prodct: 3\n"),
            ":2: \"cpu.fp32_prodct\": unknown key of expected values; did you mean fp32_product?");
  EXPECT_EQ(get_error_message("cpu: {pcie_width: 16}\n"), ":1: \"cpu.pcie_width\": unknown key of expected values");
  EXPECT_EQ(get_error_message("gpu: {pcie_width: .nan}\n"),
            ":1: gpu.pcie_width: expected a number from 0 to 1000000000000, got \".nan\"");
  for (const char* odd : {"nan", "inf", "-1", "[1]", "many"}) {
    EXPECT_NE(get_error_message(fmt::format("gpu: {{pcie_width: {}}}\n", odd)).find("expected a number"),
              std::string::npos);
  }
  EXPECT_EQ(get_error_message("tolerance: 1\n"), ":1: tolerance: expected a number from 0 to 0.99, got \"1\"");
  EXPECT_EQ(get_error([&] { load_expected("/none/x.yaml"); }, ExitCode::usage), "--expect: /none/x.yaml: no such file");
}

TEST_F(ExpectedFile, ThoseShippedAreRead) {
  int count = 0;
  for (const auto& entry : std::filesystem::directory_iterator(PTRAIN_SOURCE_DIR "/configs/expected")) {
    EXPECT_TRUE(load_expected(entry.path()).gpus) << entry.path();
    ++count;
  }
  EXPECT_GE(count, 1);
}

TEST_F(ExpectedFile, IsReadAsItWasSaved) {
  ExpectedMachine machine;
  machine.about = "a test";
  machine.gpus = 2;
  machine.cpu = {{{"threads", 4}, {"fp32_product", 123.4}}, {{"model", "Jo's CPU: #1"}}};
  const DeviceMetrics gpus[] = {{{{"bf16_product", 7e5}, {"new_memory_errors", 3}}, {{"model", "A"}}},
                                {{{"bf16_product", 6e5}, {"new_memory_errors", 0}}, {{"model", "B"}}}};
  machine.gpu = combine_metrics(gpus);
  const auto file = folder_.path() / "saved.yaml";
  save_expected(machine, file);
  const ExpectedMachine read = load_expected(file);
  EXPECT_EQ(read.gpus, 2);
  EXPECT_EQ(read.cpu.figures, machine.cpu.figures);
  EXPECT_EQ(read.cpu.texts, machine.cpu.texts);
  EXPECT_EQ(read.gpu.figures, (MetricMap{{"bf16_product", 6e5}}));  // the lowest; errors are not expected
  EXPECT_TRUE(read.gpu.texts.empty());
  EXPECT_NE(get_error([&] { require_absent(file); }, ExitCode::usage).find("already exists"), std::string::npos);
}

}  // namespace
}  // namespace ptrain
