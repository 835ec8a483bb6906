#include "tests/golden/golden_run.h"

#include "core/base/errors.h"
#include "core/data/boxes/annotated_images.h"
#include "core/data/boxes/text_boxes.h"
#include "core/data/image/framing.h"
#include "core/data/tensor_names.h"
#include "core/io/safetensors.h"
#include "core/model/adapter_names.h"
#include "core/ops/detection/detect_objects.h"
#include "core/ops/sparse/sparse_update.h"
#include "core/runtime/feeder.h"
#include "core/runtime/weights.h"
#include "core/tasks/detection/detection_metrics.h"
#include "models/lora.h"
#include "models/model_registry.h"
#include "models/sessions/gru4rec.h"
#include "models/sessions/ssr.h"
#include "models/text/gpt2.h"
#include "models/text/llama.h"
#include "models/text/transformer.h"
#include "models/video/attention_cluster.h"
#include "models/video/attention_lstm.h"
#include "models/video/nextvlad.h"
#include "models/vision/mask_rcnn.h"
#include "models/vision/vision_blocks.h"
#include "tests/small_models.h"
#include "tests/test_backend.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <stdexcept>

namespace ptrain::golden {
namespace {

ClickSpec get_click_spec(const nlohmann::json& json) {
  ClickSpec spec;
  if (!json.contains("clicks")) return spec;
  const nlohmann::json& sizes = json.at("clicks");
  spec.form = choice_from_name<ClickForm>(json.value("model", json.at("case").get<std::string>())).value();
  spec.dense_features = sizes.at("numbers");
  spec.categorical_features = sizes.at("categories");
  spec.hash_buckets = sizes.at("hash_buckets");
  spec.embedding_size = sizes.at("embedding_size");
  spec.bag_size = sizes.value("bag_size", 0);
  if (spec.bag_size > 0) spec.bag = choice_from_name<BagMode>(sizes.at("bag").get<std::string>()).value();
  return spec;
}

/// The last row of a table with bags is PyTorch's padding_idx.
void add_clicks(Batch& batch, const ClickSpec& spec, int step, int count) {
  const bool has_bags = spec.bag_size > 0;
  const Shape ids = has_bags ? Shape{spec.categorical_features, spec.bag_size} : Shape{spec.categorical_features};
  ClickBatch rows = clicks(step, count, static_cast<int>(spec.dense_features), static_cast<int>(ids.count()),
                           has_bags ? spec.hash_buckets - 1 : spec.hash_buckets);
  if (has_bags) empty_bags(rows.categories, step, static_cast<int>(spec.bag_size));
  if (spec.dense_features > 0) batch.add(tensor_names::dense_features, {spec.dense_features}, rows.numbers);
  batch.add(tensor_names::categorical_features, ids, rows.categories);
}

/// What the networks of text have in common.
template <typename Spec>
void read_sizes(const nlohmann::json& json, Spec& spec) {
  const nlohmann::json& sizes = json.at("bert");
  spec.layers = sizes.at("layers");
  spec.hidden = sizes.at("hidden");
  spec.heads = sizes.at("heads");
  spec.intermediate = sizes.at("intermediate");
  spec.vocab_size = sizes.at("vocab_size");
  if constexpr (requires { spec.max_positions; }) spec.max_positions = sizes.at("max_positions");
  spec.max_length = json.at("size");
}

Gpt2Spec get_gpt2_spec(const nlohmann::json& json) {
  Gpt2Spec spec;
  read_sizes(json, spec);
  spec.dropout = 0;
  return spec;
}

SessionSpec get_session_spec(const nlohmann::json& json) {
  SessionSpec spec;
  spec.items = json.at("bert").at("vocab_size");
  spec.units = json.at("bert").at("hidden");
  spec.max_length = json.at("size");
  return spec;
}

LlamaSpec get_llama_spec(LlamaForm form, const nlohmann::json& json, Padding padding) {
  const nlohmann::json& sizes = json.at("bert");
  LlamaSpec spec;
  read_sizes(json, spec);
  spec.form = form;
  spec.kv_heads = sizes.at("kv_heads");
  spec.head_dim = sizes.at("head_dim");
  spec.tied = sizes.at("tied");
  spec.rope_theta = sizes.at("rope_theta");
  if (sizes.contains("llama3_factor")) {
    spec.rope_scaling = {RotaryScaling::Kind::llama3, sizes.at("llama3_factor"), 1, 4, sizes.at("original_length")};
  }
  spec.padding = padding;
  return spec;
}

TransformerSpec get_transformer_spec(const nlohmann::json& json) {
  TransformerSpec spec;
  read_sizes(json, spec);
  spec.dropout = 0;
  return spec;
}

NextVladSpec get_nextvlad_spec(const nlohmann::json& json) {
  const nlohmann::json& sizes = json.at("videos");
  NextVladSpec spec;
  spec.classes = json.at("classes");
  spec.max_frames = json.at("size");
  spec.expansion = sizes.at("expansion");
  spec.groups = sizes.at("groups");
  spec.clusters = sizes.at("clusters");
  spec.hidden = sizes.at("hidden");
  spec.dropout = 0;
  return spec;
}

AttentionClusterSpec get_attention_cluster_spec(const nlohmann::json& json) {
  const nlohmann::json& sizes = json.at("videos");
  AttentionClusterSpec spec;
  spec.classes = json.at("classes");
  spec.max_frames = json.at("size");
  spec.heads = sizes.at("heads");
  spec.first_layer = sizes.at("first");
  spec.second_layer = sizes.at("second");
  spec.dropout = 0;
  return spec;
}

AttentionLstmSpec get_attention_lstm_spec(const nlohmann::json& json) {
  const nlohmann::json& sizes = json.at("videos");
  AttentionLstmSpec spec;
  spec.classes = json.at("classes");
  spec.max_frames = json.at("size");
  spec.projection = sizes.at("projection");
  spec.units = sizes.at("units");
  spec.first_layer = sizes.at("first");
  spec.second_layer = sizes.at("second");
  spec.dropout = 0;
  return spec;
}

void add_videos(Batch& batch, const VideoBatch& videos, const Golden& golden, std::int64_t frames) {
  batch.add(tensor_names::rgb_features, {frames, rgb_features_per_frame}, videos.rgb);
  batch.add(tensor_names::audio_features, {frames, audio_features_per_frame}, videos.audio);
  batch.add(tensor_names::frame_mask, {frames}, videos.mask);
  batch.add(tensor_names::multi_hot_labels, {golden.classes}, videos.labels);
}

/// Adds translations, which begin with the end token 0, and their next tokens, which end with it.
void add_translations(Batch& batch, TextBatch texts, int length) {
  std::vector<std::int32_t> next(texts.ids.size(), -1);
  for (std::size_t row = 0; row < texts.lengths.size(); ++row) {
    const std::size_t first = row * static_cast<std::size_t>(length);
    const std::size_t last = first + static_cast<std::size_t>(texts.lengths[row]) - 1;
    texts.ids[first] = 0;
    for (std::size_t i = first; i < last; ++i) next[i] = texts.ids[i + 1];
    next[last] = 0;
  }
  batch.add(tensor_names::decoder_ids, {length}, texts.ids);
  batch.add(tensor_names::decoder_lengths, {}, texts.lengths);
  batch.add(tensor_names::next_tokens, {length}, next);
}

/// Its losses are of all anchors and regions, of which there are few (reference.py).
std::unique_ptr<Model> make_mask_detector(const Config& config, const DatasetInfo& data) {
  const bool has_pyramid = config.model.entry.name == "maskrcnn_resnet50_fpn";
  MaskRcnnSpec spec = has_pyramid ? mask_rcnn_spec(config, data) : mask_rcnn_c4_spec(config, data);
  constexpr std::int32_t all_anchors = 5000, regions = 16, with_object = 8;
  spec.anchors = {all_anchors, all_anchors};
  spec.regions = {regions + objects_per_image, with_object};
  spec.learnt_proposals = spec.proposals = {regions, regions};
  spec.detections = 20;
  return make_mask_rcnn(spec);
}

/// PEFT's LoraConfig.
LoraConfig get_lora(const nlohmann::json& json) {
  LoraConfig lora;
  lora.rank = json.at("r");
  lora.alpha = json.at("lora_alpha");
  lora.rslora = json.value("use_rslora", false);
  const nlohmann::json& targets = json.at("target_modules");
  if (targets.is_array()) lora.targets = targets.get<std::vector<std::string>>();
  return lora;
}

std::unique_ptr<Model> make_base(const nlohmann::json& json, Padding padding) {
  const std::string network = json.value("model", json.at("case").get<std::string>());
  if (json.contains("clicks")) return make_click_model(get_click_spec(json));
  if (network == "nextvlad") return make_nextvlad(get_nextvlad_spec(json));
  if (network == "attention_lstm") return make_attention_lstm(get_attention_lstm_spec(json));
  if (network == "attention_cluster") return make_attention_cluster(get_attention_cluster_spec(json));
  if (json.at("bert").empty()) {
    Config config;
    config.model.entry = find_model(network);
    config.model.stem = Stem::imagenet;
    config.model.blur_pool = json.at("case").get<std::string>().ends_with("_blur");
    config.model.dropout = config.model.stochastic_depth = 0;
    config.model.classes = json.at("classes");
    config.model.segments = json.value("frames", 1) / frames_per_segment(config);
    DatasetInfo data;
    data.classes = json.at("classes");
    data.image_size = json.at("size").get<int>();
    data.max_length = most_characters;
    data.mean = PixelScale{}.mean;
    data.stddev = PixelScale{}.deviation;
    return json.contains("found") ? make_mask_detector(config, data) : ptrain::make_model(config, data);
  }
  if (network == "transformer") return make_transformer(get_transformer_spec(json));
  if (network == "gpt2") return make_gpt2(get_gpt2_spec(json));
  if (network == "gru4rec") return make_gru4rec(get_session_spec(json));
  if (network == "ssr") return make_ssr(get_session_spec(json));
  if (const auto form = choice_from_name<LlamaForm>(network)) {
    return make_llama(get_llama_spec(*form, json, padding));
  }
  BertSpec spec;
  if (json.at("case") == "distilbert") spec = base_spec(BertForm::distilbert);
  if (json.at("case") == "roberta") spec = base_spec(BertForm::roberta);
  if (json.at("case") == "ernie") spec = base_spec(BertForm::ernie);
  read_sizes(json, spec);
  spec.dropout = 0;
  spec.classes = json.at("classes");
  spec.padding = padding;
  return make_bert(spec);
}

std::unique_ptr<Model> make_model(const nlohmann::json& json, Padding padding) {
  std::unique_ptr<Model> base = make_base(json, padding);
  return json.contains("lora") ? add_lora(std::move(base), get_lora(json.at("lora"))) : std::move(base);
}

OptimizerSettings make_optimizer(const nlohmann::json& json) {
  OptimizerSettings settings;
  settings.kind = choice_from_name<OptimizerKind>(json.at("name").get<std::string>()).value();
  settings.momentum = json.value("momentum", settings.momentum);
  settings.beta1 = json.value("beta1", settings.beta1);
  settings.beta2 = json.value("beta2", settings.beta2);
  settings.epsilon = json.value("epsilon", settings.epsilon);
  settings.weight_decay = json.at("weight_decay");
  return settings;
}

/// The place of a variable's gradient, in elements: the optimizer's node pairs the flat buffers.
const ParameterSegment& get_segment(const Graph& graph, std::string_view variable) {
  const ValueId id = graph.find_value(variable);
  if (id == no_value) throw std::logic_error(fmt::format("the graph has no {}", variable));
  const std::int64_t master_offset = graph.value(id).byte_offset / static_cast<std::int64_t>(sizeof(float));
  for (const Node& node : graph.nodes()) {
    const auto* update = dynamic_cast<const OptimizerUpdate*>(node.op.get());
    if (update == nullptr) continue;
    for (const ParameterSegment& segment : update->segments()) {
      if (segment.master_offset == master_offset) return segment;
    }
  }
  throw std::logic_error(fmt::format("{} is not trained", variable));
}

/// The node that updates the rows of a table; null where all of the variable is.
const Node* get_row_update(const Graph& graph, std::string_view variable) {
  const ValueId table = graph.root(graph.find_value(variable));
  for (const Node& node : graph.nodes()) {
    const bool updates_rows = dynamic_cast<const SparseUpdate*>(node.op.get()) != nullptr;
    if (updates_rows && node.inputs[SparseUpdate::table] == table) return &node;
  }
  return nullptr;
}

/// The gradient of all of a table from that of some rows.
std::vector<float> spread_rows(const Plan& plan, const Node& update, const Shape& table) {
  const TensorDesc& values = plan.graph().desc(update.inputs[SparseUpdate::values]);
  std::vector<std::int32_t> rows(static_cast<std::size_t>(values.shape[0]));
  std::vector<float> from(static_cast<std::size_t>(values.count())), to(static_cast<std::size_t>(table.count()));
  plan.read_value(update.inputs[SparseUpdate::rows], rows.data(), rows.size() * sizeof(std::int32_t));
  plan.read_value(update.inputs[SparseUpdate::values], from.data(), values.bytes());
  const auto width = table[1];
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (rows[i] < 0) continue;
    std::copy_n(from.begin() + static_cast<std::ptrdiff_t>(i) * width, width, to.begin() + rows[i] * width);
  }
  return to;
}

/// Doubles, which the file has as the 64 bits of each.
std::vector<double> read_doubles(const NamedTensor& tensor) {
  if (tensor.dtype != DType::i64) throw std::logic_error(fmt::format("{} holds no doubles", tensor.name));
  std::vector<double> values(static_cast<std::size_t>(tensor.shape.count()));
  std::memcpy(values.data(), tensor.bytes.data(), tensor.bytes.size());
  return values;
}

/// `rows` names each gradient; its norm and its sketches are in the row of that number.
std::vector<Gradient> read_gradients(const nlohmann::json& rows, std::span<const double> norms,
                                     std::span<const double> sums) {
  if (norms.size() != rows.size() || sums.size() != rows.size() * sketches) {
    throw std::logic_error("a golden has other numbers of gradients, norms and sketches");
  }
  std::vector<Gradient> gradients;
  for (const nlohmann::json& row : rows) {
    Gradient gradient{row.at("name"),
                      Shape(row.at("shape").get<std::vector<std::int64_t>>()),
                      norms[gradients.size()],
                      row.at("negligible"),
                      {}};
    std::ranges::copy(sums.subspan(gradients.size() * sketches, sketches), gradient.sums.begin());
    gradients.push_back(std::move(gradient));
  }
  return gradients;
}

bool is_running_statistic(std::string_view name) {
  return name.ends_with(".running_mean") || name.ends_with(".running_var");
}

}  // namespace

