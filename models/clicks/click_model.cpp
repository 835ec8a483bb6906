#include "models/clicks/click_model.h"

#include "models/clicks/click_blocks.h"

#include <fmt/format.h>

namespace ptrain {
namespace {

class ClickModel final : public Model {
 public:
  explicit ClickModel(const ClickSpec& spec) : spec_(spec) {}

  std::string name() const override { return std::string(enum_name(spec_.form)); }
  std::string signature() const override {
    std::string tables =
        fmt::format("{} hash_buckets={} embedding_size={}", name(), spec_.hash_buckets, spec_.embedding_size);
    if (spec_.bag_size == 0) return tables;
    return fmt::format("{} slots={} dense_features={} bag={}", tables, spec_.categorical_features, spec_.dense_features,
                       enum_name(spec_.bag));
  }
  BuiltModel construct(const Bucket& batch, Mode mode) const override {
    switch (spec_.form) {
      case ClickForm::ctr_dnn:
        return build_ctr_dnn(spec_, batch, mode);
      case ClickForm::deepfm:
        return build_deepfm(spec_, batch, mode);
      case ClickForm::dlrm_dcnv2:
        return build_dlrm_dcnv2(spec_, batch, mode);
      case ClickForm::wide_deep:
        break;
    }
    return build_wide_deep(spec_, batch, mode);
  }
  DataKind reads() const override { return DataKind::table; }

 private:
  ClickSpec spec_;
};

}  // namespace

ClickSpec click_spec(ClickForm form, const Config& config, const DatasetInfo& data) {
  return {form,
          data.dense_features,
          data.categorical_features,
          config.model.hash_buckets,
          config.model.embedding_size,
          data.bag_size,
          config.model.bag};
}

std::unique_ptr<Model> make_click_model(const ClickSpec& spec) { return std::make_unique<ClickModel>(spec); }

}  // namespace ptrain
