#include "core/deploy/onnx/onnx.h"

#include "core/base/errors.h"
#include "core/data/tensor_names.h"
#include "core/deploy/onnx/translation.h"
#include "core/io/atomic_file.h"
#include "core/ops/text/cached_attention.h"

#include <fmt/format.h>

#include <limits>

namespace ptrain {
namespace {

constexpr std::int64_t opset = 17;
constexpr std::int64_t ir_version = 8;  // the version of opset 17

namespace model_field {
constexpr int ir_version = 1, producer = 2, graph = 7, opset = 8, metadata = 14;
}

/// The tensors of a layer's cache in ONNX, in the order of layers.
struct LayerCache {
  ValueId value;
  std::string name;  // ".0.key"
};

std::vector<LayerCache> list_caches(const Graph& graph) {
  std::vector<LayerCache> caches;
  for (const Node& node : graph.nodes()) {
    if (node.op->type() != "append_cache") continue;
    const std::size_t layer = caches.size() / 2;
    caches.push_back({node.inputs[AppendCache::keys], fmt::format(".{}.key", layer)});
    caches.push_back({node.inputs[AppendCache::values], fmt::format(".{}.value", layer)});
  }
  return caches;
}

std::vector<OnnxAxis> get_cache_axes(const Shape& cache, const char* tokens) {
  return {"N", cache[1], tokens, cache[3]};
}

/// Those of Optimum's exports with a cache.
void add_decoder_inputs(Translation& t) {
  t.to().add_input(tensor_names::ids, OnnxType::i64, {"N", "S"});
  t.to().add_input(onnx_io::attention_mask, OnnxType::i64, {"N", "P+S"});
  t.to().add_input(onnx_io::position_ids, OnnxType::i64, {"N", "S"});
  t.name(t.from().find_value(tensor_names::ids), tensor_names::ids);
  const ValueId types = t.from().find_value(tensor_names::token_types);
  if (types != no_value) t.name(types, t.to().add("no_token_types", "Sub", {tensor_names::ids, tensor_names::ids}));
  for (const LayerCache& cache : list_caches(t.from())) {
    const std::string name = "past_key_values" + cache.name;
    t.to().add_input(name, OnnxType::f32, get_cache_axes(t.shape(cache.value), "P"));
    t.name(cache.value, name);
  }
  add_causal_offsets(t.to());
}

void add_decoder_outputs(Translation& t) {
  const ValueId logits = t.from().find_output(tensor_names::logits);
  t.to().add_output(t.to().add(tensor_names::logits, "Identity", {t.name(logits)}), OnnxType::f32,
                    {"N", "S", t.shape(logits)[-1]});
  for (const LayerCache& cache : list_caches(t.from())) {
    t.to().add_output(t.to().add("present" + cache.name, "Identity", {t.name(cache.value)}), OnnxType::f32,
                      get_cache_axes(t.shape(cache.value), "P+S"));
  }
}

void add_inputs(const DatasetInfo& data, Translation& t) {
  if (data.kind == DataKind::image) {
    t.to().add_input(tensor_names::images, OnnxType::u8,
                     {"N", std::int64_t{data.image_size.height}, std::int64_t{data.image_size.width}, std::int64_t{3}});
    t.name(t.from().find_value(tensor_names::images), tensor_names::images);
    return;
  }
  for (const char* name : {tensor_names::ids, tensor_names::token_types}) {
    t.to().add_input(name, OnnxType::i64, {"N", "S"});
    t.name(t.from().find_value(name), name);
  }
  t.to().add_input(onnx_io::attention_mask, OnnxType::i64, {"N", "S"});
}

/// The output as the graph has it: images with channels last.
void add_output(const std::string& name, ValueId value, Translation& t) {
  std::vector<OnnxAxis> axes(t.shape(value).dims().begin(), t.shape(value).dims().end());
  axes.front() = "N";
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

}  // namespace

void write_onnx(const std::filesystem::path& path, DeployedModel& model, const ModelArtifact& trained) {
  const bool continues_texts = model.has_cache();
  const Graph& graph = continues_texts ? model.graph(Mode::decoding) : model.graph();
  Translation translation(graph, model.variables());
  if (continues_texts) {
    add_decoder_inputs(translation);
  } else {
    add_inputs(trained.data, translation);
  }
  for (const Node& node : graph.nodes()) {
    const TranslateNode translate = find_translation(node.op->type());
    if (translate == nullptr) fail("{}: {} has no translation to ONNX", node.name, node.op->type());
    translate(node, translation);
  }
  if (continues_texts) {
    add_decoder_outputs(translation);
  } else {
    for (const auto& [name, value] : graph.outputs()) add_output(name, value, translation);
  }
  const ProtoMessage message = make_model_message(translation.to().message(trained.document.model), trained.document);
  if (message.content().size() > static_cast<std::size_t>(std::numeric_limits<std::int32_t>::max())) {
    fail("{}: {} MiB do not fit into an ONNX file (protobuf's limit is 2 GiB)", path.string(),
         message.content().size() >> 20);
  }
  write_file_atomic(path, message.content());
}

}  // namespace ptrain
