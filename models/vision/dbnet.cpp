#include "models/vision/dbnet.h"

#include "core/data/boxes/text_boxes.h"
#include "core/ops/concat.h"
#include "models/vision/feature_pyramid.h"

namespace ptrain {
namespace {

class DbnetBuilder final : public FeaturePyramid {
 public:
  DbnetBuilder(const DbnetSpec& spec, Mode mode) : FeaturePyramid(spec, mode), spec_(spec) {}

  BuiltModel build(const Bucket& batch) {
    require_size(batch, spec_.name);
    const ValueId features = join(pyramid(body(inputs(batch)), width() / 4));
    const ValueId logits = head("head.probability", features);
    if (training()) {
      graph_.set_output(tensor_names::threshold_logits, head("head.threshold", features));
    } else {
      declare_variables([&] { head("head.threshold", features); });
    }
    BuiltModel built = finish(logits);
    for (ModelVariable& variable : built.variables) {
      for (WeightMapping& file : variable.files) {
        if (!name_body(file)) file.part = WeightMapping::Part::head;
      }
    }
    return built;
  }

 private:
  /// The pyramid's maps in the size of the finest, side by side.
  ValueId join(const std::vector<ValueId>& levels) {
    std::vector<ValueId> parts{levels.front()};
    for (std::size_t i = 1; i < levels.size(); ++i) {
      parts.push_back(enlarge(fmt::format("neck.p{}", i + 2), levels[i], std::int64_t{1} << i));
    }
    return add("neck", std::make_shared<Concat>(-1), std::move(parts));
  }

  /// [N,H,W,1] of features [N,H/4,W/4,..].
  ValueId head(const std::string& name, ValueId x) {
    const std::int64_t inner = width() / 4;
    x = conv_norm_relu(name + ".conv1", name + ".bn1", x, {inner, 3});
    x = batch_norm(name + ".bn2", transposed_convolution(name + ".conv2", x, inner), NormStart::one);
    return transposed_convolution(name + ".conv3", relu(name + ".bn2.relu", x), 1);
  }

  const DbnetSpec& spec_;
};

}  // namespace

DbnetSpec dbnet_spec(const Config& config, const DatasetInfo& data) {
  DbnetSpec spec{{detector_spec(config, data)}};
  spec.depth = 18;
  spec.frozen_norms = false;
  return spec;
}

DbnetSpec dbnet_tiny_spec(const Config& config, const DatasetInfo& data) {
  DbnetSpec spec{{detector_spec(config, data)}};
  shrink(spec);
  spec.name = "dbnet_tiny";
  return spec;
}

std::unique_ptr<Model> make_dbnet(const DbnetSpec& spec) {
  return std::make_unique<ImageModel<DbnetBuilder, DbnetSpec>>(spec.name, spec);
}

}  // namespace ptrain