Golden load_golden(const std::string& name, Padding padding) {
  const char* moved = std::getenv("PTRAIN_SOURCE_DIR");  // where the tests run away from the source tree
  const std::filesystem::path folder = moved != nullptr ? moved : PTRAIN_SOURCE_DIR;
  const SafetensorsFile file(folder / "tests/golden" / (name + ".safetensors"));
  const nlohmann::json json = nlohmann::json::parse(file.metadata().at("golden"));
  Golden golden;
  golden.name = name;
  golden.steps.assign(steps, {json.at("batch"), json.at("size"), 1});
  if (json.contains("steps")) golden.steps.clear();
  for (const nlohmann::json& step : json.value("steps", nlohmann::json::array())) {
    golden.steps.push_back({step.at(0), step.at(1), step.at(2)});
  }
  golden.classes = json.at("classes");
  golden.frames = json.value("frames", 1);
  golden.pixels = json.value("pixels", false);
  golden.vocab_size = json.at("bert").value("vocab_size", 0);
  golden.clicks = get_click_spec(json);
  golden.optimizer = make_optimizer(json.at("optimizer"));
  golden.learning_rate = json.at("optimizer").at("lr");
  golden.gradient_tolerance = json.at("gradient_tolerance");
  golden.pytorch_error = json.at("pytorch_fp32_error").at("gradient");
  golden.losses = json.at("losses").get<std::vector<double>>();
  golden.gradients =
      read_gradients(json.at("gradients"), read_doubles(file.at("norms")), read_doubles(file.at("sketches")));
  for (const nlohmann::json& one : json.value("found", nlohmann::json::array())) {
    golden.found.push_back({one[0], one[1], one[2], {one[3], one[4], one[5], one[6]}, one[7]});
  }
  if (json.contains("lora")) golden.groups = {{adapter_names::all_others, false}};
  golden.model = make_model(json, padding);
  return golden;
}

