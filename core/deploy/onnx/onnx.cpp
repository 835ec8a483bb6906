#include "core/deploy/onnx/onnx.h"

#include "core/base/errors.h"
#include "core/data/tensor_names.h"
#include "core/deploy/onnx/translation.h"
#include "core/io/atomic_file.h"
#include "core/ops/text/cached_attention.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <set>

namespace ptrain {
namespace {

constexpr std::int64_t opset = 17;
constexpr std::int64_t ir_version = 8;  // the version of opset 17

namespace model_field {
constexpr int ir_version = 1, producer = 2, graph = 7, opset = 8, metadata = 14;
}

/// A tensor of a layer's cache in ONNX.
struct LayerCache {
  ValueId value;
  std::string name;        // ".0.key"
  bool is_source = false;  // of a translator's source: is read alone
};

bool contains(const std::vector<LayerCache>& caches, ValueId value) {
  return std::ranges::find(caches, value, &LayerCache::value) != caches.end();
}

/// Those of a decoding step's graph, in the order of layers, first the ones that grow.
std::vector<LayerCache> list_caches(const Graph& graph) {
  std::vector<LayerCache> grow, source;
  for (const Node& node : graph.nodes()) {
    const bool appends = node.op->type() == "append_cache";
    if (!appends && node.op->type() != "cached_attention") continue;
    if (!appends && contains(grow, node.inputs[AppendCache::keys])) continue;
    std::vector<LayerCache>& caches = appends ? grow : source;
    const std::size_t layer = caches.size() / 2;
    const char* const whose = appends ? "" : ".encoder";
    caches.push_back({node.inputs[AppendCache::keys], fmt::format(".{}{}.key", layer, whose), !appends});
    caches.push_back({node.inputs[AppendCache::values], fmt::format(".{}{}.value", layer, whose), !appends});
  }
  if (!source.empty()) {
    for (LayerCache& cache : grow) cache.name.insert(cache.name.rfind('.'), ".decoder");
  }
  grow.insert(grow.end(), source.begin(), source.end());
  return grow;
}

std::vector<OnnxAxis> get_cache_axes(const Shape& cache, const char* tokens) {
  return {"N", cache[1], tokens, cache[3]};
}

void add_sequence_input(const char* name, OnnxAxis tokens, Translation& t) {
  t.to().add_input(name, OnnxType::i64, {"N", std::move(tokens)});
}

/// Those of Optimum's exports with a cache.
void add_decoder_inputs(Translation& t) {
  const std::vector<LayerCache> caches = list_caches(t.from());
  add_sequence_input(tensor_names::ids, "S", t);
  add_sequence_input(onnx_io::attention_mask, "P+S", t);
  add_sequence_input(onnx_io::position_ids, "S", t);
  t.name(t.from().find_value(tensor_names::ids), tensor_names::ids);
  const ValueId types = t.from().find_value(tensor_names::token_types);
  if (types != no_value) t.name(types, t.to().add("no_token_types", "Sub", {tensor_names::ids, tensor_names::ids}));
  for (const LayerCache& cache : caches) {
    const std::string name = "past_key_values" + cache.name;
    t.to().add_input(name, OnnxType::f32, get_cache_axes(t.shape(cache.value), cache.is_source ? "M" : "P"));
    t.name(cache.value, name);
  }
  add_causal_offsets(t.to());
  if (caches.empty() || !caches.back().is_source) return;
  add_sequence_input(onnx_io::source_mask, "M", t);
  add_source_offsets(t.to());
}

void add_present(const LayerCache& cache, const char* tokens, Translation& t) {
  t.to().add_output(t.to().add("present" + cache.name, "Identity", {t.name(cache.value)}), OnnxType::f32,
                    get_cache_axes(t.shape(cache.value), tokens));
}

void add_decoder_outputs(Translation& t) {
  const ValueId logits = t.from().find_output(tensor_names::logits);
  t.to().add_output(t.to().add(tensor_names::logits, "Identity", {t.name(logits)}), OnnxType::f32,
                    {"N", "S", t.shape(logits)[-1]});
  for (const LayerCache& cache : list_caches(t.from())) {
    if (!cache.is_source) add_present(cache, "P+S", t);
  }
}

void add_inputs(const DatasetInfo& data, Translation& t) {
  if (data.kind == DataKind::image) {
    t.to().add_input(tensor_names::images, OnnxType::u8,
                     {"N", std::int64_t{data.image_size.height}, std::int64_t{data.image_size.width}, std::int64_t{3}});
    t.name(t.from().find_value(tensor_names::images), tensor_names::images);
    return;
  }
  // Recurrent layers read a fixed number of steps.
  OnnxAxis tokens = "S";
  if (data.kind == DataKind::tokens) tokens = t.shape(t.from().find_value(tensor_names::ids))[1];
  for (const char* name : {tensor_names::ids, tensor_names::token_types}) {
    const ValueId value = t.from().find_value(name);
    if (value == no_value) continue;
    add_sequence_input(name, tokens, t);
    t.name(value, name);
  }
  add_sequence_input(onnx_io::attention_mask, tokens, t);
}

/// The output as the graph has it: images with channels last.
void add_output(const std::string& name, ValueId value, Translation& t) {
  std::vector<OnnxAxis> axes(t.shape(value).dims().begin(), t.shape(value).dims().end());
  axes.front() = "N";
  const bool is_named_so = axes.size() != 4 && t.name(value) == name;  // by its node
  if (is_named_so) return t.to().add_output(name, OnnxType::f32, axes);
  std::vector<OnnxAttribute> attributes;
  if (axes.size() == 4) attributes.push_back({"perm", std::vector<std::int64_t>{0, 2, 3, 1}});
  const char* const type = attributes.empty() ? "Identity" : "Transpose";
  t.to().add_output(t.to().add(name, type, {t.name(value)}, attributes), OnnxType::f32, axes);
}

ProtoMessage make_metadata_entry(const std::string& key, const std::string& value) {
  ProtoMessage entry;
  entry.text(1, key).text(2, value);
  return entry;
}

/// The ModelProto that contains the graph.
ProtoMessage make_model_message(const ProtoMessage& graph, const ModelDocument& document) {
  const nlohmann::json described = write_fields(document);
  ProtoMessage version, model;
  version.text(1, "").integer(2, opset);
  model.integer(model_field::ir_version, ir_version).text(model_field::producer, onnx_producer);
  model.message(model_field::graph, graph).message(model_field::opset, version);
  for (const char* field : {"class_names", "image", "text", "hash"}) {
    const nlohmann::json& value = described.at(field);
    if (value.is_null()) continue;
    model.message(model_field::metadata,
                  make_metadata_entry(std::string("ptrain.") + field,
                                      value.is_string() ? value.get<std::string>() : value.dump()));
  }
  return model;
}

void translate_node(const Node& node, Translation& t) {
  const TranslateNode translate = find_translation(node.op->type());
  if (translate == nullptr) fail("{}: {} has no translation to ONNX", node.name, node.op->type());
  translate(node, t);
}

void translate_nodes(Translation& t) {
  for (const Node& node : t.from().nodes()) translate_node(node, t);
}

void write_file(const std::filesystem::path& path, Translation& translation, const ModelArtifact& trained) {
  const ProtoMessage message = make_model_message(translation.to().message(trained.document.model), trained.document);
  if (message.content().size() > static_cast<std::size_t>(std::numeric_limits<std::int32_t>::max())) {
    fail("{}: {} MiB do not fit into an ONNX file (protobuf's limit is 2 GiB)", path.string(),
         message.content().size() >> 20);
  }
  write_file_atomic(path, message.content());
}

void write_decoder(const std::filesystem::path& path, DeployedModel& model, const ModelArtifact& trained) {
  Translation translation(model.graph(Mode::decoding), model.variables());
  add_decoder_inputs(translation);
  translate_nodes(translation);
  add_decoder_outputs(translation);
  write_file(path, translation, trained);
}

/// The nodes that have written `caches` when the first token of a translation is read, and all that they need.
std::vector<const Node*> find_encoder(const Graph& graph, const std::vector<LayerCache>& caches) {
  std::set<ValueId> needed;
  std::vector<const Node*> nodes;
  for (auto node = graph.nodes().rbegin(); node != graph.nodes().rend(); ++node) {
    const bool writes = node->op->type() == "append_cache" && contains(caches, node->inputs[AppendCache::keys]);
    const bool is_read = std::ranges::any_of(node->outputs, [&](ValueId value) { return needed.contains(value); });
    if (!writes && !is_read) continue;
    nodes.push_back(&*node);
    needed.insert(node->inputs.begin(), node->inputs.end());
  }
  std::ranges::reverse(nodes);
  return nodes;
}

void write_encoder(const std::filesystem::path& path, DeployedModel& model, const ModelArtifact& trained) {
  const Graph &graph = model.graph(Mode::prefill), &decoder = model.graph(Mode::decoding);
  std::vector<LayerCache> caches;  // the same by the graph's own values
  for (const LayerCache& cache : list_caches(decoder)) {
    if (cache.is_source) caches.push_back({graph.find_value(decoder.value(cache.value).name), cache.name, true});
  }
  Translation translation(graph, model.variables());
  for (const char* name : {tensor_names::ids, onnx_io::attention_mask}) add_sequence_input(name, "S", translation);
  translation.name(graph.find_value(tensor_names::ids), tensor_names::ids);
  add_first_positions(translation.to());
  for (const Node* node : find_encoder(graph, caches)) translate_node(*node, translation);
  for (const LayerCache& cache : caches) add_present(cache, "S", translation);
  write_file(path, translation, trained);
}

constexpr const char *model_file = "model.onnx", *encoder_file = "encoder_model.onnx",
                     *decoder_file = "decoder_model.onnx";

}  // namespace

bool has_cached_steps(const Model& model, std::int64_t max_length) {
  const Bucket token(
      1, {{extent_names::tokens, 1}, {extent_names::cache_slots, 1}, {extent_names::cache_length, max_length}});
  const Graph graph = model.build(model.bucket_for(token, Mode::decoding), Mode::decoding);
  return std::ranges::any_of(graph.nodes(), [](const Node& node) { return node.op->type() == "append_cache"; });
}

std::vector<std::string> onnx_files(const Task& task) {
  return task.translates() ? std::vector<std::string>{encoder_file, decoder_file}
                           : std::vector<std::string>{model_file};
}

std::vector<std::filesystem::path> write_onnx(const std::filesystem::path& folder, DeployedModel& model,
                                              const ModelArtifact& trained) {
  std::vector<std::filesystem::path> files;
  for (const std::string& name : onnx_files(model.task())) files.push_back(folder / name);
  if (model.task().translates()) {
    write_encoder(files.front(), model, trained);
    write_decoder(files.back(), model, trained);
  } else if (model.has_cache()) {
    write_decoder(files.front(), model, trained);
  } else {
    const Graph& graph = model.graph();
    Translation translation(graph, model.variables());
    add_inputs(trained.data, translation);
    translate_nodes(translation);
    for (const auto& [name, value] : graph.outputs()) add_output(name, value, translation);
    write_file(files.front(), translation, trained);
  }
  return files;
}

}  // namespace ptrain
