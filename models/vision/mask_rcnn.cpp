#include "models/vision/mask_rcnn.h"

#include "core/data/tensor_names.h"
#include "core/ops/concat.h"
#include "core/ops/detection/anchors.h"
#include "core/ops/detection/balanced_sample.h"
#include "core/ops/detection/detect_objects.h"
#include "core/ops/detection/detect_regions.h"
#include "core/ops/detection/mask_targets.h"
#include "core/ops/detection/match_boxes.h"
#include "core/ops/detection/roi_align.h"
#include "core/ops/image/global_average_pool.h"
#include "core/ops/tensor/binary.h"
#include "core/ops/tensor/gather.h"
#include "core/ops/tensor/matvec.h"
#include "core/ops/tensor/reshape.h"
#include "core/ops/tensor/select.h"
#include "core/ops/tensor/slice.h"
#include "models/vision/feature_pyramid.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace ptrain {
namespace {

constexpr int box_bins = 7, mask_bins = 14;       // of a side of a region
constexpr std::size_t stages_before_regions = 3;  // of the ResNet, without a pyramid
constexpr const char* last_stage_prefix = "roi_heads.box_head.";

constexpr std::array<std::string_view, 2> class_layers{"roi_heads.box_predictor.",
                                                       "roi_heads.mask_predictor.mask_fcn_logits."};

class MaskRcnnBuilder final : public FeaturePyramid {
 public:
  MaskRcnnBuilder(const MaskRcnnSpec& spec, Mode mode) : FeaturePyramid(spec, mode), spec_(spec) {}

  BuiltModel build(const Bucket& batch) {
    require_size(batch, spec_.name);
    size_ = image_size(batch);
    const ValueId images = inputs(batch);
    placements_ = graph_.add_input(tensor_names::placements, {DType::f32, Shape{batch.rows, placement_columns}});
    const std::vector<ValueId> levels = feature_maps(images);
    const ValueId proposals = propose(levels);
    return training() ? learn(batch, levels, proposals) : detect(levels, proposals);
  }

 private:
  bool has_pyramid() const { return spec_.form == MaskRcnnForm::pyramid; }
  const AnchorForm& anchor_form() const { return has_pyramid() ? proposal_anchors : single_map_anchors; }
  int mask_side() const { return has_pyramid() ? 2 * mask_bins : mask_bins; }
  std::int64_t classes() const { return spec_.classes + 1; }  // with the background, the first
  std::int64_t rows(ValueId x) const { return graph_.desc(x).shape[0]; }
  std::int64_t boxes_of_image(ValueId boxes) const { return graph_.desc(boxes).shape[1]; }

  ValueId reshape(const std::string& name, ValueId x, Shape shape) {
    return add(name, std::make_shared<Reshape>(std::move(shape)), {x});
  }

  /// The boxes, or what they have, that `indices` [N,K] name; those of negative ones are zero.
  ValueId pick(const std::string& name, ValueId rows_of_images, ValueId indices) {
    return add(name, std::make_shared<Gather>(GatherAttributes{1, 1, AmpClass::extra_black}),
               {rows_of_images, indices});
  }

  /// Those that regions are looked at on, the finest first.
  std::vector<ValueId> feature_maps(ValueId images) {
    if (has_pyramid()) return pyramid(body(images));
    return {body(images, stages_before_regions)[stages_before_regions - 1]};
  }