namespace {

Graph forward_graph(const Golden& golden, const Bucket& bucket, Mode mode) {
  return build_with_losses(*golden.model, *testing::get_task(*golden.model), bucket, mode).graph;
}

}  // namespace

namespace {

/// Where images have text, and the thresholds that find it.
void add_text_maps(Batch& batch, int step, const GoldenStep& form) {
  constexpr std::array<float, 8> texts{1, 1, -1};
  constexpr std::array<float, 4> thresholds{-1, 0.375F, 0.5F, 0.625F};
  const Shape size{form.size, form.size};
  batch.add(tensor_names::text_map, size, maps("text_map", step, form.batch, form.size, texts));
  batch.add(tensor_names::threshold_map, size, maps("threshold_map", step, form.batch, form.size, thresholds));
}

/// The objects of images that fill the model's input.
void add_objects(Batch& batch, int step, const GoldenStep& form, int classes) {
  const auto all = objects(step, form.batch, form.size, classes);
  const auto most_runs = static_cast<std::size_t>(objects_per_image) * (2 * static_cast<std::size_t>(form.size) + 1);
  batch.add(annotation_tensor(objects_per_image));
  batch.add(mask_tensor(most_runs));
  batch.add(placement_tensor());
  for (std::int64_t row = 0; row < form.batch; ++row) {
    std::vector<AnnotatedObject> annotated;
    for (int i = 0; i < objects_per_image; ++i) {
      const auto& object = all[static_cast<std::size_t>(row * objects_per_image + i)];
      const auto& [label, left, top, width, height] = object;
      annotated.push_back({static_cast<std::int32_t>(label),
                           {static_cast<double>(left), static_cast<double>(top), static_cast<double>(width),
                            static_cast<double>(height)}});
      const RunLengths mask = encode_mask(draw_mask(object, form.size), form.size, form.size);
      annotated.back().mask = format_run_lengths(mask.counts);
    }
    write_masks(annotated, batch.at(tensor_names::object_masks).row<std::int32_t>(row));
    write_objects(annotated, batch.at(tensor_names::annotations).row<std::int64_t>(row));
    write_placement(fit_inside(form.size, form.size), batch.at(tensor_names::placements).row<float>(row));
  }
}

}  // namespace

