// Weights to safetensors and back, under the names and layouts that others use.
#include "core/runtime/weights.h"

#include "core/base/errors.h"
#include "core/io/atomic_file.h"
#include "core/io/checkpoint.h"
#include "core/io/safetensors.h"
#include "core/passes/optimizer.h"
#include "models/text/llama.h"
#include "models/vision/stnet.h"
#include "tests/error_message.h"
#include "tests/small_models.h"
#include "tests/temporary_directory.h"
#include "tests/test_backend.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <set>

namespace ptrain {
namespace {

std::unique_ptr<Model> resnet18(std::int64_t classes = 4) {
  ResNetSpec spec = testing::small_resnet(18, 16);
  spec.classes = classes;
  return make_resnet(spec);
}

std::unique_ptr<Model> bert_tiny(std::int64_t vocab_size = 100) {
  BertSpec spec = testing::tiny_bert();
  spec.vocab_size = vocab_size;
  return make_bert(spec);
}

/// A model's variables with their starting values.
struct Store {
  Store(const Model& model, std::uint64_t seed) : backend(testing::make_test_backend()), variables(backend->memory()) {
    variables.declare(model.build(2, Mode::evaluation));
    variables.allocate();
    initialize_variables(model, variables, seed);
  }
  std::unique_ptr<Backend> backend;
  Variables variables;
};

std::string refusal(const std::filesystem::path& path, const Model& model) {
  Store store(model, 1);
  return get_error([&] { load_weights(path, model, store.variables); });
}

/// Rewrites a file with each tensor changed, or dropped where `change` returns false.
void rewrite(const std::filesystem::path& from, const std::filesystem::path& to,
             const std::function<bool(NamedTensor&)>& change) {
  const SafetensorsFile file(from);
  std::vector<NamedTensor> tensors;
  for (NamedTensor tensor : file.tensors()) {
    if (change(tensor)) tensors.push_back(tensor);
  }
  write_safetensors(to, tensors);
}

class Weights : public ::testing::Test {
 protected:
  void save(const Model& model) {
    Store store(model, 7);
    save_weights(file_, model, store.variables, 12);
  }
  const TemporaryDirectory directory_;
  const std::filesystem::path file_ = directory_ / "model.safetensors";
  const std::filesystem::path changed_ = directory_ / "changed.safetensors";
};

TEST_F(Weights, TheEmbeddingOfErniesTaskBecomesPartOfTheTokenTypes) {
  BertSpec spec = testing::tiny_bert();
  spec.form = BertForm::ernie;
  const auto model = make_bert(spec);
  save(*model);
  const std::string types = "ernie.embeddings.token_type_embeddings.weight";
  const Store before(*model, 7);
  const std::vector<float> task(static_cast<std::size_t>(3 * spec.hidden), 0.25f);
  const SafetensorsFile file(file_);
  std::vector<NamedTensor> tensors = file.tensors();
  tensors.push_back({"ernie.embeddings.task_type_embeddings.weight", DType::f32, Shape{3, spec.hidden},
                     std::as_bytes(std::span(task))});
  write_safetensors(changed_, tensors);
  Store after(*model, 1);
  EXPECT_TRUE(load_weights(changed_, *model, after.variables).unused.empty());
  const std::vector<float> expected = before.variables.read_f32(types), found = after.variables.read_f32(types);
  for (std::size_t i = 0; i < found.size(); ++i) ASSERT_FLOAT_EQ(found[i], expected[i] + 0.25f) << i;

  tensors.back().shape = Shape{3 * spec.hidden, 1};
  write_safetensors(changed_, tensors);
  EXPECT_NE(refusal(changed_, *model).find("task_type_embeddings.weight has shape"), std::string::npos);

  const std::vector<float> diverged(static_cast<std::size_t>(3 * spec.hidden), NAN);
  tensors.back() = {tensors.back().name, DType::f32, Shape{3, spec.hidden}, std::as_bytes(std::span(diverged))};
  write_safetensors(changed_, tensors);
  EXPECT_NE(refusal(changed_, *model).find("task_type_embeddings.weight: element 0 is nan"), std::string::npos);
}

TEST_F(Weights, VariancesAreNotBelowZero) {
  const auto model = resnet18();
  save(*model);
  const auto write = [&](float variance) {
    const std::vector<float> variances(testing::small_channels, variance);
    rewrite(file_, changed_, [&](NamedTensor& t) {
      if (t.name == "bn1.running_var") t.bytes = std::as_bytes(std::span(variances));
      return true;
    });
  };
  write(-1e-7f);  // what rounding leaves
  Store store(*model, 1);
  load_weights(changed_, *model, store.variables);
  write(-0.5f);
  const std::string message = refusal(changed_, *model);
  EXPECT_NE(message.find("bn1.running_var: element 0 is -0.5: a variance is not below zero"), std::string::npos)
      << message;
}

TEST_F(Weights, RoundTripThroughAFile) {
  for (const auto& model : {resnet18(), bert_tiny()}) {
    save(*model);
    const Store saved(*model, 7);
    Store loaded(*model, 8);
    const LoadedWeights report = load_weights(file_, *model, loaded.variables);
    EXPECT_TRUE(report.fresh.empty());
    for (const auto& [name, entry] : saved.variables.entries()) {
      EXPECT_EQ(loaded.variables.read_f32(name), saved.variables.read_f32(name)) << name;
    }
  }
}

TEST_F(Weights, ConvolutionsAreStoredAsKCRSWithoutThePaddedChannel) {
  const auto model = resnet18();
  save(*model);
  Store store(*model, 7);
  const SafetensorsFile file(file_);
  const std::vector<float> stored = to_floats(file.at("conv1.weight"));
  EXPECT_EQ(file.at("conv1.weight").shape, (Shape{testing::small_channels, 3, 3, 3}));
  const std::vector<float> here = store.variables.read_f32("conv1.weight");  // [32,3,3,4]
  for (std::size_t k : {0u, 17u, 31u}) {
    for (std::size_t c = 0; c < 3; ++c) {
      for (std::size_t r = 0; r < 3; ++r) {
        for (std::size_t s = 0; s < 3; ++s) {
          ASSERT_EQ(stored[((k * 3 + c) * 3 + r) * 3 + s], here[((k * 3 + r) * 3 + s) * 4 + c]);
        }
      }
    }
  }
  for (std::size_t i = 3; i < here.size(); i += 4) ASSERT_EQ(here[i], 0.0f) << "the fourth channel";
}

TEST(WeightLayout, RowsOfAnImageHaveTheirChannelsOutermostInFiles) {
  // Two rows of three pixels of two channels; a value says row, pixel and channel.
  const std::vector<float> here{0, 1, 10, 11, 20, 21, 100, 101, 110, 111, 120, 121};
  const std::vector<float> there{0, 10, 20, 1, 11, 21, 100, 110, 120, 101, 111, 121};
  WeightMapping mapping{.variable = "w", .external = "w", .external_shape = {2, 6}};
  mapping.layout = WeightMapping::Layout::image_row;
  mapping.pixels = 3;
  EXPECT_EQ(to_external(mapping, {2, 6}, here), there);
  std::vector<float> back(here.size());
  from_external(mapping, {2, 6}, there, back);
  EXPECT_EQ(back, here);
}

TEST_F(Weights, QueryKeyAndValueAreSlicesOfOneMatrix) {
  const auto model = bert_tiny();
  save(*model);
  Store store(*model, 7);
  const SafetensorsFile file(file_);
  const std::string name = "bert.encoder.layer.1.attention.self.";
  const std::vector<float> joined = store.variables.read_f32(name + "qkv.weight");
  std::size_t offset = 0;
  for (const char* part : {"query", "key", "value"}) {
    const std::vector<float> slice = to_floats(file.at(name + part + ".weight"));
    ASSERT_EQ(slice.size(), 128u * 128u);
    EXPECT_TRUE(std::equal(slice.begin(), slice.end(), joined.begin() + static_cast<std::ptrdiff_t>(offset))) << part;
    offset += slice.size();
    EXPECT_EQ(file.at(name + part + ".bias").shape, Shape{128});
  }
}

/// Blocks that a file has in the variable's format stay as they are, but for the order of interleaved rows; others are
/// rounded. A variable's rows may come from several tensors.
TEST(BlockWeightsOfFiles, AreCopiedOrRounded) {
  constexpr std::int64_t width = 64, bytes = 40;
  const std::string name = "w@q4_1";
  Graph graph;
  graph.add_value(name, {DType::u8, Shape{12, bytes}}, Storage::parameter);
  const std::unique_ptr<Backend> backend = testing::make_test_backend();
  Variables variables(backend->memory());
  variables.declare(graph);
  variables.allocate();
  std::vector<float> values(8 * width);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = std::sin(static_cast<float>(i * i));
  std::vector<std::byte> blocks(8 * bytes);
  quantize_blocks(BlockFormat::q4_1, values, blocks);
  const NamedTensor heads{"q", DType::f32, Shape{8, width}, blocks, "Q4_1", 2};
  const NamedTensor floats{"k", DType::f32, Shape{4, width}, std::as_bytes(std::span(values).first(4 * width))};
  read_tensor(heads, "w.gguf", {.variable = "w", .external = "q", .external_shape = Shape{8, width}}, variables);
  const WeightMapping second{.variable = "w", .external = "k", .external_shape = Shape{4, width}, .row_begin = 8};
  read_tensor(floats, "w.gguf", second, variables);

  std::vector<std::byte> read(12 * bytes), expected;
  variables.read(name, read.data(), read.size());
  for (const std::ptrdiff_t row : {0, 2, 1, 3, 4, 6, 5, 7, 0, 1, 2, 3}) {
    const auto from = blocks.begin() + row * bytes;
    expected.insert(expected.end(), from, from + bytes);
  }
  EXPECT_EQ(read, expected);
  values[70] = INFINITY;
  EXPECT_NE(get_error([&] { read_tensor(floats, "w.gguf", second, variables); }).find("w.gguf: k: element 70 is inf"),
            std::string::npos);
}

/// In fp32, the values that the blocks stand for.
TEST_F(Weights, OfBlocksAreSavedAsTheirValues) {
  const LlamaSpec spec = llama_spec_of_size(LlamaForm::llama, "tiny");
  const std::unique_ptr<Model> model = make_llama(spec);
  const std::unique_ptr<Backend> backend = testing::make_test_backend();
  Variables variables(backend->memory());
  variables.declare(
      use_frozen_block_weights(model->build(1, Mode::evaluation), choose_block_format(BlockFormat::q8_0)));
  variables.allocate();
  initialize_variables(*model, variables, 1);
  save_weights(file_, *model, variables, 0);
  const SafetensorsFile file(file_);
  const std::string name = "model.layers.0.mlp.down_proj.weight", stored = name + "@q8_0";
  std::vector<std::byte> blocks(variables.at(stored).desc.bytes());
  variables.read(stored, blocks.data(), blocks.size());
  std::vector<float> expected(static_cast<std::size_t>(spec.hidden * spec.intermediate));
  dequantize_blocks(BlockFormat::q8_0, blocks, expected);
  EXPECT_EQ(to_floats(file.at(name)), expected);
  // The last rows of a variable of several tensors.
  const std::string joined = "model.layers.0.mlp.gate_up.weight@q8_0";
  blocks.resize(variables.at(joined).desc.bytes());
  variables.read(joined, blocks.data(), blocks.size());
  const std::size_t half = blocks.size() / 2;
  dequantize_blocks(BlockFormat::q8_0, std::span(blocks).subspan(half), expected);
  EXPECT_EQ(to_floats(file.at("model.layers.0.mlp.up_proj.weight")), expected);
}

TEST_F(Weights, BatchNormCountsItsBatches) {
  save(*resnet18());
  const SafetensorsFile file(file_);
  const NamedTensor& batches = file.at("layer1.0.bn1.num_batches_tracked");
  EXPECT_EQ(batches.dtype, DType::i64);
  std::int64_t steps = 0;
  std::memcpy(&steps, batches.bytes.data(), sizeof steps);
  EXPECT_EQ(steps, 12);
}

TEST_F(Weights, NameAMissingTensor) {
  save(*resnet18());
  rewrite(file_, changed_, [](NamedTensor& t) { return t.name != "layer2.0.conv1.weight"; });
  const std::string message = refusal(changed_, *resnet18());
  EXPECT_NE(message.find("changed.safetensors: has no tensor layer2.0.conv1.weight"), std::string::npos) << message;
}

TEST_F(Weights, OfCheckpointsHaveNoNames) {
  const TemporaryDirectory directory;
  const std::array<float, 4> values{};
  const std::array tensors{NamedTensor{flat::master, DType::f32, {4}, std::as_bytes(std::span(values))}};
  const auto checkpoint = save_checkpoint(directory.path(), {1, 0, "resnet18", "", {}}, tensors, 0);
  const std::string message = refusal(checkpoint, *resnet18());
  EXPECT_NE(message.find("ckpt-1.safetensors: is a checkpoint, which --resume goes on from"), std::string::npos)
      << message;
}

TEST_F(Weights, NameATensorOfTheWrongShape) {
  save(*bert_tiny(100));
  const std::string message = refusal(file_, *bert_tiny(120));
  EXPECT_NE(message.find("word_embeddings.weight has shape [100,128], expected [120,128]"), std::string::npos)
      << message;
}

TEST_F(Weights, TheClassifierMayBeMissingOrOfOtherClasses) {
  save(*resnet18(10));
  const auto model = resnet18(4);
  Store store(*model, 1);
  const Store initial(*model, 8);
  const LoadedWeights other = load_weights(file_, *model, store.variables, LeftOver::refused, 8);
  EXPECT_EQ(other.fresh, (std::vector<std::string>{"fc.weight", "fc.bias"}));
  EXPECT_EQ(store.variables.read_f32("fc.weight"), initial.variables.read_f32("fc.weight"));
  rewrite(file_, changed_, [](NamedTensor& t) { return !t.name.starts_with("fc."); });
  EXPECT_EQ(load_weights(changed_, *model, store.variables).fresh.size(), 2u);
}

TEST_F(Weights, BertFilesMayLackThePrefixAndUseTheFirstNorms) {
  const auto model = bert_tiny();
  save(*model);
  rewrite(file_, changed_, [](NamedTensor& t) {
    if (t.name.starts_with("bert.")) t.name = t.name.substr(5);
    if (t.name.ends_with("LayerNorm.weight")) t.name.replace(t.name.size() - 6, 6, "gamma");
    if (t.name.ends_with("LayerNorm.bias")) t.name.replace(t.name.size() - 4, 4, "beta");
    return !t.name.starts_with("classifier.");
  });
  Store saved(*model, 7), loaded(*model, 8);
  const LoadedWeights report = load_weights(changed_, *model, loaded.variables);
  EXPECT_EQ(report.fresh.size(), 2u);
  EXPECT_TRUE(report.unused.empty());
  const std::string name = "bert.embeddings.word_embeddings.weight";
  EXPECT_EQ(loaded.variables.read_f32(name), saved.variables.read_f32(name));
}

TEST_F(Weights, NetworksOverClipsBeginWithThoseOfImages) {
  const auto images = resnet18();
  save(*images);
  ResNetSpec spec = testing::small_resnet(18, 16);
  spec.classes = 4;
  spec.segments = 3;
  const auto clips = make_resnet(spec);
  const Store saved(*images, 7);
  Store loaded(*clips, 8);
  EXPECT_TRUE(load_weights(file_, *clips, loaded.variables).fresh.empty());
  save_weights(changed_, *clips, loaded.variables, 12);
  EXPECT_NE(SafetensorsFile(changed_).find("backbone.layer1.0.conv1.bn.num_batches_tracked"), nullptr);
  Store again(*clips, 9);
  load_weights(changed_, *clips, again.variables);
  for (const auto& [name, entry] : saved.variables.entries()) {
    EXPECT_EQ(loaded.variables.read_f32(name), saved.variables.read_f32(name)) << name;
    EXPECT_EQ(again.variables.read_f32(name), saved.variables.read_f32(name)) << name;
  }
}

// As PaddlePaddle/models starts stNet: means over RGB by the number of frames, for every channel.
TEST_F(Weights, NetworksOverStackedFramesBeginWithThoseOfImages) {
  const auto images = make_resnet(testing::small_resnet(50, 16));
  save(*images);
  StnetSpec spec{testing::small_resnet(50, 16)};
  spec.segments = 2;
  spec.classes = 5;
  const auto clips = make_stnet(spec);
  const Store saved(*images, 7);
  Store loaded(*clips, 8);
  const LoadedWeights report = load_weights(file_, *clips, loaded.variables);
  EXPECT_TRUE(report.unused.empty());
  for (const std::string& name : report.fresh) {
    EXPECT_TRUE(name.starts_with("temporal") || name.starts_with("xception.") || name.starts_with("fc.")) << name;
  }
  EXPECT_EQ(loaded.variables.read_f32("layer3.1.conv2.weight"), saved.variables.read_f32("layer3.1.conv2.weight"));
  const std::vector<float> one = saved.variables.read_f32("conv1.weight"),
                           all = loaded.variables.read_f32("conv1.weight");
  ASSERT_EQ(all.size(), one.size() * 4);
  for (std::size_t pixel = 0; pixel < one.size() / 4; ++pixel) {
    const float mean = (one[4 * pixel] + one[4 * pixel + 1] + one[4 * pixel + 2]) / 3;
    for (std::size_t c = 0; c < 15; ++c) ASSERT_NEAR(all[16 * pixel + c], mean / 5, 1e-6) << pixel;
    ASSERT_EQ(all[16 * pixel + 15], 0.0f);
  }
}

/// A small model of each family that is fine-tuned from published weights.
std::vector<std::unique_ptr<Model>> make_families() {
  std::vector<std::unique_ptr<Model>> models;
  models.push_back(resnet18());
  for (const BertForm form : {BertForm::bert, BertForm::distilbert, BertForm::roberta, BertForm::ernie}) {
    BertSpec spec = testing::tiny_bert();
    spec.form = form;
    models.push_back(make_bert(spec));
  }
  for (const char* name : {"mobilenet_v1", "mobilenet_v2", "mobilenet_v3_large", "efficientnet_b0", "regnet_y_400mf",
                           "convnext_tiny", "deit_small", "vgg16"}) {
    Config config = testing::resnet_config();
    config.model.entry = find_model(name);
    DatasetInfo data = described_data(config.model.entry);
    data.classes = 4;
    data.image_size = config.data.image_size = 32;
    models.push_back(make_model(config, data));
  }
  return models;
}

TEST_F(Weights, OfTheBodyAloneLoadInEveryFamily) {
  for (const auto& model : make_families()) {
    SCOPED_TRACE(model->name());
    std::set<std::string> head;
    for (const WeightMapping& mapping : model->weights()) {
      if (mapping.part != WeightMapping::Part::body) head.insert(mapping.external);
    }
    EXPECT_GE(head.size(), 2u);
    const std::set<std::string> large{"vgg16", "convnext_tiny", "deit_small"};
    if (large.contains(model->name())) continue;
    save(*model);
    rewrite(file_, changed_, [&](NamedTensor& t) { return !head.contains(t.name); });
    Store saved(*model, 7), loaded(*model, 8);
    const LoadedWeights report = load_weights(changed_, *model, loaded.variables);
    EXPECT_EQ(std::set(report.fresh.begin(), report.fresh.end()), head);
    EXPECT_TRUE(report.unused.empty());
    const std::string first = model->variables().front().name;
    EXPECT_EQ(loaded.variables.read_f32(first), saved.variables.read_f32(first));
  }
}

TEST_F(Weights, OfADeeperNetworkAreRefused) {
  ResNetSpec deeper = testing::small_resnet(34, 16);
  save(*make_resnet(deeper));
  const auto model = resnet18();
  const std::string message = refusal(file_, *model);
  EXPECT_NE(message.find("that resnet18 has no place for: layer1.2."), std::string::npos) << message;
  EXPECT_NE(message.find("and 76 more"), std::string::npos) << message;
  Store store(*model, 8);
  EXPECT_EQ(load_weights(file_, *model, store.variables, LeftOver::allowed).unused.size(), 80u);

  save(*model);
  rewrite(file_, changed_, [](NamedTensor& t) {
    if (t.name == "fc.bias") t.name = "layer5.0.conv1.bias";
    return true;
  });
  EXPECT_NE(refusal(changed_, *model).find("that resnet18 has no place for: layer5.0.conv1.bias"), std::string::npos);

  BertSpec spec = testing::tiny_bert();
  spec.layers = 3;
  save(*make_bert(spec));
  EXPECT_NE(refusal(file_, *bert_tiny()).find("bert.encoder.layer.2."), std::string::npos);
}

TEST_F(Weights, NamesMayHaveThePrefixesOfWrappers) {
  for (const auto& model : {resnet18(), bert_tiny()}) {
    save(*model);
    const Store saved(*model, 7);
    for (const std::string prefix : {"model.", "module._orig_mod."}) {
      rewrite(file_, changed_, [&](NamedTensor& t) {
        t.name.insert(0, prefix);
        return true;
      });
      Store loaded(*model, 8);
      EXPECT_EQ(load_weights(changed_, *model, loaded.variables).prefix, prefix);
      const std::string first = model->variables().front().name;
      EXPECT_EQ(loaded.variables.read_f32(first), saved.variables.read_f32(first));
    }
  }
  save(*resnet18());
  rewrite(file_, changed_, [](NamedTensor& t) {
    t.name.insert(0, "student.");
    return true;
  });
  EXPECT_NE(
      refusal(changed_, *resnet18()).find("has no tensor conv1.weight, which resnet18 needs; it has student.conv1"),
      std::string::npos);
}

TEST_F(Weights, MayLieInSeveralFilesWithAnIndex) {
  const auto model = resnet18();
  save(*model);
  std::string map;
  for (const std::string part : {"model-1.safetensors", "model-2.safetensors"}) {
    rewrite(file_, directory_ / part, [&](NamedTensor& t) {
      if (t.name.starts_with("layer") == (part == "model-2.safetensors")) {
        map += fmt::format("{}\"{}\": \"{}\"", map.empty() ? "" : ", ", t.name, part);
        return true;
      }
      return false;
    });
  }
  const Store saved(*model, 7);
  std::filesystem::remove(file_);
  const std::filesystem::path index = directory_ / "model.safetensors.index.json";
  write_file_atomic(index, fmt::format("{{\"weight_map\": {{{}}}}}", map));
  for (const std::filesystem::path& path : {index, index.parent_path()}) {
    Store loaded(*model, 8);
    EXPECT_TRUE(load_weights(path, *model, loaded.variables).fresh.empty());
    EXPECT_EQ(loaded.variables.read_f32("layer1.0.conv1.weight"), saved.variables.read_f32("layer1.0.conv1.weight"));
  }
  write_file_atomic(index, "{\"weight_map\": {\"conv1.weight\": \"model-2.safetensors\"}}");
  EXPECT_NE(refusal(index, *model).find("model-2.safetensors: has no tensor \"conv1.weight\""), std::string::npos);
  write_file_atomic(index, "{\"weight_map\": {\"conv1.weight\": \"../other.safetensors\"}}");
  EXPECT_NE(refusal(index, *model).find("expected the name of a file beside the index"), std::string::npos);
  write_file_atomic(index, "{}");
  EXPECT_NE(refusal(index, *model).find("which has a weight_map"), std::string::npos);
}

TEST_F(Weights, SayWhenTheNetworkIsNotThePublishedOne) {
  save(*resnet18());
  EXPECT_EQ(SafetensorsFile(file_).metadata().at("variant"), resnet18()->variant());
  EXPECT_NE(resnet18()->variant().find("small stem"), std::string::npos);
  EXPECT_EQ(make_resnet(testing::small_resnet(18, 64))->variant(), "");
  EXPECT_EQ(bert_tiny()->variant(), "");
  const auto model = resnet18();
  Store store(*model, 8);
  EXPECT_EQ(load_weights(file_, *model, store.variables).variant, model->variant());
}

TEST_F(Weights, TellWhatTheModelHasNoPlaceFor) {
  save(*bert_tiny());
  rewrite(file_, changed_, [](NamedTensor& t) {
    if (t.name == "classifier.bias") t.name = "cls.predictions.bias";
    return true;
  });
  const auto model = bert_tiny();
  Store store(*model, 8);
  EXPECT_EQ(load_weights(changed_, *model, store.variables).unused, std::vector<std::string>{"cls.predictions.bias"});

  BertSpec spec = testing::tiny_bert();
  spec.form = BertForm::roberta;
  const auto roberta = make_bert(spec);
  save(*roberta);
  rewrite(file_, changed_, [](NamedTensor& t) {
    if (t.name == "classifier.dense.bias") t.name = "roberta.pooler.dense.bias";
    if (t.name == "classifier.out_proj.bias") t.name = "lm_head.bias";
    return true;
  });
  Store other(*roberta, 8);
  EXPECT_EQ(load_weights(changed_, *roberta, other.variables).unused,
            (std::vector<std::string>{"lm_head.bias", "roberta.pooler.dense.bias"}));
}

}  // namespace
}  // namespace ptrain
