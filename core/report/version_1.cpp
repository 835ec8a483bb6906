#include "core/report/version_1.h"

#include "core/config/metric_names.h"
#include "core/report/report.h"

#include <cmath>

namespace ptrain {
namespace {

using nlohmann::json;

/// Closeness of predicted values to the labels.
struct ValuesVersion1 {
  std::optional<double> pearson, spearman, mse;

  void describe(Fields& field) {
    field.any_sign("pearson", pearson, "Pearson correlation of values and labels, -1 to 1");
    field.any_sign("spearman", spearman, "Spearman's rank correlation, ties by their mean rank");
    field("mse", mse, "mean squared error");
  }
};

/// The figures of every evaluation in version 1.
struct AccuracyVersion1 {
  std::optional<double> top1, top5, f1, majority, macro_f1, mcc, auc, loss;
  std::int64_t eval_samples = 0;
  std::optional<ValuesVersion1> values = {};
  std::optional<double> perplexity = {};

  void describe(Fields& field) {
    field("top1", top1, "0 to 1");
    field("top5", top5, "null with 5 classes or fewer");
    field("f1", f1, "F1 of class 1");
    field("majority", majority, "fraction of the samples in the most frequent class");
    field("macro_f1", macro_f1, "mean F1 of the classes that occur");
    field.any_sign("mcc", mcc, "Matthews correlation");
    field("auc", auc, "area under the ROC curve of class 1");
    field.any_sign("loss", loss, "evaluation loss");
    field("eval_samples", eval_samples, "");
    field.maybe("values", values, "for a regression");
    field.maybe("perplexity", perplexity, "for a language model");
  }
};

MetricValue make_metric(const char* name, const char* title, MetricKind kind, std::optional<double> value) {
  MetricValue made;
  made.name = name;
  made.title = title;
  made.kind = kind;
  made.value = value;
  made.higher_is_better = kind != MetricKind::amount;
  return made;
}

/// Adds the metric unless absent; the first is always kept.
void add(Evaluation& evaluation, MetricValue metric) {
  if (metric.value || evaluation.metrics.empty()) evaluation.metrics.push_back(std::move(metric));
}

MetricValue add_binomial_error(MetricValue metric, std::int64_t samples) {
  metric.unit = "of 1";
  if (metric.value && samples > 0) {
    metric.standard_error = std::sqrt(*metric.value * (1 - *metric.value) / static_cast<double>(samples));
  }
  return metric;
}

void add_classes(Evaluation& evaluation, const AccuracyVersion1& a) {
  const std::int64_t samples = a.eval_samples;
  add(evaluation, add_binomial_error(make_metric("top1", "top-1", MetricKind::fraction, a.top1), samples));
  add(evaluation, add_binomial_error(make_metric("top5", "top-5", MetricKind::fraction, a.top5), samples));
  add(evaluation, make_metric("f1", "F1", MetricKind::score, a.f1));
  add(evaluation, make_metric("macro_f1", "macro F1", MetricKind::score, a.macro_f1));
  add(evaluation, make_metric("mcc", "MCC", MetricKind::score, a.mcc));
  add(evaluation, make_metric("auc", "AUC", MetricKind::score, a.auc));
  add(evaluation, make_metric("majority", "majority class", MetricKind::reference, a.majority));
}

void add_values(Evaluation& evaluation, const ValuesVersion1& values) {
  add(evaluation, make_metric("pearson", "Pearson", MetricKind::score, values.pearson));
  add(evaluation, make_metric("spearman", "Spearman", MetricKind::score, values.spearman));
  add(evaluation, make_metric("mse", "MSE", MetricKind::amount, values.mse));
}

json make_accuracy_schema() { return schema_of_fields<AccuracyVersion1>("of an evaluation"); }

}  // namespace

bool is_of_version_1(const json& document) {
  if (!document.is_object() || !document.contains("schema") || !document["schema"].is_string()) return false;
  return document["schema"].get<std::string>().ends_with("/1");
}

json report_schema_version_1() {
  json schema = report_schema();
  constexpr const char* version = "ptrain.report/1";
  schema["title"] = version;
  json& properties = schema["properties"];
  properties["schema"]["const"] = version;
  properties["accuracy"] = make_accuracy_schema();
  properties["accuracy"]["type"] = {"object", "null"};
  properties.erase("evaluation");
  json& evaluation = properties["evaluations"]["items"];
  evaluation["properties"]["accuracy"] = make_accuracy_schema();
  evaluation["properties"].erase("evaluation");
  for (json* required : {&schema["required"], &evaluation["required"]}) {
    for (json& name : *required) name = name == "evaluation" ? json("accuracy") : name;
  }
  return schema;
}

json upgrade_evaluation(const json& accuracy) {
  if (!accuracy.is_object()) return nullptr;
  const auto old = read_fields<AccuracyVersion1>(accuracy);
  Evaluation evaluation;
  evaluation.eval_samples = old.eval_samples;
  if (old.values) {
    add_values(evaluation, *old.values);
  } else if (old.perplexity) {
    add(evaluation, make_metric("perplexity", "perplexity", MetricKind::amount, old.perplexity));
  } else {
    add_classes(evaluation, old);
  }
  add(evaluation, make_metric("loss", "loss", MetricKind::amount, old.loss));
  return write_fields(evaluation);
}

void upgrade_report(json& report) {
  const auto upgrade = [](json& part) {
    if (!part.is_object() || !part.contains("accuracy")) return;
    part["evaluation"] = upgrade_evaluation(part["accuracy"]);
    part.erase("accuracy");
  };
  upgrade(report);
  if (report.contains("evaluations")) {
    for (json& one : report["evaluations"]) upgrade(one);
  }
  report["schema"] = "ptrain.report/2";
  const json::json_pointer metric("/config/train/target_metric");
  const bool first_of_classes = report.contains(metric) && report[metric] == "top1";  // its default then
  if (first_of_classes) report[metric] = primary_metric;
}

std::string pointer_in_version_1(const Evaluation& evaluation) {
  const MetricValue* primary = evaluation.primary();
  if (primary == nullptr) return {};
  return (primary->name == "pearson" ? "/accuracy/values/" : "/accuracy/") + primary->name;
}

}  // namespace ptrain