GoldenRun::GoldenRun(const Golden& golden, Fusion fusion, AmpLevel level)
    : golden_(golden),
      backend_(testing::make_test_backend()),
      variables_(backend_->memory()),
      weights_(golden.model->weights()) {
  PipelineOptions options;
  options.fusion = fusion;
  options.amp.level = level;
  options.optimizer = golden.optimizer;
  options.groups = golden.groups;
  options.decays = [](std::string_view, const Shape& shape) { return is_weight_matrix(shape); };
  PlanOptions plan_options;
  plan_options.kernels.exhaustive_search = false;
  const PlanSet::Shapes shapes{
      [&golden, options](const Bucket& bucket) {
        return build_training_graph(forward_graph(golden, bucket, Mode::training), options).graph;
      },
      [](const Bucket& batch) { return Bucket(batch).set(extent_names::tokens, 0); }};
  plans_.emplace(shapes, measure_extents(batch(0)), *backend_, variables_, plan_options);
  for (std::size_t step = 0; step < golden.steps.size(); ++step) plans_->for_batch(batch(static_cast<int>(step)));
  variables_.allocate();
  memory_.emplace(backend_->memory(), plans_->arena_bytes(), plans_->workspace_bytes());
  plans_->bind(*memory_);

  initialize_variables(*golden.model, variables_, 0);  // running statistics as they start
  for (const WeightMapping& mapping : weights_) {
    if (is_running_statistic(mapping.variable)) continue;
    std::vector<float> values = variables_.read_f32(mapping.variable);
    from_external(mapping, variables_.at(mapping.variable).desc.shape, weight(mapping.external, mapping.external_shape),
                  values);
    variables_.write(mapping.variable, values.data(), values.size() * sizeof(float));
  }
  refresh_low_precision(variables_, LowPrecisionCopies::all);
}

