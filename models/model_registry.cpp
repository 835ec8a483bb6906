#include "models/model_registry.h"

#include "core/base/errors.h"
#include "core/config/config_enums.h"
#include "core/data/factory.h"
#include "core/data/sources.h"
#include "models/clicks/click_model.h"
#include "models/lora.h"
#include "models/sessions/gru4rec.h"
#include "models/sessions/ssr.h"
#include "models/text/bert.h"
#include "models/text/gpt2.h"
#include "models/text/llama.h"
#include "models/text/transformer.h"
#include "models/video/attention_cluster.h"
#include "models/video/attention_lstm.h"
#include "models/video/nextvlad.h"
#include "models/vision/convnext.h"
#include "models/vision/crnn.h"
#include "models/vision/dbnet.h"
#include "models/vision/deeplab.h"
#include "models/vision/deeplab_xception.h"
#include "models/vision/efficientnet.h"
#include "models/vision/fcn.h"
#include "models/vision/mask_rcnn.h"
#include "models/vision/mobilenet.h"
#include "models/vision/pp_yoloe.h"
#include "models/vision/ppocr_detector.h"
#include "models/vision/ppocr_recognizer.h"
#include "models/vision/regnet.h"
#include "models/vision/resnet.h"
#include "models/vision/retinanet.h"
#include "models/vision/stnet.h"
#include "models/vision/vgg.h"
#include "models/vision/vision_transformer.h"

#include <algorithm>

