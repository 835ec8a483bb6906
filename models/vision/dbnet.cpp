#include "models/vision/dbnet.h"

#include "core/ops/concat.h"
#include "models/vision/feature_pyramid.h"
#include "models/vision/text_map_heads.h"

namespace ptrain {
namespace {

class DbnetBuilder final : public TextMapHeads<FeaturePyramid> {
 public:
  DbnetBuilder(const DbnetSpec& spec, Mode mode) : TextMapHeads<FeaturePyramid>(spec, mode), spec_(spec) {}

  BuiltModel build(const Bucket& batch) {
    require_size(batch, spec_.name);
    const ValueId features = join(pyramid(body(inputs(batch)), width() / 4));
    BuiltModel built = finish(text_maps({"head.probability", "head.threshold", "bn"}, features));
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