Batch GoldenRun::batch(int step) const {
  const GoldenStep& form = golden_.steps.at(static_cast<std::size_t>(step));
  Batch batch;
  if (golden_.model->reads() == DataKind::video) {
    add_videos(batch, videos(step, form.batch, form.size, golden_.classes), golden_, form.size);
    batch.count = form.batch;
    return batch;
  }
  if (golden_.pixels) {
    batch.add(tensor_names::masks, {form.size, form.size}, masks(step, form.batch, form.size, golden_.classes));
  } else {
    batch.add(tensor_names::labels, {}, labels(step, form.batch, golden_.classes));
  }
  batch.count = form.batch;
  if (golden_.model->reads() == DataKind::table) {
    add_clicks(batch, golden_.clicks, step, form.batch);
  } else if (golden_.model->is_text()) {
    TextBatch sentences = text(step, form.batch, form.size, golden_.vocab_size);
    if (golden_.name == "roberta") std::ranges::fill(sentences.token_types, 0);  // it has one
    if (golden_.model->name() == "gpt2") {  // blocks, which have neither token types nor padding
      std::ranges::fill(sentences.token_types, 0);
      std::ranges::fill(sentences.lengths, form.size);
    }
    batch.add(tensor_names::ids, {form.size}, sentences.ids);
    batch.add(tensor_names::token_types, {form.size}, sentences.token_types);
    batch.add(tensor_names::lengths, {}, sentences.lengths);
    if (golden_.model->reads() == DataKind::parallel) {
      add_translations(batch, text(step, form.batch, form.size, golden_.vocab_size, "decoder_"), form.size);
    }
  } else {
    batch.add(tensor_names::images, {golden_.frames, form.size, form.size, 3},
              images(step, form.batch * golden_.frames, form.size));
    batch.add(tensor_names::characters, {most_characters}, characters(step, form.batch, golden_.classes));
    if (testing::get_task(*golden_.model)->predicts_text_boxes()) add_text_maps(batch, step, form);
    if (testing::get_task(*golden_.model)->predicts_objects()) add_objects(batch, step, form, golden_.classes);
  }
  testing::get_task(*golden_.model)->collate(batch);
  return batch;
}

