#include "tests/fuzz/fuzzed_models.h"

#include "core/cpu/cpu_backend.h"
#include "core/deploy/quantization/quantizer.h"
#include "core/io/atomic_file.h"
#include "core/runtime/deployed_model.h"
#include "core/runtime/weights.h"
#include "models/model_registry.h"
#include "models/text/bert.h"

namespace ptrain::fuzzing {
namespace {

void write_model(const std::filesystem::path& folder, const Config& config, const Model& model,
                 const DatasetInfo& data) {
  make_folder(folder);
  const std::unique_ptr<Backend> backend = cpu::make_backend();
  Variables variables(backend->memory());
  variables.declare(model.build(1, Mode::evaluation));
  variables.allocate();
  initialize_variables(model, variables, 1);
  save_weights(folder / model_files::weights, model, variables, 1);
  write_model_document(folder, config, model, data);
}

}  // namespace

void make_images_model(const std::filesystem::path& folder) {
  Config config;
  config.model.entry = find_model("mobilenet_v1");
  config.model.classes = 3;
  config.data.image_size = 8;
  DatasetInfo data;
  data.classes = 3;
  data.class_names = {"blue", "green", "red"};
  data.image_size = 8;
  write_model(folder, config, *make_model(config, data), data);
}

void make_texts_model(const std::filesystem::path& folder) {
  BertSpec spec;
  spec.layers = 1;
  spec.hidden = 8;
  spec.heads = 2;
  spec.intermediate = 16;
  spec.vocab_size = 16;
  spec.max_positions = 12;
  spec.max_length = 12;
  const std::string vocabulary =
      "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\na\nfilm\nthe\nstory\nis\n##s\nfine\ndull\n.\n##ing\né\n";
  make_folder(folder);
  write_file_atomic(folder / model_files::vocabulary, vocabulary);
  Config config;
  config.model.entry = find_model("bert");
  config.model.classes = 2;
  config.model.max_positions = 12;
  config.data.source = "tsv";
  config.data.max_length = 12;
  config.data.vocab = (folder / model_files::vocabulary).string();
  DatasetInfo data;
  data.kind = DataKind::text;
  data.classes = 2;
  data.class_names = {"0", "1"};
  data.max_length = 12;
  data.vocab_size = 16;
  write_model(folder, config, *make_bert(spec), data);
}

void make_int8_model(const std::filesystem::path& texts, const std::filesystem::path& folder) {
  const LoadedModel opened = open_model(texts, model_entries(), make_model);
  const std::unique_ptr<Backend> backend = cpu::make_backend();
  DeployOptions options;
  options.max_length = opened.trained.data.max_length;
  DeployedModel precise(*backend, *opened.model, *opened.task, opened.trained.weights(), options);
  QuantizationScheme scheme;
  QuantizationRecord record{.method = "minmax", .calibration_hash = "fnv1a64:0", .calibration_samples = 1};
  for (const Node& node : precise.graph().nodes()) {
    if (has_int8_form(precise.graph(), node)) scheme.layers.insert(node.name);
  }
  record.layers.assign(scheme.layers.begin(), scheme.layers.end());
  for (const std::string& name : values_to_calibrate(precise.graph(), scheme.layers)) {
    record.formats[name] = {"s8", 0.03125};
    scheme.formats[name] = {DType::s8, 0.03125f};
  }
  make_folder(folder);
  const DeployedModel quantized(*backend, precise, scheme, options);
  save_quantized(quantized, folder / model_files::weights);
  copy_as_quantized(opened.trained, record, folder);
}

}  // namespace ptrain::fuzzing