  /// Regions that may have an object: detections [N,P,6] of one class. Sets class_logits and box_deltas in training.
  ValueId propose(std::vector<ValueId> levels) {
    DetectionAttributes attributes;
    attributes.anchors = make_anchors(anchor_form(), size_.height, size_.width);
    const std::int64_t per_location = attributes.anchors.level[0].per_location, inputs = channels(levels.front());
    const Initializer start = normal_start(0.01f);
    const std::string head = "rpn.head.", conv = head + "conv.0.0";
    const SharedConvolution hidden = shared_convolution(conv, inputs, {inputs, 3}, start);
    const SharedConvolution scores = shared_convolution(head + "cls_logits", inputs, {per_location, 1}, start);
    const SharedConvolution boxes = shared_convolution(head + "bbox_pred", inputs, {4 * per_location, 1}, start);
    if (has_pyramid()) levels.push_back(max_pool("backbone.fpn.pool", levels.back(), 1, 2, 0));
    std::vector<ValueId> logits, deltas;
    for (std::size_t i = 0; i < levels.size(); ++i) {
      const std::string level = fmt::format(".p{}", anchor_form().first_level + static_cast<int>(i));
      const ValueId x = relu(conv + level + ".relu", apply(conv + level, hidden, levels[i]));
      const Shape shape = graph_.desc(x).shape;
      const auto flat = [&](const std::string& layer, const SharedConvolution& last, std::int64_t outputs) {
        return reshape(layer + ".flat", apply(layer, last, x), {shape[0], shape[1] * shape[2] * per_location, outputs});
      };
      logits.push_back(flat(head + "cls_logits" + level, scores, 1));
      deltas.push_back(flat(head + "bbox_pred" + level, boxes, 4));
    }
    const ValueId all_logits = add("rpn.logits", std::make_shared<Concat>(1), std::move(logits));
    const ValueId all_deltas = add("rpn.deltas", std::make_shared<Concat>(1), std::move(deltas));
    if (training()) {
      graph_.set_output(tensor_names::class_logits, all_logits);
      graph_.set_output(tensor_names::box_deltas, all_deltas);
    }
    attributes.width = static_cast<float>(size_.width);
    attributes.height = static_cast<float>(size_.height);
    attributes.score = -1;
    const MaskRcnnSpec::Proposals& wanted = training() ? spec_.learnt_proposals : spec_.proposals;
    attributes.per_level = wanted.candidates;
    attributes.per_image = wanted.count;
    attributes.overlap = 0.7f;
    attributes.least_side = 1e-3f;
    attributes.within = SuppressWithin::levels;
    return add("rpn.proposals", std::make_shared<DetectObjects>(attributes), {all_logits, all_deltas, placements_});
  }

  ValueId sample(const char* name, ValueId matches, const MaskRcnnSpec::Sample& wanted) {
    const BalancedSampleAttributes attributes{wanted.count, wanted.most_positives, next_stream()};
    return add(name, std::make_shared<BalancedSample>(attributes), {matches, rng_});
  }

  BuiltModel learn(const Bucket& batch, const std::vector<ValueId>& levels, ValueId proposals) {
    const std::int64_t images = batch.rows, objects = std::max<std::int64_t>(1, batch.get(extent_names::objects)),
                       runs = std::max<std::int64_t>(1, batch.get(extent_names::mask_runs));
    const std::int64_t anchors = make_anchors(anchor_form(), size_.height, size_.width).count();
    rng_ = graph_.add_input(tensor_names::rng, {DType::i64, Shape{3}});
    const ValueId anchor_matches = graph_.add_input(tensor_names::anchor_matches, {DType::i32, Shape{images, anchors}});
    const ValueId object_boxes =
        graph_.add_input(tensor_names::object_boxes, {DType::f32, Shape{images, objects, DetectObjects::columns}});
    graph_.set_output(tensor_names::anchor_sample, sample("rpn.sample", anchor_matches, spec_.anchors));

    // Objects are regions too, so that some regions have one from the beginning.
    const ValueId regions =
        add("regions", std::make_shared<Concat>(1, AmpClass::extra_black), {proposals, object_boxes});
    const ValueId matches =
        add("regions.matches", std::make_shared<MatchBoxes>(MatchBoxesAttributes{}), {regions, object_boxes});
    const ValueId sampled = sample("regions.sample", matches, spec_.regions);
    const ValueId boxes = pick("regions.boxes", regions, sampled);
    const ValueId is_used =
        add("regions.is_used", std::make_shared<Compare>(CompareAttributes{Comparison::greater_equal, 0}), {sampled});
    const ValueId own_matches =
        add("regions.own_matches", std::make_shared<Where>(WhereAttributes{0, static_cast<float>(BoxMatch::ignored)}),
            {is_used, pick("regions.sampled_matches", matches, sampled)});
    graph_.set_output(tensor_names::region_boxes, boxes);
    graph_.set_output(tensor_names::region_matches, own_matches);
    const BoxScores scores = score_boxes(levels, boxes);
    graph_.set_output(tensor_names::region_logits, scores.logits);
    graph_.set_output(tensor_names::region_deltas, scores.deltas);

    // A sample begins with its regions that have an object.
    const auto first = std::make_shared<Slice>(SliceAttributes{1, 0, spec_.regions.most_positives});
    const ValueId mask_boxes = pick("masks.boxes", regions, add("masks.sample", first, {sampled}));
    const ValueId mask_matches = add("masks.matches", first, {own_matches});
    const ValueId ranges = graph_.add_input(tensor_names::mask_ranges, {DType::i32, Shape{images, objects, 2}});
    const ValueId masks = graph_.add_input(tensor_names::object_masks, {DType::i32, Shape{images, runs}});
    graph_.set_output(tensor_names::mask_targets,
                      add("masks.targets", std::make_shared<MaskTargets>(MaskTargetsAttributes{mask_side()}),
                          {mask_boxes, mask_matches, ranges, masks, placements_}));
    const ValueId object_labels = graph_.add_input(tensor_names::object_labels, {DType::i32, Shape{images, objects}});
    const ValueId maps = has_pyramid() ? mask_maps(levels, mask_boxes) : first_maps(scores.maps, images);
    return complete(tensor_names::mask_logits,
                    score_own_masks(maps, pick("masks.labels", object_labels, mask_matches)));
  }