float GoldenRun::step(int step) {
  const Batch fed = batch(step);
  plan_ = &plans_->for_batch(fed).plan;
  feed(*plan_, fed);
  const float lr = golden_.learning_rate * golden_.steps.at(static_cast<std::size_t>(step)).lr_factor;
  plan_->write_input(flat::learning_rate, &lr, sizeof lr);
  const std::array<std::int64_t, 3> rng{};
  if (plan_->has_input(tensor_names::rng)) plan_->write_input(tensor_names::rng, rng.data(), sizeof rng);
  plan_->run(Pass::forward, Pass::update);
  float loss = 0;
  plan_->read_output(loss_output, &loss, sizeof loss);
  return loss;
}

Batch GoldenRun::read_answers(const Batch& fed) {
  const PlanSet::Shapes shapes{[this](const Bucket& bucket) {
                                 return build_inference_graph(golden_.model->build(bucket, Mode::evaluation), {}).graph;
                               },
                               [](const Bucket& batch) { return Bucket(batch).set(extent_names::tokens, 0); }};
  PlanOptions options;
  options.kernels.exhaustive_search = false;
  PlanSet plans(shapes, measure_extents(fed), *backend_, variables_, options);
  const PlanMemory memory(backend_->memory(), plans.arena_bytes(), plans.workspace_bytes());
  plans.bind(memory);
  Plan& plan = plans.for_batch(fed).plan;
  feed(plan, fed);
  plan.run(Pass::forward, Pass::forward);
  return read_outputs(plan, names_of_outputs(plan.graph()));
}

