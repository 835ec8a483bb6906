#include "core/report/report.h"
#include "core/base/errors.h"
#include "core/base/machine_memory.h"
#include "core/config/keys.h"
#include "core/io/atomic_file.h"
#include "core/report/environment.h"
#include "core/report/metrics_line.h"
#include "core/report/metrics_log.h"
#include "core/report/schema_check.h"
#include "core/report/version_1.h"
#include "tests/error_message.h"
#include "tests/temporary_directory.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <limits>

namespace ptrain {
namespace {

using nlohmann::json;

Report failed_report() {
  Report report = make_report(Config{});
  report.environment = capture_environment({2, {{"oneDNN", "3.2.0"}}, json::array()});
  report.message = "out of memory";
  report.status = RunStatus::oom;
  return report;
}

Report full_report() {
  Report report = failed_report();
  report.status = RunStatus::ok;
  report.message = "";
  report.notes = {"x.yaml:3: data.path: not read with data.source synthetic"};
  report.flags["cudnn_batchnorm_spatial_persistent"] = {true, false, "no meaning on the CPU", {}};
  report.amp = {
      "auto", "fp16 matrix products run faster", "O1", "fp16", {true, true, 32768, 1, {{1, 65536}, {7, 32768}}}, 42};
  report.model = {"resnet18", 11181642, 1.1e8};
  report.throughput = make_throughput("samples/s", 640, 2.0, 5, 2);
  const std::vector<double> times{10, 11, 12};
  report.latency_ms = LatencyReport{summarize(times), summarize({}), summarize(times)};
  report.utilization = make_utilization(1e11, 4e11, 5e11);
  report.memory = {1000, 1010};
  report.loss = {2.3, 0.4};
  MetricValue right, area;
  static_cast<MetricInfo&>(right) = {"right", "right answers", "of 1", MetricKind::fraction, true, ""};
  static_cast<MetricInfo&>(area) = {"area", "area", "", MetricKind::score, true, ""};
  right.value = 0.9;
  right.standard_error = 0.01;
  report.evaluation.emplace();
  report.evaluation->metrics = {right, area};
  report.evaluation->eval_samples = 1000;
  report.classification = ClassificationReport{{{"cat", 100, 90, 1, 0.9, 0.95}}, {{"cat", "dog", 10}}};
  report.evaluations = {{20, 1, *report.evaluation, 1.5}};
  report.kernels = {{"conv2d", "layer1.0.conv1", "brgconv", 20, 3.5, 1e9, 2e6}};
  return report;
}

TEST(Report, FitsItsSchemaWhetherTheRunFailedOrNot) {
  EXPECT_EQ(schema_problem(to_json(failed_report()), report_schema()), "");
  EXPECT_EQ(schema_problem(to_json(full_report()), report_schema()), "");
}

TEST(Report, IsReadBackAsItWasWritten) {
  const TemporaryDirectory folder;
  Report report = full_report();
  report.throughput->tokens = TokenReport{10, 12};
  report.gpu.emplace().power_watts = RangeReport{400, 350, 450};
  report.flags["cudnn_batchnorm_spatial_persistent"].guard = GuardReport{10, 4, 0.5};
  report.distributed.emplace().ranks.resize(2);
  report.distributed->mode = "parallel_graph";
  report.distributed->engine = "threads";
  write_report(report, folder / "report.json");
  EXPECT_EQ(to_json(read_report(folder / "report.json")), to_json(report));
}

TEST(Report, ReadersTakeNoNoticeOfWhatOtherVersionsHave) {
  const TemporaryDirectory folder;
  const json written = to_json(full_report());
  json content = written;
  content["later"] = 1;
  content["memory"]["later"] = {1, 2};
  content.erase("distributed");
  content["progress"].erase("bad_samples");
  write_file_atomic(folder / "report.json", content.dump());
  EXPECT_EQ(to_json(read_report(folder / "report.json")), written);
  content.erase("loss");
  write_file_atomic(folder / "report.json", content.dump());
  const std::string message = get_error([&] { read_report(folder / "report.json"); });
  EXPECT_NE(message.find("does not fit ptrain.report/2: /loss/last is missing"), std::string::npos) << message;
}

TEST(Report, OfAnotherKindOfValueNamesItsKey) {
  const TemporaryDirectory folder;
  const std::filesystem::path path = folder / "report.json";
  const auto error_with = [&](const char* pointer, const nlohmann::json& value) {
    nlohmann::json content = to_json(full_report());
    content["config"][nlohmann::json::json_pointer(pointer)] = value;
    write_file_atomic(path, content.dump());
    return get_error([&] { read_report(path); });
  };
  EXPECT_NE(error_with("/data/batch_size", "x").find("config: data.batch_size: expected "), std::string::npos);
  EXPECT_NE(error_with("/data/batch_size", 0).find("got \"0\""), std::string::npos) << "nothing divides by it";
  EXPECT_NE(error_with("/model/stem", "O9").find("config: model.stem: expected"), std::string::npos);
  EXPECT_NE(error_with("/cuda_graphs", nlohmann::json::array({1})).find("config: cuda_graphs"), std::string::npos);
}

/// `accuracy` of a report of version 1 about a run that is otherwise full_report()'s.
json first_version(const json& accuracy) {
  json content = to_json(full_report());
  content["schema"] = "ptrain.report/1";
  content.erase("evaluation");
  content["accuracy"] = accuracy;
  for (json& one : content["evaluations"]) {
    one.erase("evaluation");
    one["accuracy"] = accuracy;
  }
  content["config"]["train"]["target_metric"] = "top1";
  return content;
}

json figures_of_classes() {
  return {{"top1", 0.9}, {"top5", nullptr}, {"f1", nullptr}, {"majority", 0.1},     {"macro_f1", 0.89},
          {"mcc", 0.88}, {"auc", nullptr},  {"loss", 0.3},   {"eval_samples", 1000}};
}

Report read_back(const json& content) {
  const TemporaryDirectory folder;
  write_file_atomic(folder / "report.json", content.dump());
  return read_report(folder / "report.json");
}

TEST(ReportVersion1, IsReadAsVersion2) {
  EXPECT_EQ(schema_problem(first_version(figures_of_classes()), report_schema_version_1()), "");
  const Report report = read_back(first_version(figures_of_classes()));
  const Evaluation& evaluation = report.evaluation.value();
  ASSERT_NE(evaluation.primary(), nullptr);
  EXPECT_EQ(evaluation.text(), "top-1 0.9000 (majority class 0.1000)");
  EXPECT_NEAR(evaluation.primary()->standard_error.value(), std::sqrt(0.9 * 0.1 / 1000), 1e-12);
  EXPECT_EQ(evaluation.eval_samples, 1000);
  EXPECT_EQ(evaluation.pointer_to_primary(), "/accuracy/top1");
  EXPECT_EQ(evaluation.find("top5"), nullptr) << "it was null";
  EXPECT_FALSE(evaluation.find("loss")->higher_is_better);
  EXPECT_EQ(report.evaluations.at(0).evaluation.primary_value(), 0.9);
  EXPECT_EQ(restore_config(report).train.target_metric, "primary");
  EXPECT_EQ(schema_problem(to_json(report), report_schema()), "");
}

TEST(ReportVersion1, ValuesAndRunningTextHaveTheirOwnPrimaryMetrics) {
  json figures = figures_of_classes();
  for (const char* name : {"top1", "majority", "macro_f1", "mcc"}) figures[name] = nullptr;
  json of_text = figures, of_values = figures;
  of_text["perplexity"] = 20.5;
  of_values["values"] = {{"pearson", 0.8}, {"spearman", 0.7}, {"mse", 1.5}};
  EXPECT_EQ(read_back(first_version(of_text)).evaluation->text(), "perplexity 20.50");
  const Evaluation values = read_back(first_version(of_values)).evaluation.value();
  EXPECT_EQ(values.text(), "Pearson 0.8000");
  EXPECT_EQ(values.pointer_to_primary(), "/accuracy/values/pearson");
  EXPECT_EQ(values.text_of_others(MetricView::full), ", Spearman 0.7000, MSE 1.5000, loss 0.3000");
}

TEST(ReportVersion1, ThatDoesNotFitItsSchemaIsRefusedByItsOwnNames) {
  json content = first_version(figures_of_classes());
  content["accuracy"]["top1"] = "much";
  const std::string message = get_error([&] { read_back(content); });
  EXPECT_NE(message.find("does not fit ptrain.report/1: /accuracy/top1: expected"), std::string::npos) << message;
}

TEST(Report, KnowsItsConfiguration) {
  Config config;
  config.data.batch_size = 7;
  config.train.optimizer.lr = 0.25;
  EXPECT_EQ(to_json(restore_config(make_report(config))), to_json(config));
}

TEST(Report, ThroughputIsSamplesOverTime) {
  const json throughput = to_json(full_report())["throughput"];
  EXPECT_EQ(throughput["value"], 320.0);
  EXPECT_EQ(throughput["per_device"], 160.0);
}

TEST(Report, ArithmeticIsHeldAgainstTheMeasuredPeakAndTheDataSheets) {
  Report report = full_report();
  json utilization = to_json(report)["utilization"];
  EXPECT_EQ(utilization["mfu"], 0.25);
  EXPECT_EQ(utilization["datasheet_mfu"], 0.2);
  report.utilization = make_utilization(1e11, 4e11, std::nullopt);
  utilization = to_json(report)["utilization"];
  EXPECT_EQ(utilization["mfu"], 0.25);
  EXPECT_TRUE(utilization["datasheet_mfu"].is_null());
}

TEST(Report, WritesWhatIsNotFiniteAsNull) {
  Report report = full_report();
  report.loss.last = std::numeric_limits<double>::quiet_NaN();
  report.amp.scaler.scale = std::numeric_limits<double>::infinity();
  const json content = to_json(report);
  EXPECT_TRUE(content["loss"]["last"].is_null());
  EXPECT_EQ(schema_problem(content, report_schema()), "");
  EXPECT_EQ(json::parse(content.dump()), content);
}

TEST(Report, SaysWhatAGpuUsedWhereThereWasOne) {
  Report report = full_report();
  EXPECT_FALSE(to_json(report).contains("gpu"));
  report.gpu.emplace();
  report.gpu->power_watts = RangeReport{400, 350, 450};
  report.gpu->throttled["power_cap"] = 0.5;
  const json content = to_json(report);
  EXPECT_EQ(schema_problem(content, report_schema()), "");
  EXPECT_EQ(content["gpu"]["power_watts"]["max"], 450.0);
  EXPECT_TRUE(content["gpu"]["sm_clock_mhz"].is_null());
}

TEST(Report, FlagsGiveRequestedEffectiveAndReason) {
  const json flags = to_json(full_report())["flags"];
  EXPECT_EQ(flags["cudnn_batchnorm_spatial_persistent"],
            (json{{"requested", true}, {"effective", false}, {"reason", "no meaning on the CPU"}}));
  EXPECT_EQ(flags["cudnn_exhaustive_search"], (json{{"requested", true}, {"effective", true}, {"reason", ""}}));
}

TEST(Report, NamesNoHost) {
  char host[256] = {};
  ASSERT_EQ(gethostname(host, sizeof host - 1), 0);
  if (std::string(host).size() < 6) GTEST_SKIP() << "host name " << host << " is too short to tell";
  EXPECT_EQ(to_json(full_report()).dump().find(host), std::string::npos);
}

TEST(Report, IsWrittenIntoNewFolders) {
  const TemporaryDirectory folder;
  write_report(full_report(), folder / "a/b/report.json");
  EXPECT_EQ(json::parse(read_file(folder / "a/b/report.json"))["status"], "ok");
}

TEST(Report, RefusesAFolderThatCannotBeMade) {
  const TemporaryDirectory folder;
  std::ofstream(folder / "file") << "x";
  const std::string message = get_error([&] { write_report(full_report(), folder / "file/report.json"); });
  EXPECT_NE(message.find((folder / "file").string()), std::string::npos) << message;
}

TEST(Report, FitsItsSchemaByPythonsJsonschema) {
  if (std::system("python3 -c 'import jsonschema' 2>/dev/null") != 0) GTEST_SKIP() << "Python has no jsonschema";
  const TemporaryDirectory folder;
  write_file_atomic(folder / "schema.json", report_schema().dump());
  write_report(full_report(), folder / "report.json");
  const std::string script =
      "import json, jsonschema, sys\n"
      "schema, report = (json.load(open(p)) for p in sys.argv[1:])\n"
      "jsonschema.Draft202012Validator.check_schema(schema)\n"
      "jsonschema.Draft202012Validator(schema).validate(report)\n";
  write_file_atomic(folder / "check.py", script);
  const std::string command = fmt::format("python3 {} {} {}", (folder / "check.py").string(),
                                          (folder / "schema.json").string(), (folder / "report.json").string());
  EXPECT_EQ(std::system(command.c_str()), 0);
}

TEST(SchemaCheck, FindsEachKindOfProblem) {
  const json schema = report_schema();
  const auto problem_after = [&](const std::string& pointer, const json& value) {
    json content = to_json(full_report());
    content[json::json_pointer(pointer)] = value;
    return schema_problem(content, schema);
  };
  EXPECT_NE(problem_after("/status", "fine"), "");
  EXPECT_NE(problem_after("/schema", "ptrain.report/3"), "");
  EXPECT_NE(problem_after("/surprise", 1), "");
  EXPECT_NE(problem_after("/throughput/value", -1), "");
  EXPECT_NE(problem_after("/throughput/samples", 1.5), "");
  EXPECT_NE(problem_after("/kernels/0/op", 1), "");
  json content = to_json(full_report());
  content.erase("loss");
  EXPECT_EQ(schema_problem(content, schema), "/: \"loss\" is missing");
}

StepLine logged_step(std::int64_t step) {
  StepLine line;
  line.step = step;
  line.steps_ms = {1.5, 2};
  return line;
}

TEST(MetricsLines, FitTheirSchemaAndComeBack) {
  StepLine step = logged_step(3);
  step.lr = 0.5;
  step.loss_scale = 1024;
  const EvaluationLine evaluation{4, {0.25, 10, 1.5, {{"top1", 0.5}, {"auc", std::nullopt}}}};
  const json lines[] = {to_json(step), to_json(evaluation)};
  for (const json& line : lines) {
    EXPECT_EQ(schema_problem(line, metrics_schema()), "");
    EXPECT_EQ(to_json(parse_metrics_line(line).value()), line);
  }
  EXPECT_EQ(lines[0].dump(),
            R"({"compute_ms":0.0,"epoch":0.0,"loss":null,"loss_scale":1024.0,"lr":0.5,"reader_ms":0.0,"samples":0,)"
            R"("step":3,"step_ms":0.0,"steps_ms":[1.5,2.0]})");
  EXPECT_EQ(lines[1].dump(), R"({"eval":{"auc":null,"loss":0.25,"samples":10,"seconds":1.5,"top1":0.5},"step":4})");
  EXPECT_DOUBLE_EQ(step.total_ms(), 3.5);
}

TEST(MetricsLines, SaysWhatDoesNotFit) {
  json line = to_json(logged_step(3));
  line["accuracy"] = 1;
  EXPECT_NE(schema_problem(line, metrics_schema()), "");
  line = to_json(EvaluationLine{4, {}});
  line["eval"]["top1"] = "high";
  EXPECT_NE(schema_problem(line, metrics_schema()), "");
  line = to_json(logged_step(3));
  line.erase("steps_ms");
  EXPECT_NE(schema_problem(line, metrics_schema()), "");
}

TEST(MetricsLines, WhatIsNoneIsPassedOver) {
  const TemporaryDirectory folder;
  write_file_atomic(
      folder / "metrics.jsonl",
      "{\"step\": 1, \"loss\": 2, \"of\": \"tomorrow\"}\n[1]\n{\"step\": \"x\"}\n{\"loss\": 1}\n{\"step\": 2, \"lo");
  const std::vector<MetricsLine> lines = read_metrics(folder / "metrics.jsonl");
  ASSERT_EQ(lines.size(), 1u);
  EXPECT_EQ(std::get<StepLine>(lines[0]).loss, 2);
  EXPECT_TRUE(read_metrics(folder / "none").empty());
}

TEST(MetricsLog, KeepsWholeLinesUpToTheResumedStep) {
  const TemporaryDirectory folder;
  const auto path = folder / "metrics.jsonl";
  {
    MetricsLog log(path, 0);
    for (int step = 10; step <= 30; step += 10) log.write(logged_step(step));
  }
  const std::string whole = read_file(path);
  std::ofstream(path, std::ios::app) << "{\"step\": 20, \"lo";
  {
    MetricsLog log(path, 20);
    log.write(logged_step(40));
  }
  EXPECT_EQ(read_file(path),
            whole.substr(0, whole.find("\n", whole.find("\n") + 1) + 1) + to_json(logged_step(40)).dump() + "\n");
  MetricsLog again(path, 0);
  EXPECT_EQ(read_file(path), "");
}

TEST(MetricsLog, NamesAFullDisk) {
  const TemporaryDirectory folder;
  std::error_code error;
  std::filesystem::create_symlink("/dev/full", folder / "metrics.jsonl", error);
  if (error || !std::filesystem::exists("/dev/full")) GTEST_SKIP() << "no /dev/full";
  const std::string message = get_error([&] {
    MetricsLog log(folder / "metrics.jsonl", 0);
    log.write(logged_step(1));
  });
  EXPECT_NE(message.find("metrics.jsonl"), std::string::npos) << message;
  EXPECT_NE(message.find("No space left"), std::string::npos) << message;
}

TEST(Environment, DescribesThisMachine) {
  const CpuInfo cpu = read_cpu();
  EXPECT_GE(cpu.usable_cores, 1);
  EXPECT_LE(cpu.usable_cores, cpu.logical_cores);
  EXPECT_GT(memory_bytes(), 1 << 20);
  EXPECT_EQ(utc_time().size(), std::string("2025-01-31T12:00:00Z").size());
}

}  // namespace
}  // namespace ptrain