  BuiltModel detect(const std::vector<ValueId>& levels, ValueId proposals) {
    const BoxScores scores = score_boxes(levels, proposals);
    RegionDetectionAttributes attributes;
    attributes.per_image = spec_.detections;
    attributes.width = static_cast<float>(size_.width);
    attributes.height = static_cast<float>(size_.height);
    const std::vector<ValueId> found =
        graph_.add_node("roi_heads.detections", std::make_shared<DetectRegions>(attributes),
                        {proposals, scores.logits, scores.deltas, placements_});
    const ValueId detections = found[DetectRegions::detections], own_class = found[DetectRegions::logit_classes];
    graph_.set_output(tensor_names::detections, detections);
    const ValueId maps = has_pyramid() ? mask_maps(levels, detections)
                                       : share_variables(".masks", [&] { return last_stage(levels, detections); });
    const ValueId logits = score_masks(maps, rows(detections));
    const ValueId own = add("masks.own", std::make_shared<Gather>(GatherAttributes{-1, 2}), {logits, own_class});
    return complete(tensor_names::mask_probabilities, activate(Activation::sigmoid, "masks.probabilities", own));
  }

  /// [N*R,bins,bins,channels] of boxes [N,R,..] on the feature maps.
  ValueId align(const std::string& name, const std::vector<ValueId>& levels, ValueId boxes, int bins) {
    const RoiLevels roi_levels{static_cast<std::int32_t>(levels.size()), 1 << anchor_form().first_level};
    std::vector<ValueId> inputs{boxes};
    inputs.insert(inputs.end(), levels.begin(), levels.end());
    return add(name, std::make_shared<RoiAlign>(RoiAlignAttributes{roi_levels, bins}), std::move(inputs));
  }

  /// Initial values of torch.nn.Linear.
  static Initializer linear_start(std::int64_t inputs) {
    return uniform_start(1 / std::sqrt(static_cast<float>(inputs)));
  }

  ValueId hidden_layer(const std::string& name, ValueId x, std::int64_t pixels = 1) {
    const Initializer start = linear_start(channels(x));
    ModelVariable matrix = make_variable(name + ".weight", Shape{spec_.features, channels(x)}, start);
    if (pixels > 1) {
      matrix.files.front().layout = WeightMapping::Layout::image_row;
      matrix.files.front().pixels = pixels;
    }
    return relu(name + ".relu",
                linear(name, x, std::move(matrix), make_variable(name + ".bias", Shape{spec_.features}, start)));
  }

  struct BoxScores {
    ValueId logits, deltas;   // [N,R,classes], [N,R,4 classes]
    ValueId maps = no_value;  // [N*R,7,7,..] that they are of; none with a pyramid
  };
  BoxScores score_boxes(const std::vector<ValueId>& levels, ValueId boxes) {
    const std::int64_t images = rows(boxes), each = boxes_of_image(boxes);
    const ValueId maps = has_pyramid() ? no_value : last_stage(levels, boxes);
    const ValueId x = has_pyramid() ? hidden_layers(align("roi_heads.box_roi_pool", levels, boxes, box_bins))
                                    : add("roi_heads.box_head.mean", std::make_shared<GlobalAveragePool>(), {maps});
    const auto predict = [&](const std::string& name, std::int64_t outputs) {
      const ValueId scores = classifier(name, x, outputs, linear_start(channels(x)), linear_start(channels(x)));
      return reshape(name + ".of_images", scores, {images, each, outputs});
    };
    const ValueId logits = predict("roi_heads.box_predictor.cls_score", classes());
    return {logits, predict("roi_heads.box_predictor.bbox_pred", 4 * classes()), maps};
  }