std::vector<std::vector<DetectedBox>> GoldenRun::find_objects() {
  const Batch fed = batch(0), answers = read_answers(fed);
  std::vector<std::vector<DetectedBox>> all;
  for (std::int64_t row = 0; row < fed.count; ++row) all.push_back(read_found(fed, answers, row));
  return all;
}

std::vector<float> GoldenRun::evaluate() {
  const Batch answers = read_answers(batch(0));
  if (const HostTensor* const detections = answers.find(tensor_names::detections)) {
    std::vector<float> corners;
    const auto values = detections->values<float>();
    for (std::size_t i = 0; i < values.size(); i += DetectObjects::columns) {
      if (values[i + DetectObjects::label] < 0) continue;
      corners.insert(corners.end(), values.begin() + static_cast<std::ptrdiff_t>(i),
                     values.begin() + static_cast<std::ptrdiff_t>(i) + 4);
    }
    return corners;
  }
  const bool of_anchors = answers.has(tensor_names::class_logits);
  return testing::get_floats(answers.at(of_anchors ? tensor_names::class_logits : tensor_names::logits));
}

void GoldenRun::save(const std::filesystem::path& path) const {
  save_weights(path, *golden_.model, variables_, static_cast<std::int64_t>(golden_.steps.size()));
}

std::vector<float> GoldenRun::gradient(std::string_view name) const {
  const auto mapping = std::find_if(weights_.begin(), weights_.end(),
                                    [&](const WeightMapping& candidate) { return candidate.external == name; });
  if (mapping == weights_.end()) throw std::logic_error(fmt::format("no weight is called {}", name));
  const Shape& shape = variables_.at(mapping->variable).desc.shape;
  if (const Node* update = get_row_update(plan_->graph(), mapping->variable)) {
    return to_external(*mapping, shape, spread_rows(*plan_, *update, shape));
  }
  const ParameterSegment& segment = get_segment(plan_->graph(), mapping->variable);
  const Variables::Entry& gradients = variables_.at(segment.low_offset < 0 ? flat::grad : flat::grad_low);
  const std::size_t width = element_size(gradients.desc.dtype);
  std::vector<std::byte> bytes(static_cast<std::size_t>(shape.count()) * width);
  backend_->memory().copy_to_host(bytes.data(), gradients.data + static_cast<std::size_t>(segment.grad_offset) * width,
                                  bytes.size());
  return to_external(*mapping, shape, to_floats({"", gradients.desc.dtype, shape, bytes}));
}

}  // namespace ptrain::golden
