#include "cli/model_list.h"

#include "cli/program_catalogs.h"
#include "core/analysis/markdown.h"
#include "core/config/keys.h"
#include "core/train/options_from_config.h"
#include "core/train/plans/memory_estimate.h"
#include "models/model_registry.h"

#include <fmt/ranges.h>

#include <cstdio>

namespace ptrain {
namespace {

struct DescribedModel {
  const ModelEntry& entry;
  DatasetInfo data;  // for which the figures are computed
  std::int64_t parameters;
  double flops_per_sample;  // forward and backward
};

/// Describes a model as `ptrain estimate` does, without a device.
DescribedModel describe_model(const ModelEntry& entry) {
  const DatasetInfo data = described_data(entry);
  Config config;
  config.model.entry = entry;
  config.model.classes = data.classes;
  const std::unique_ptr<Model> model = make_model(config, data);
  const Graph step = build_step(*model, step_options(config, *model, DType::bf16), config.data.batch_size);
  return {entry, data, parameter_count(*model), step_cost(step).flops / static_cast<double>(config.data.batch_size)};
}

/// The names of sizes if the model has several; its figures are for the default size.
std::vector<std::string> list_sizes(const ModelEntry& entry) { return entry.sizes; }

std::string get_default_size() { return default_value(*find_key("model.size")).get<std::string>(); }

std::string format_data(const DescribedModel& model) {
  switch (model.data.kind) {
    case DataKind::image:
      if (model.data.frames == 0) return fmt::format("images, {} px", model.data.image_size);
      return fmt::format("clips of {} frames, {} px", model.data.frames, model.data.image_size);
    case DataKind::text:
    case DataKind::tokens:
    case DataKind::parallel:
      return fmt::format("text, {} tokens", model.data.max_length);
    case DataKind::table:
      return fmt::format("clicks, {} dense and {} categorical features", model.data.dense_features,
                         model.data.categorical_features);
    case DataKind::video:
      return fmt::format("features of videos, {} frames", model.data.max_frames);
  }
  return {};
}

std::string format_accuracy(const ModelEntry& entry) {
  if (!entry.published) return "";
  const auto& [top1, source, data] = *entry.published;
  return data == PublishedAccuracy{}.data ? fmt::format("{:g} ({})", top1, source)
                                          : fmt::format("{:g} on {} ({})", top1, data, source);
}

const char* format_kind(const DatasetInfo& data) {
  switch (data.kind) {
    case DataKind::image:
      return data.frames > 0 ? "clips" : "images";
    case DataKind::text:
    case DataKind::tokens:
    case DataKind::parallel:
      return "text";
    case DataKind::table:
      return "tables";
    case DataKind::video:
      return "videos";
  }
  return "";
}

nlohmann::json list_as_json(const DescribedModel& model) {
  nlohmann::json json = {{"name", model.entry.name},         {"other_names", model.entry.other_names},
                         {"family", model.entry.family},     {"reads", format_kind(model.data)},
                         {"sizes", list_sizes(model.entry)}, {"classes", model.data.classes},
                         {"parameters", model.parameters},   {"flops_per_sample", model.flops_per_sample},
                         {"weights", model.entry.weights},   {"published", nullptr}};
  if (model.data.kind == DataKind::image) json["image_size"] = to_json(model.data.image_size);
  if (model.data.frames > 0) json["frames"] = model.data.frames;
  if (model.data.max_length > 0) json["max_length"] = model.data.max_length;
  if (model.data.max_frames > 0) json["max_frames"] = model.data.max_frames;
  if (const auto& published = model.entry.published) {
    json["published"] = {{"top1", published->top1}, {"source", published->source}, {"data", published->data}};
  }
  return json;
}

std::string to_markdown(const DescribedModel& model) {
  const std::vector<std::string> sizes = list_sizes(model.entry);
  const std::string size =
      sizes.empty() ? "" : fmt::format(" ({}; `model.size` {})", get_default_size(), fmt::join(sizes, ", "));
  return fmt::format("| `{}`{} | {} | {} | {} | {:.1f} | {:.1f} | {} | {} |\n", model.entry.name, size,
                     markdown_cell(fmt::format("{}", fmt::join(model.entry.other_names, ", "))), model.entry.family,
                     format_data(model), static_cast<double>(model.parameters) * 1e-6, model.flops_per_sample * 1e-9,
                     markdown_cell(format_accuracy(model.entry)), markdown_cell(model.entry.weights));
}

std::string format_text(const DescribedModel& model) {
  std::string text =
      fmt::format("{}\n    {}; {}; {:.1f} million parameters, {:.1f} GFLOP per sample; weights as in {}\n",
                  model.entry.name, model.entry.family, format_data(model),
                  static_cast<double>(model.parameters) * 1e-6, model.flops_per_sample * 1e-9, model.entry.weights);
  if (const auto& published = model.entry.published) {
    text += fmt::format("    published top-1 on {}: {:g} ({})\n", published->data, published->top1, published->source);
  }
  if (!model.entry.other_names.empty()) text += fmt::format("    also {}\n", fmt::join(model.entry.other_names, ", "));
  if (const auto sizes = list_sizes(model.entry); !sizes.empty()) {
    text += fmt::format("    these are for size {}; model.size: {}\n", get_default_size(), fmt::join(sizes, ", "));
  }
  return text;
}

}  // namespace

void list_models(const FormatOptions& format) {
  if (format.json) {
    nlohmann::json list = nlohmann::json::array();
    for (const ModelEntry& entry : catalogs().models()) list.push_back(list_as_json(describe_model(entry)));
    fmt::print("{}\n", list.dump(2));
    return;
  }
  if (format.markdown) {
    fmt::print(
        "| `model.name` | also | family | reads | million parameters | GFLOP per sample | published top-1, on ImageNet "
        "unless stated | weights' names |\n| --- | --- | --- | --- | ---: | ---: | ---: | --- |\n");
  }
  for (const ModelEntry& entry : catalogs().models()) {
    const DescribedModel model = describe_model(entry);
    fmt::print("{}", format.markdown ? to_markdown(model) : format_text(model));
  }
}

}  // namespace ptrain