  ValueId hidden_layers(ValueId maps) {
    constexpr std::int64_t pixels = box_bins * box_bins;
    const ValueId flat = reshape("roi_heads.box_roi_pool.flat", maps, {rows(maps), pixels * channels(maps)});
    return hidden_layer("roi_heads.box_head.fc7", hidden_layer("roi_heads.box_head.fc6", flat, pixels));
  }

  /// The ResNet's last stage on each region: [N*R,7,7,..] of boxes [N,R,..].
  ValueId last_stage(const std::vector<ValueId>& levels, ValueId boxes) {
    const ValueId maps = align("roi_heads.box_roi_pool", levels, boxes, mask_bins);
    return stage(last_stage_prefix, stages_before_regions + 1, maps, {.stride = 2});
  }

  /// Those of the first regions of each image, which may have an object: [N*P,..] of maps [N*R,..].
  ValueId first_maps(ValueId maps, std::int64_t images) {
    const Shape shape = graph_.desc(maps).shape;
    const ValueId of_images = reshape("masks.maps", maps, {images, rows(maps) / images, shape[1], shape[2], shape[3]});
    const SliceAttributes first{1, 0, spec_.regions.most_positives};
    return reshape("masks.first_maps.flat", add("masks.first_maps", std::make_shared<Slice>(first), {of_images}),
                   {images * spec_.regions.most_positives, shape[1], shape[2], shape[3]});
  }

  /// [N*R,14,14,width] of boxes [N,R,..] on a pyramid.
  ValueId mask_maps(const std::vector<ValueId>& levels, ValueId boxes) {
    ValueId x = align("roi_heads.mask_roi_pool", levels, boxes, mask_bins);
    for (int i = 0; i < spec_.mask_convolutions; ++i) {
      const std::string name = fmt::format("roi_heads.mask_head.{}.0", i);
      x = relu(name + ".relu", fan_out_convolution(name, x, {width(), 3}));
    }
    return x;
  }

  /// [R,side,side,..] of maps [R,side/2,side/2,..], before a ReLU.
  ValueId enlarge_masks(ValueId maps) { return transposed_convolution(mask_layer, maps, width()); }

  static constexpr const char* mask_layer = "roi_heads.mask_predictor.conv5_mask";
  static constexpr const char* mask_scores = "roi_heads.mask_predictor.mask_fcn_logits";

  /// [N,R,side,side,classes] of maps [N*R,side/2,side/2,..].
  ValueId score_masks(ValueId maps, std::int64_t images) {
    ValueId x = relu(std::string(mask_layer) + ".relu", enlarge_masks(maps));
    x = fan_out_convolution(mask_scores, x, {classes(), 1});
    return reshape("roi_heads.mask_predictor.of_images", x,
                   {images, rows(maps) / images, mask_side(), mask_side(), classes()});
  }

  /// The same [N,R,side,side] of each region's class alone, of which labels [N,R] are: the loss reads no other.
  ValueId score_own_masks(ValueId maps, ValueId labels) {
    const ValueId x = enlarge_masks(maps);
    const SharedConvolution all = fan_out_filters(mask_scores, x, {classes(), 1});
    const std::int64_t regions = rows(x), inputs = channels(x);
    const ValueId own = reshape("masks.own", labels, {regions});
    const auto pick_own = [&](const std::string& name, ValueId rows_of_classes, std::int64_t columns) {
      return add(name, std::make_shared<Gather>(GatherAttributes{}),
                 {reshape(name + ".classes", rows_of_classes, {classes(), columns}), own});
    };
    const ValueId pixels = reshape("masks.pixels", x, {regions, std::int64_t{mask_side()} * mask_side(), inputs});
    const ValueId sums = add("masks.sums", std::make_shared<Matvec>(MatvecAttributes{.relu = true}),
                             {pixels, pick_own("masks.filters", all.filters, inputs)});
    const ValueId logits =
        add("masks.logits", std::make_shared<Binary>(BinaryFunction::add), {sums, pick_own("masks.bias", all.bias, 1)});
    const Shape of = graph_.desc(labels).shape;
    return reshape("masks.of_images", logits, {of[0], of[1], mask_side(), mask_side()});
  }