namespace ptrain {
namespace {

using MakeModel = std::unique_ptr<Model> (*)(const Config& config, const DatasetInfo& data);

struct Row {
  ModelEntry entry;
  MakeModel make;
};

Row image_row(std::string name, std::vector<std::string> other_names, std::string family, std::vector<std::string> keys,
              MakeModel make, std::string weights, std::optional<PublishedAccuracy> published = {}) {
  return {{std::move(name),
           std::move(other_names),
           std::move(family),
           DataKind::image,
           std::move(keys),
           {"classification"},
           MainWork::convolutions,
           std::move(weights),
           std::move(published)},
          make};
}

/// For image models computed as matrix products: patches or pixels are the rows.
Row make_product_row(std::string name, std::vector<std::string> other_names, std::string family,
                     std::vector<std::string> keys, MakeModel make, std::string weights, PublishedAccuracy published) {
  Row row = image_row(std::move(name), std::move(other_names), std::move(family), std::move(keys), make,
                      std::move(weights), std::move(published));
  row.entry.work = MainWork::products;
  return row;
}

Row make_encoder_row(std::string name, std::vector<std::string> other_names, std::vector<std::string> keys,
                     MakeModel make, std::vector<std::string> sizes = {}) {
  return {{std::move(name),
           std::move(other_names),
           "BERT",
           DataKind::text,
           std::move(keys),
           {"classification", "regression"},
           MainWork::products,
           "transformers",
           {},
           std::move(sizes)},
          make};
}

template <int depth, int groups = 1, int group_width = 64, ResNetForm form = ResNetForm::plain>
std::unique_ptr<Model> resnet(const Config& config, const DatasetInfo& data) {
  ResNetSpec spec = resnet_spec(config, data);
  spec.depth = depth;
  spec.form = form;
  spec.groups = groups;
  spec.group_width = group_width;
  return make_resnet(spec);
}

std::unique_ptr<Model> stnet(const Config& config, const DatasetInfo& data) {
  return make_stnet(stnet_spec(config, data));
}

template <int depth>
constexpr auto resnet_vd = resnet<depth, 1, 64, ResNetForm::d>;

template <std::unique_ptr<Model> (*make)(const ImageSpec& spec)>
std::unique_ptr<Model> image(const Config& config, const DatasetInfo& data) {
  return make(image_spec(config, data));
}

template <DeepLabForm form>
std::unique_ptr<Model> deeplab(const Config& config, const DatasetInfo& data) {
  return make_deeplab(deeplab_spec(form, config, data));
}

template <XceptionNorm norm>
std::unique_ptr<Model> deeplab_xception(const Config& config, const DatasetInfo& data) {
  return make_deeplab_xception(deeplab_xception_spec(norm, config, data));
}

template <BertForm form>
std::unique_ptr<Model> bert(const Config& config, const DatasetInfo& data) {
  return make_bert(bert_spec(form, config, data));
}

template <ClickForm form>
std::unique_ptr<Model> click_model(const Config& config, const DatasetInfo& data) {
  return make_click_model(click_spec(form, config, data));
}

template <RetinaNetSpec (*spec)(const Config& config, const DatasetInfo& data)>
std::unique_ptr<Model> retinanet(const Config& config, const DatasetInfo& data) {
  return make_retinanet(spec(config, data));
}

template <MaskRcnnSpec (*spec)(const Config& config, const DatasetInfo& data)>
std::unique_ptr<Model> mask_rcnn(const Config& config, const DatasetInfo& data) {
  return make_mask_rcnn(spec(config, data));
}

template <PpYoloeSpec (*spec)(const Config& config, const DatasetInfo& data)>
std::unique_ptr<Model> pp_yoloe(const Config& config, const DatasetInfo& data) {
  return make_pp_yoloe(spec(config, data));
}

std::unique_ptr<Model> gpt2(const Config& config, const DatasetInfo& data) {
  return make_gpt2(gpt2_spec(config, data));
}

template <DbnetSpec (*spec)(const Config& config, const DatasetInfo& data)>
std::unique_ptr<Model> dbnet(const Config& config, const DatasetInfo& data) {
  return make_dbnet(spec(config, data));
}

template <CrnnSpec (*spec)(const Config& config, const DatasetInfo& data)>
std::unique_ptr<Model> crnn(const Config& config, const DatasetInfo& data) {
  return make_crnn(spec(config, data));
}

template <PpocrDetectorSpec (*spec)(const Config& config, const DatasetInfo& data)>
std::unique_ptr<Model> ppocr_detector(const Config& config, const DatasetInfo& data) {
  return make_ppocr_detector(spec(config, data));
}

template <PpocrRecognizerSpec (*spec)(const Config& config, const DatasetInfo& data)>
std::unique_ptr<Model> ppocr_recognizer(const Config& config, const DatasetInfo& data) {
  return make_ppocr_recognizer(spec(config, data));
}

template <std::unique_ptr<Model> (*make)(const SessionSpec&)>
std::unique_ptr<Model> session_model(const Config& config, const DatasetInfo& data) {
  return make(session_spec(config, data));
}

std::unique_ptr<Model> nextvlad(const Config& config, const DatasetInfo& data) {
  return make_nextvlad(nextvlad_spec(config, data));
}

std::unique_ptr<Model> attention_cluster(const Config& config, const DatasetInfo& data) {
  return make_attention_cluster(attention_cluster_spec(config, data));
}

std::unique_ptr<Model> attention_lstm(const Config& config, const DatasetInfo& data) {
  return make_attention_lstm(attention_lstm_spec(config, data));
}

template <LlamaForm form>
std::unique_ptr<Model> llama(const Config& config, const DatasetInfo& data) {
  return make_llama(llama_spec(form, config, data));
}

std::unique_ptr<Model> transformer(const Config& config, const DatasetInfo& data) {
  return make_transformer(transformer_spec(config, data));
}

std::vector<std::string> concatenate(std::vector<std::string> keys, const std::vector<std::string>& more) {
  keys.insert(keys.end(), more.begin(), more.end());
  return keys;
}

using Keys = std::vector<std::string>;

// Functions, since rows may be used while other files' constants are initialised.
ModelEntry click_entry(ClickForm form, std::vector<std::string> aliases, std::string family) {
  const Keys keys{"model.hash_buckets", "model.dynamic_table", "model.admit_after", "model.embedding_size",
                  "model.bag",          "data.slots",          "data.bag_size",     "data.dense_features"};
  return {std::string(enum_name(form)),
          std::move(aliases),
          std::move(family),
          DataKind::table,
          keys,
          {"clicks"},
          MainWork::products,
          "ptrain"};
}

ModelEntry session_entry(std::string name, std::string family, std::string weights) {
  const Keys keys{"model.embedding_size", "model.dropout",  "model.vocab_size",
                  "data.max_length",      "data.negatives", "train.loss"};
  return {std::move(name),    {family},          family, DataKind::tokens, keys, {"next_item"},
          MainWork::products, std::move(weights)};
}

ModelEntry video_entry(std::string name, std::string other_name, std::string family, const Keys& keys) {
  return {std::move(name),
          {std::move(other_name)},
          std::move(family),
          DataKind::video,
          concatenate({"model.size", "model.dropout", "data.max_frames"}, keys),
          {"multi_label"},
          MainWork::products,
          "ptrain",
          {},
          {video_size_names.begin(), video_size_names.end()}};
}

ModelEntry crnn_entry(std::string name, std::vector<std::string> other_names, Keys keys) {
  return {std::move(name),      std::move(other_names), "CRNN",  DataKind::image, std::move(keys),
          {"text_recognition"}, MainWork::convolutions, "ptrain"};
}

ModelEntry ppocr_entry(std::string name, std::vector<std::string> other_names, std::string task, std::string library,
                       Keys keys) {
  return {std::move(name),   std::move(other_names), "PP-OCR",          DataKind::image, std::move(keys),
          {std::move(task)}, MainWork::convolutions, std::move(library)};
}

ModelEntry dbnet_entry(std::string name, std::vector<std::string> other_names, Keys keys) {
  return {std::move(name),    std::move(other_names), "DB",    DataKind::image, std::move(keys),
          {"text_detection"}, MainWork::convolutions, "ptrain"};
}

ModelEntry fcn_entry() {
  return {"fcn_tiny",
          {},
          "FCN",
          DataKind::image,
          {"data.image_size", "data.augment"},
          {"segmentation"},
          MainWork::convolutions,
          "ptrain"};
}

ModelEntry deeplab_entry(std::string name, std::vector<std::string> other_names, std::string weights, Keys keys) {
  return {std::move(name),  std::move(other_names), "DeepLab",         DataKind::image, std::move(keys),
          {"segmentation"}, MainWork::convolutions, std::move(weights)};
}

ModelEntry retinanet_entry(std::string name, std::vector<std::string> other_names, std::string weights, Keys keys) {
  return {std::move(name), std::move(other_names), "RetinaNet",       DataKind::image, std::move(keys),
          {"detection"},   MainWork::convolutions, std::move(weights)};
}

ModelEntry mask_rcnn_entry(std::string name, std::vector<std::string> other_names, std::string task,
                           std::string weights, Keys keys) {
  return {std::move(name), std::move(other_names), "Mask R-CNN",           DataKind::image,
          std::move(keys), {std::move(task)},      MainWork::convolutions, std::move(weights)};
}

ModelEntry pp_yoloe_entry(std::string name, std::vector<std::string> other_names, std::string weights, Keys keys) {
  return {std::move(name),       std::move(other_names), "PP-YOLOE",        DataKind::image, std::move(keys),
          {"aligned_detection"}, MainWork::convolutions, std::move(weights)};
}

Keys lora_keys() {
  return {"model.lora.rank", "model.lora.alpha", "model.lora.dropout", "model.lora.targets", "model.lora.rslora"};
}

ModelEntry gpt2_entry() {
  const Keys keys = concatenate(
      {"model.size", "model.attention", "model.dropout", "model.vocab_size", "data.max_length"}, lora_keys());
  return {"gpt2",         {"GPT2"}, "GPT-2",          DataKind::tokens, keys, {"language_model"}, MainWork::products,
          "transformers", {},       gpt2_size_names()};
}

ModelEntry llama_entry(LlamaForm form, std::vector<std::string> other_names, std::string family) {
  const Keys keys = concatenate(
      {"model.size", "model.attention", "model.vocab_size", "data.max_length", "data.padding"}, lora_keys());
  return {std::string(enum_name(form)),
          std::move(other_names),
          std::move(family),
          DataKind::tokens,
          keys,
          {"language_model"},
          MainWork::products,
          "transformers",
          {},
          llama_size_names(form)};
}

ModelEntry transformer_entry() {
  const Keys keys{"model.size",       "model.norm_first", "model.dropout", "model.attention_dropout",
                  "model.vocab_size", "data.max_length"};
  return {"transformer",
          {},
          "Transformer",
          DataKind::parallel,
          keys,
          {"translation"},
          MainWork::products,
          "transformers MarianMTModel",
          {},
          transformer_size_names()};
}

const std::vector<Row>& model_rows() {
  static const Keys norm_keys{"dist.sync_batch_norm", "batch_norm_guard_every_steps"};
  static const Keys image_keys{"data.image_size", "data.augment", "data.trivial_augment", "data.random_erasing"};
  static const Keys vgg_keys = concatenate(image_keys, {"model.dropout"});
  static const Keys vgg_bn_keys = concatenate(vgg_keys, norm_keys);
  static const Keys mobilenet_v1_keys = concatenate(concatenate(image_keys, {"model.stem"}), norm_keys);
  static const Keys mobilenet_v2_keys = concatenate(mobilenet_v1_keys, {"model.dropout"});
  static const Keys efficientnet_keys = concatenate(mobilenet_v2_keys, {"model.stochastic_depth"});
  static const Keys resnet_keys = concatenate(mobilenet_v1_keys, {"model.zero_init_residual", "model.blur_pool"});
  static const Keys segment_network_keys = concatenate(resnet_keys, {"model.segments", "model.dropout"});
  static const Keys stnet_keys =
      concatenate(mobilenet_v1_keys, {"model.zero_init_residual", "model.segments", "model.frames_per_segment"});
  static const Keys convnext_keys = concatenate(image_keys, {"model.stochastic_depth"});
  static const Keys vision_transformer_keys = concatenate(convnext_keys, {"model.attention"});
  static const Keys text_detector_keys = concatenate({"data.image_size", "data.augment"}, norm_keys);
  static const Keys crnn_keys = concatenate({"data.image_size", "data.max_length"}, norm_keys);
  static const Keys ppocr_keys = concatenate(crnn_keys, {"model.dropout"});
  static const Keys deeplab_keys{"data.image_size", "data.augment", "model.dropout"};
  static const Keys deeplab_resnet_keys =
      concatenate(concatenate(deeplab_keys, {"model.zero_init_residual", "model.output_stride"}), norm_keys);
  static const Keys encoder_keys{"model.head",       "model.attention",     "model.gelu",      "model.dropout",
                                 "model.vocab_size", "model.max_positions", "data.max_length", "data.padding"};
  static const Keys bert_keys = concatenate({"model.size"}, encoder_keys);
  static const std::vector<Row> table{
      image_row("resnet18", {}, "ResNet", resnet_keys, resnet<18>, "torchvision"),
      image_row("resnet34", {}, "ResNet", resnet_keys, resnet<34>, "torchvision"),
      image_row("resnet50", {"ResNet50", "ResNet50_dist"}, "ResNet", resnet_keys, resnet<50>, "torchvision",
                {{76.5, "configs/recipes/imagenet_resnet50_120ep.yaml"}}),
      image_row("resnet101", {}, "ResNet", resnet_keys, resnet<101>, "torchvision"),
      image_row("resnet152", {}, "ResNet", resnet_keys, resnet<152>, "torchvision"),
      image_row("resnet50_vd", {"ResNet50_vd"}, "ResNet", resnet_keys, resnet_vd<50>, "timm resnet50d",
                {{79.12, "PaddleClas"}}),
      image_row("resnet101_vd", {}, "ResNet", resnet_keys, resnet_vd<101>, "timm resnet101d"),
      image_row("resnext50_32x4d", {"ResNeXt50_32x4d"}, "ResNet", resnet_keys, resnet<50, 32, 4>, "torchvision",
                {{77.75, "PaddleClas"}}),
      image_row("resnext101_32x8d", {}, "ResNet", resnet_keys, resnet<101, 32, 8>, "torchvision"),
      image_row("wide_resnet50_2", {}, "ResNet", resnet_keys, resnet<50, 1, 128>, "torchvision"),
      image_row("wide_resnet101_2", {}, "ResNet", resnet_keys, resnet<101, 1, 128>, "torchvision"),
      image_row("mobilenet_v1", {"MobileNetV1"}, "MobileNet", mobilenet_v1_keys, image<make_mobilenet_v1>,
                "timm mobilenetv1_100", {{70.99, "PaddleClas"}}),
      image_row("mobilenet_v2", {"MobileNetV2"}, "MobileNet", mobilenet_v2_keys, image<make_mobilenet_v2>,
                "torchvision", {{71.90, "Fluid 1.3"}}),
      image_row("mobilenet_v3_large", {"MobileNetV3_large_x1_0"}, "MobileNet", mobilenet_v2_keys,
                image<make_mobilenet_v3_large>, "torchvision", {{74.04, "torchvision"}}),
      image_row("vgg16", {"VGG16"}, "VGG", vgg_keys, image<make_vgg16>, "torchvision", {{72.0, "PaddleClas"}}),
      image_row("vgg16_bn", {}, "VGG", vgg_bn_keys, image<make_vgg16_bn>, "torchvision"),
      image_row("efficientnet_b0", {"EfficientNetB0"}, "EfficientNet", efficientnet_keys, image<make_efficientnet_b0>,
                "torchvision", {{77.38, "PaddleClas"}}),
      image_row("regnet_y_400mf", {}, "RegNet", mobilenet_v1_keys, image<make_regnet_y_400mf>, "torchvision",
                {{74.05, "torchvision"}}),
      make_product_row("convnext_tiny", {"ConvNeXt_tiny"}, "ConvNeXt", convnext_keys, image<make_convnext_tiny>,
                       "torchvision", {82.03, "PaddleClas"}),
      make_product_row("vit_b_16", {"ViT_base_patch16_224"}, "ViT", vision_transformer_keys, image<make_vit_b_16>,
                       "torchvision", {81.95, "PaddleClas"}),
      make_product_row("deit_small", {"DeiT_small_patch16_224"}, "ViT", vision_transformer_keys, image<make_deit_small>,
                       "timm deit_small_patch16_224", {79.86, "timm"}),
      image_row("tsn_resnet50", {"TSN"}, "TSN", segment_network_keys, resnet<50>, "mmaction2",
                {{70.60, "mmaction2, 25 segments and 10 crops", "Kinetics-400"}}),
      image_row("stnet_resnet50", {"StNet"}, "stNet", stnet_keys, stnet, "torchvision",
                {{69.0, "PaddlePaddle/models, 25 segments", "Kinetics-400"}}),
      make_encoder_row("bert", {"BERT_finetune"}, bert_keys, bert<BertForm::bert>, bert_size_names()),
      make_encoder_row("distilbert", {"DistilBERT"}, encoder_keys, bert<BertForm::distilbert>),
      make_encoder_row("roberta", {"RoBERTa"}, encoder_keys, bert<BertForm::roberta>),
      make_encoder_row("ernie", {"ERNIE"}, encoder_keys, bert<BertForm::ernie>),
      {deeplab_entry("deeplabv3_resnet50", {"DeepLabV3"}, "torchvision", deeplab_resnet_keys),
       deeplab<DeepLabForm::v3>},
      {deeplab_entry("deeplabv3p_resnet50", {"DeepLabV3P"}, "VainF DeepLabV3Plus-Pytorch", deeplab_resnet_keys),
       deeplab<DeepLabForm::v3_plus>},
      {deeplab_entry("deeplabv3p_xception65", {}, "ptrain", concatenate(deeplab_keys, norm_keys)),
       deeplab_xception<XceptionNorm::batch>},
      {deeplab_entry("deeplabv3p_xception65_gn", {}, "ptrain", deeplab_keys), deeplab_xception<XceptionNorm::group>},
      {fcn_entry(), image<make_fcn_tiny>},
      {retinanet_entry("retinanet_resnet50_fpn", {"RetinaNet"}, "torchvision",
                       concatenate({"data.image_size", "data.augment", "model.frozen_norms"}, norm_keys)),
       retinanet<retinanet_spec>},
      {retinanet_entry("retinanet_tiny", {}, "ptrain", concatenate({"data.image_size", "data.augment"}, norm_keys)),
       retinanet<retinanet_tiny_spec>},
      {mask_rcnn_entry("maskrcnn_resnet50_fpn", {"MaskRCNN"}, "instance_segmentation", "torchvision",
                       concatenate({"data.image_size", "data.augment", "model.frozen_norms"}, norm_keys)),
       mask_rcnn<mask_rcnn_spec>},
      {mask_rcnn_entry("maskrcnn_tiny", {}, "instance_segmentation", "ptrain",
                       concatenate({"data.image_size", "data.augment"}, norm_keys)),
       mask_rcnn<mask_rcnn_tiny_spec>},
      {mask_rcnn_entry("maskrcnn_resnet50_c4", {}, "single_map_instance_segmentation", "ptrain",
                       concatenate({"data.image_size", "data.augment", "model.frozen_norms"}, norm_keys)),
       mask_rcnn<mask_rcnn_c4_spec>},
      {mask_rcnn_entry("maskrcnn_c4_tiny", {}, "single_map_instance_segmentation", "ptrain",
                       concatenate({"data.image_size", "data.augment"}, norm_keys)),
       mask_rcnn<mask_rcnn_c4_tiny_spec>},
      {pp_yoloe_entry("ppyoloe_plus_s", {"PPYOLOE"}, "PaddleDetection",
                      concatenate({"data.image_size", "data.augment"}, norm_keys)),
       pp_yoloe<ppyoloe_plus_s_spec>},
      {pp_yoloe_entry("ppyoloe_tiny", {}, "ptrain", concatenate({"data.image_size", "data.augment"}, norm_keys)),
       pp_yoloe<ppyoloe_tiny_spec>},
      {dbnet_entry("dbnet_resnet18", {"DB"}, text_detector_keys), dbnet<dbnet_spec>},
      {dbnet_entry("dbnet_tiny", {}, text_detector_keys), dbnet<dbnet_tiny_spec>},
      {crnn_entry("crnn", {"CRNN"}, crnn_keys), crnn<crnn_spec>},
      {crnn_entry("crnn_tiny", {}, crnn_keys), crnn<crnn_tiny_spec>},
      {ppocr_entry("ppocrv6_det_small", {"PPOCRv6_small_det"}, "text_detection", "PaddleOCR", text_detector_keys),
       ppocr_detector<ppocrv6_det_small_spec>},
      {ppocr_entry("ppocr_det_tiny", {}, "text_detection", "ptrain", text_detector_keys),
       ppocr_detector<ppocr_det_tiny_spec>},
      {ppocr_entry("ppocrv6_rec_small", {"PPOCRv6_small_rec"}, "text_recognition", "PaddleOCR", ppocr_keys),
       ppocr_recognizer<ppocrv6_rec_small_spec>},
      {ppocr_entry("ppocr_rec_tiny", {}, "text_recognition", "ptrain", ppocr_keys),
       ppocr_recognizer<ppocr_rec_tiny_spec>},
      {click_entry(ClickForm::wide_deep, {"WideDeep"}, "Wide&Deep"), click_model<ClickForm::wide_deep>},
      {click_entry(ClickForm::ctr_dnn, {}, "CTR-DNN"), click_model<ClickForm::ctr_dnn>},
      {click_entry(ClickForm::deepfm, {"DeepFM"}, "DeepFM"), click_model<ClickForm::deepfm>},
      {click_entry(ClickForm::dlrm_dcnv2, {"DLRM_DCN"}, "DLRM"), click_model<ClickForm::dlrm_dcnv2>},
      {session_entry("gru4rec", "GRU4Rec", "GRU4Rec_PyTorch_Official"), session_model<make_gru4rec>},
      {session_entry("ssr", "SSR", "ptrain"), session_model<make_ssr>},
      {video_entry("nextvlad", "NeXtVLAD", "NeXtVLAD", norm_keys), nextvlad},
      {video_entry("attention_cluster", "AttentionCluster", "Attention Cluster", {}), attention_cluster},
      {video_entry("attention_lstm", "AttentionLSTM", "Attention LSTM", {}), attention_lstm},
      {gpt2_entry(), gpt2},
      {llama_entry(LlamaForm::llama, {"SmolLM2"}, "Llama"), llama<LlamaForm::llama>},
      {llama_entry(LlamaForm::qwen2, {}, "Qwen"), llama<LlamaForm::qwen2>},
      {llama_entry(LlamaForm::qwen3, {}, "Qwen"), llama<LlamaForm::qwen3>},
      {transformer_entry(), transformer},
  };
  return table;
}

const Row& find_row(std::string_view name) {
  for (const Row& row : model_rows()) {
    if (row.entry.name == name) return row;
  }
  fail_usage("model.name: unknown model \"{}\"", name);
}

const char* plural(DataKind kind) {
  switch (kind) {
    case DataKind::image:
      return "images";
    case DataKind::text:
      return "text";
    case DataKind::table:
      return "tables";
    case DataKind::tokens:
      return "running text";
    case DataKind::parallel:
      return "parallel text";
    case DataKind::video:
      return "features of videos";
  }
  return "";
}

}  // namespace

std::vector<ModelEntry> model_entries() {
  std::vector<ModelEntry> entries;
  for (const Row& row : model_rows()) entries.push_back(row.entry);
  return entries;
}

std::vector<ModelEntry> gguf_model_entries() {
  std::vector<ModelEntry> entries;
  for (const std::string_view name : EnumNames<LlamaForm>::names) entries.push_back(find_model(name));
  return entries;
}

const ModelEntry& find_model(std::string_view name) { return find_row(name).entry; }

std::string find_default_model(DataKind kind, ImageSize image_size, int frames, bool has_few_samples) {
  if (kind == DataKind::text) return "bert";
  if (kind == DataKind::table) return "wide_deep";
  if (kind == DataKind::parallel) return "transformer";
  if (frames > 0) return "tsn_resnet50";
  return has_few_samples || stem_for(Stem::automatic, image_size) == Stem::small ? "resnet18" : "resnet50";
}

DatasetInfo described_data(const ModelEntry& model) {
  DatasetInfo data;
  data.kind = model.reads;
  switch (model.reads) {
    case DataKind::image:
      data.classes = 1000;
      data.image_size = Config{}.data.image_size;
      if (model.reads_clips()) {
        Config config;
        config.model.entry = model;
        set_clip_form(data, config.model.segments, frames_per_segment(config));
      }
      break;
    case DataKind::text:
      data.classes = 2;
      data.max_length = static_cast<int>(Config{}.data.max_length);
      data.vocab_size = static_cast<int>(BertSpec{}.vocab_size);
      break;
    case DataKind::table:
      return click_info({});
    case DataKind::tokens:
      data = tokens_info(static_cast<int>(Gpt2Spec{}.max_length), static_cast<int>(Gpt2Spec{}.vocab_size));
      break;
    case DataKind::parallel:
      data = parallel_info(static_cast<int>(Config{}.data.max_length), static_cast<int>(TransformerSpec{}.vocab_size));
      break;
    case DataKind::video:
      return video_info(static_cast<int>(VideoSpec{}.max_frames), static_cast<int>(VideoSpec{}.classes));
  }
  return data;
}

std::unique_ptr<Model> make_model(const Config& config, const DatasetInfo& data) {
  if (data.classes > config.model.classes) {
    fail_usage("model.classes: is {}, but the data has {} classes", config.model.classes, data.classes);
  }
  const std::size_t weights = config.data.class_weights.given.size();
  if (weights > 0 && weights != static_cast<std::size_t>(config.model.classes)) {
    fail_usage("data.class_weights: has {} weights for {} classes", weights, config.model.classes);
  }
  const ModelEntry& entry = config.model.entry;
  if (entry.reads != data.kind) {
    fail_usage("data.source: {} reads {}, but data.source {} has {}", entry.name, plural(entry.reads),
               config.data.source, plural(data.kind));
  }
  std::unique_ptr<Model> model = find_row(entry.name).make(config, data);
  return has_adapters(config) ? add_lora(std::move(model), config.model.lora) : std::move(model);
}

}  // namespace ptrain
