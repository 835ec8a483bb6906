// Instance segmentation: boxes around objects of several classes, and the pixels of each.
#pragma once

#include "core/ops/detection/anchors.h"
#include "core/tasks/detection/detection.h"

namespace ptrain {

/// Of detectors in two stages, which sample what they learn. Regions are proposed on a feature pyramid.
class InstanceSegmentation : public Detection {
 public:
  using Detection::Detection;

  std::string_view name() const override { return "instance_segmentation"; }
  std::vector<std::string> targets() const override { return {tensor_names::annotations, tensor_names::object_masks}; }
  /// Only models in training have samples.
  bool has_losses(Mode mode) const override { return mode == Mode::training; }
  /// Those of Mask R-CNN (He et al. 2017) as in torchvision: the binary cross entropy and the smooth absolute
  /// differences of the sampled anchors, the cross entropy and the smooth absolute differences of the sampled regions,
  /// and the binary cross entropy of their masks, pixel by pixel, of the object's class.
  std::vector<Loss> add_losses(Graph& graph, Mode mode) const override;
  /// Models output what they find.
  void postprocess(Graph& /*graph*/) const override {}
  /// Matches anchors and objects, and lists the objects that are learnt.
  void collate(Batch& batch) const override;
  std::vector<MetricInfo> metrics(std::int64_t classes) const override;
  std::unique_ptr<Metrics> make_metrics(std::int64_t classes, const std::vector<std::string>& names) const override;

 protected:
  /// Those that regions are proposed by.
  virtual const AnchorForm& anchors() const { return proposal_anchors; }
};

/// The same with regions proposed on a single feature map.
class SingleMapInstanceSegmentation final : public InstanceSegmentation {
 public:
  using InstanceSegmentation::InstanceSegmentation;

  std::string_view name() const override { return "single_map_instance_segmentation"; }

 protected:
  const AnchorForm& anchors() const override { return single_map_anchors; }
};

}  // namespace ptrain