  /// With a bias, and filters initialised by He et al. 2015 with fan-out.
  SharedConvolution fan_out_filters(const std::string& name, ValueId x, const ConvSpec& spec) {
    const auto fan_out = static_cast<float>(spec.channels * spec.kernel * spec.kernel);
    return shared_convolution(name, channels(x), spec, normal_start(std::sqrt(2 / fan_out)));
  }
  ValueId fan_out_convolution(const std::string& name, ValueId x, const ConvSpec& spec) {
    return apply(name, fan_out_filters(name, x, spec), x);
  }

  BuiltModel complete(const char* output, ValueId value) {
    BuiltModel built = finish(output, value);
    for (ModelVariable& variable : built.variables) {
      for (WeightMapping& file : variable.files) name_parts(file);
    }
    return built;
  }

  static void name_parts(WeightMapping& file) {
    if (name_body(file) || name_last_stage(file)) return;
    const bool has_classes =
        std::ranges::any_of(class_layers, [&](std::string_view layer) { return file.external.starts_with(layer); });
    file.part = has_classes ? WeightMapping::Part::classifier : WeightMapping::Part::head;
    add_older_name(file, "rpn.head.conv.0.0.", "rpn.head.conv.");
    for (int i = 0; i < 4; ++i) {
      add_older_name(file, fmt::format("roi_heads.mask_head.{}.0.", i),
                     fmt::format("roi_heads.mask_head.mask_fcn{}.", i + 1));
    }
  }

  /// If it is the ResNet's last stage's, gives it the name in a ResNet's file.
  static bool name_last_stage(WeightMapping& file) {
    constexpr std::string_view prefix = last_stage_prefix;
    if (!file.external.starts_with(prefix) || !file.external.substr(prefix.size()).starts_with("layer")) return false;
    file.other_names = {file.external.substr(prefix.size())};
    return true;
  }

  /// The name before torchvision 0.13, which published weights still have.
  static void add_older_name(WeightMapping& file, const std::string& layer, const std::string& older) {
    if (file.external.starts_with(layer)) file.other_names = {older + file.external.substr(layer.size())};
  }

  const MaskRcnnSpec& spec_;
  ImageSize size_;
  ValueId placements_ = no_value;
};

class MaskRcnn final : public ImageModel<MaskRcnnBuilder, MaskRcnnSpec> {
 public:
  using ImageModel::ImageModel;
  /// Training reads objects and their masks.
  Bucket bucket_for(const Bucket& batch, Mode mode) const override {
    Bucket bucket = ImageModel::bucket_for(batch, mode);
    if (mode != Mode::training) return bucket;
    for (const char* extent : {extent_names::objects, extent_names::mask_runs}) bucket.set(extent, batch.get(extent));
    return bucket;
  }
};

/// Makes it a small one.
void shrink_regions(MaskRcnnSpec& spec) {
  shrink(spec);
  spec.features = 128;
  spec.mask_convolutions = 2;
  spec.anchors = {64, 32};
  spec.regions = {32, 8};
  spec.learnt_proposals = {200, 200};
  spec.proposals = {50, 50};
  spec.detections = 20;
}

}  // namespace

MaskRcnnSpec mask_rcnn_spec(const Config& config, const DatasetInfo& data) { return {detector_spec(config, data)}; }

MaskRcnnSpec mask_rcnn_c4_spec(const Config& config, const DatasetInfo& data) {
  MaskRcnnSpec spec = mask_rcnn_spec(config, data);
  spec.name = "maskrcnn_resnet50_c4";
  spec.form = MaskRcnnForm::single_map;
  spec.learnt_proposals = {12000, 2000};
  spec.proposals = {6000, 1000};
  return spec;
}

MaskRcnnSpec mask_rcnn_tiny_spec(const Config& config, const DatasetInfo& data) {
  MaskRcnnSpec spec = mask_rcnn_spec(config, data);
  spec.name = "maskrcnn_tiny";
  shrink_regions(spec);
  return spec;
}

MaskRcnnSpec mask_rcnn_c4_tiny_spec(const Config& config, const DatasetInfo& data) {
  MaskRcnnSpec spec = mask_rcnn_c4_spec(config, data);
  spec.name = "maskrcnn_c4_tiny";
  shrink_regions(spec);
  return spec;
}

std::unique_ptr<Model> make_mask_rcnn(const MaskRcnnSpec& spec) {
  return std::make_unique<MaskRcnn>(spec.name, spec, describe_norms(spec));
}

}  // namespace ptrain
