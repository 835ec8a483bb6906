#include "core/cuda/library/cudnn_graph.h"

#include "core/base/errors.h"

#include <cudnn_frontend.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>

namespace ptrain::cuda {
namespace {

namespace fe = cudnn_frontend;
using Attributes = std::shared_ptr<fe::graph::Tensor_attributes>;

fe::DataType_t data_type(DType dtype) {
  switch (dtype) {
    case DType::f32:
      return fe::DataType_t::FLOAT;
    case DType::f16:
      return fe::DataType_t::HALF;
    case DType::bf16:
      return fe::DataType_t::BFLOAT16;
    case DType::i32:
      return fe::DataType_t::INT32;
    case DType::i64:
      return fe::DataType_t::INT64;
    case DType::u8:
      return fe::DataType_t::UINT8;
    case DType::s8:
      return fe::DataType_t::INT8;
  }
  throw std::logic_error("internal error: a dtype that cuDNN does not support");
}

fe::DataType_t data_type(const TensorLayout& layout) {
  return layout.is_mask ? fe::DataType_t::BOOLEAN : data_type(layout.dtype);
}

/// cuDNN's failure messages have several lines; the first names the failure.
std::string cut_first_line(const std::string& text) { return text.substr(0, text.find('\n')); }

/// For calls that fail only if the graph itself is wrong.
void require_good(fe::error_t status, const char* what) {
  if (status.is_bad()) {
    throw std::logic_error(
        fmt::format("internal error: cuDNN graph: {}: {}", what, cut_first_line(status.get_message())));
  }
}

std::vector<std::int64_t> both(int value) { return {value, value}; }

/// The strides, padding and dilation of a convolution, set on the attributes of any of its three operations.
template <typename ConvolutionAttributes>
ConvolutionAttributes with_geometry(const Conv2dAttributes& conv) {
  ConvolutionAttributes attributes;
  attributes.set_padding(both(conv.padding)).set_stride(both(conv.stride)).set_dilation(both(conv.dilation));
  return attributes;
}

fe::graph::Pointwise_attributes pointwise(fe::PointwiseMode_t mode) {
  return fe::graph::Pointwise_attributes().set_mode(mode);
}

}  // namespace

CudnnTarget CudnnTarget::described(const std::string& properties, int compute_capability) {
  const auto described = std::make_shared<fe::DeviceProperties>();
  fe::error_t status = described->deserialize({properties.begin(), properties.end()});
  if (status.is_bad()) fail("cuDNN rejects the description of a GPU: {}", cut_first_line(status.get_message()));
  CudnnTarget target;
  target.properties_ = described;
  target.compute_capability_ = compute_capability;
  return target;
}

struct CudnnGraph::Parts {
  fe::graph::Graph graph;
  cudnnHandle_t handle = nullptr;
  std::shared_ptr<const fe::DeviceProperties> properties;  // for a GPU that is only described
  DType io = DType::f32;
  std::vector<Attributes> tensors;
  std::vector<TensorLayout> bound;
  std::vector<std::string> plan_names;

  Tensor add(Attributes tensor) {
    tensors.push_back(std::move(tensor));
    return static_cast<Tensor>(tensors.size() - 1);
  }
  /// An intermediate result, rounded to the dtype of the data as cuDNN requires.
  Tensor add_io(Attributes tensor) {
    tensor->set_data_type(data_type(io));
    return add(std::move(tensor));
  }
  const Attributes& at(Tensor tensor) const { return tensors[static_cast<std::size_t>(tensor)]; }
  /// Identifiers grow in binding order, in which run() passes the pointers to cuDNN.
  std::int64_t bind(const TensorLayout& layout) {
    bound.push_back(layout);
    return static_cast<std::int64_t>(bound.size());
  }
  /// Checks that cuDNN needs pointers for exactly the bound tensors.
  void check_bindings() {
    require_good(graph.prepare_variant_pack_template(), "bindings");
    const std::vector<std::int64_t> wanted = graph.get_variant_pack_uids_sorted();
    bool same = wanted.size() == bound.size();
    for (std::size_t i = 0; same && i < wanted.size(); ++i) same = wanted[i] == static_cast<std::int64_t>(i + 1);
    invariant(same, "a cuDNN graph needs other tensors than were bound");
  }
};

CudnnGraph::CudnnGraph(const CudnnTarget& target, DType io) : parts_(std::make_unique<Parts>()) {
  parts_->handle = target.handle_;
  parts_->io = io;
  parts_->graph.set_io_data_type(data_type(io))
      .set_intermediate_data_type(fe::DataType_t::FLOAT)
      .set_compute_data_type(fe::DataType_t::FLOAT);
  if (target.properties_ != nullptr) {
    parts_->properties = std::static_pointer_cast<const fe::DeviceProperties>(target.properties_);
    parts_->graph.set_device_properties(parts_->properties).set_sm_version(target.compute_capability_);
  }
}

CudnnGraph::CudnnGraph(CudnnGraph&&) noexcept = default;
CudnnGraph& CudnnGraph::operator=(CudnnGraph&&) noexcept = default;
CudnnGraph::~CudnnGraph() = default;

CudnnGraph::Tensor CudnnGraph::input(const TensorLayout& layout) {
  return parts_->add(parts_->graph.tensor(fe::graph::Tensor_attributes()
                                              .set_uid(parts_->bind(layout))
                                              .set_dim(layout.dims)
                                              .set_stride(layout.strides)
                                              .set_data_type(data_type(layout))));
}

void CudnnGraph::output(Tensor tensor, const TensorLayout& layout) {
  parts_->at(tensor)
      ->set_output(true)
      .set_uid(parts_->bind(layout))
      .set_dim(layout.dims)
      .set_stride(layout.strides)
      .set_data_type(data_type(layout));
}

void CudnnGraph::set_ragged(Tensor tensor, Tensor offsets) {
  parts_->at(tensor)->set_ragged_offset(parts_->at(offsets));
}

CudnnGraph::Tensor CudnnGraph::constant(float value) { return parts_->add(parts_->graph.tensor(value)); }

CudnnGraph::Tensor CudnnGraph::convolution(Tensor x, Tensor w, const Conv2dAttributes& conv) {
  return parts_->add(
      parts_->graph.conv_fprop(parts_->at(x), parts_->at(w), with_geometry<fe::graph::Conv_fprop_attributes>(conv)));
}

CudnnGraph::Tensor CudnnGraph::convolution_grad_input(Tensor dy, Tensor w, const Conv2dAttributes& conv,
                                                      const TensorLayout& dx) {
  auto result =
      parts_->graph.conv_dgrad(parts_->at(dy), parts_->at(w), with_geometry<fe::graph::Conv_dgrad_attributes>(conv));
  result->set_dim(dx.dims).set_stride(dx.strides);
  return parts_->add(std::move(result));
}

CudnnGraph::Tensor CudnnGraph::convolution_grad_weight(Tensor x, Tensor dy, const Conv2dAttributes& conv,
                                                       const TensorLayout& dw) {
  auto result =
      parts_->graph.conv_wgrad(parts_->at(dy), parts_->at(x), with_geometry<fe::graph::Conv_wgrad_attributes>(conv));
  result->set_dim(dw.dims).set_stride(dw.strides);
  return parts_->add(std::move(result));
}

CudnnGraph::Tensor CudnnGraph::identity(Tensor a) {
  return parts_->add(parts_->graph.pointwise(parts_->at(a), pointwise(fe::PointwiseMode_t::IDENTITY)));
}

CudnnGraph::Tensor CudnnGraph::add(Tensor a, Tensor b) {
  return parts_->add(parts_->graph.pointwise(parts_->at(a), parts_->at(b), pointwise(fe::PointwiseMode_t::ADD)));
}

CudnnGraph::Tensor CudnnGraph::subtract(Tensor a, Tensor b) {
  return parts_->add(parts_->graph.pointwise(parts_->at(a), parts_->at(b), pointwise(fe::PointwiseMode_t::SUB)));
}

CudnnGraph::Tensor CudnnGraph::scale(Tensor a, Tensor b) {
  return parts_->add(parts_->graph.pointwise(parts_->at(a), parts_->at(b), pointwise(fe::PointwiseMode_t::MUL)));
}

CudnnGraph::Tensor CudnnGraph::multiply(Tensor a, Tensor b) {
  return parts_->add_io(parts_->graph.pointwise(parts_->at(a), parts_->at(b), pointwise(fe::PointwiseMode_t::MUL)));
}

CudnnGraph::Tensor CudnnGraph::relu(Tensor a) {
  return parts_->add(parts_->graph.pointwise(parts_->at(a), pointwise(fe::PointwiseMode_t::RELU_FWD)));
}

CudnnGraph::Tensor CudnnGraph::relu_grad(Tensor dy, Tensor x) {
  return parts_->add_io(
      parts_->graph.pointwise(parts_->at(dy), parts_->at(x), pointwise(fe::PointwiseMode_t::RELU_BWD)));
}

CudnnGraph::Tensor CudnnGraph::greater(Tensor a, Tensor b) {
  auto result = parts_->graph.pointwise(parts_->at(a), parts_->at(b), pointwise(fe::PointwiseMode_t::CMP_GT));
  result->set_data_type(fe::DataType_t::BOOLEAN);
  return parts_->add(std::move(result));
}

CudnnGraph::Normalized CudnnGraph::batch_norm(Tensor x, Tensor gamma, Tensor beta, float epsilon) {
  auto epsilon_tensor = parts_->graph.tensor(epsilon);
  auto attributes = fe::graph::Batchnorm_attributes().set_epsilon(epsilon_tensor);
  const auto results =
      parts_->graph.batchnorm(parts_->at(x), parts_->at(gamma), parts_->at(beta), std::move(attributes));
  return {parts_->add(results[0]), parts_->add(results[1]), parts_->add(results[2])};
}

CudnnGraph::Tensor CudnnGraph::normalize(Tensor x, Tensor mean, Tensor invstd, Tensor gamma, Tensor beta) {
  return parts_->add(parts_->graph.batchnorm_inference(parts_->at(x), parts_->at(mean), parts_->at(invstd),
                                                       parts_->at(gamma), parts_->at(beta),
                                                       fe::graph::Batchnorm_inference_attributes()));
}

CudnnGraph::NormGradients CudnnGraph::batch_norm_grad(Tensor dy, Tensor x, Tensor gamma, Tensor mean, Tensor invstd) {
  auto attributes =
      fe::graph::Batchnorm_backward_attributes().set_saved_mean_and_inv_variance(parts_->at(mean), parts_->at(invstd));
  const auto results =
      parts_->graph.batchnorm_backward(parts_->at(dy), parts_->at(x), parts_->at(gamma), std::move(attributes));
  return {parts_->add(results[0]), parts_->add(results[1]), parts_->add(results[2])};
}

CudnnGraph::Sums CudnnGraph::channel_sums(Tensor x) {
  const auto results = parts_->graph.genstats(parts_->at(x), fe::graph::Genstats_attributes());
  return {parts_->add(results[0]), parts_->add(results[1])};
}

std::array<CudnnGraph::Tensor, 5> CudnnGraph::batch_norm_grad_sums(Tensor dy, Tensor x, Tensor mean, Tensor invstd,
                                                                   Tensor gamma) {
  const auto results = parts_->graph.dbn_weight(parts_->at(dy), parts_->at(x), parts_->at(mean), parts_->at(invstd),
                                                parts_->at(gamma), fe::graph::DBN_weight_attributes());
  std::array<Tensor, 5> sums{};
  std::transform(results.begin(), results.end(), sums.begin(),
                 [&](const Attributes& tensor) { return parts_->add(tensor); });
  return sums;
}

CudnnGraph::Attended CudnnGraph::attention(const AttentionInputs& inputs) {
  auto attributes = fe::graph::SDPA_attributes()
                        .set_name("attention")
                        .set_generate_stats(true)
                        .set_attn_scale(inputs.scale)
                        .set_padding_mask(true)
                        .set_causal_mask(inputs.causal)
                        .set_seq_len_q(parts_->at(inputs.query_lengths))
                        .set_seq_len_kv(parts_->at(inputs.key_lengths));
  if (const auto& drawn = inputs.dropout) {
    attributes.set_dropout(drawn->probability, parts_->at(drawn->seed), parts_->at(drawn->offset));
  }
  if (inputs.mask) attributes.set_dropout(parts_->at(*inputs.mask), parts_->graph.tensor(1.0f));
  const auto results =
      parts_->graph.sdpa(parts_->at(inputs.q), parts_->at(inputs.k), parts_->at(inputs.v), std::move(attributes));
  return {parts_->add(results[0]), parts_->add(results[1])};
}

CudnnGraph::AttentionGradients CudnnGraph::attention_grad(const AttentionInputs& inputs, Tensor out, Tensor dout,
                                                          Tensor lse, bool deterministic) {
  auto attributes = fe::graph::SDPA_backward_attributes()
                        .set_name("attention_grad")
                        .set_attn_scale(inputs.scale)
                        .set_padding_mask(true)
                        .set_causal_mask(inputs.causal)
                        .set_seq_len_q(parts_->at(inputs.query_lengths))
                        .set_seq_len_kv(parts_->at(inputs.key_lengths))
                        .set_deterministic_algorithm(deterministic);
  if (const auto& drawn = inputs.dropout) {
    attributes.set_dropout(drawn->probability, parts_->at(drawn->seed), parts_->at(drawn->offset));
  }
  if (inputs.mask) {
    // The engines for Hopper (9.14 seen) leave out the inverse of the scale, which gives wrong gradients of q and k.
    attributes.set_dropout(parts_->at(*inputs.mask), parts_->graph.tensor(1.0f), parts_->graph.tensor(1.0f));
  }
  const auto results =
      parts_->graph.sdpa_backward(parts_->at(inputs.q), parts_->at(inputs.k), parts_->at(inputs.v), parts_->at(out),
                                  parts_->at(dout), parts_->at(lse), std::move(attributes));
  return {parts_->add(results[0]), parts_->add(results[1]), parts_->add(results[2])};
}

std::optional<std::string> CudnnGraph::plan(const EngineRules& rules) {
  fe::graph::Graph& graph = parts_->graph;
  fe::error_t status = graph.validate();
  if (status.is_good()) status = graph.build_operation_graph(parts_->handle);
  if (status.is_good()) status = graph.create_execution_plans({fe::HeurMode_t::A, fe::HeurMode_t::FALLBACK});
  if (status.is_bad()) return cut_first_line(status.get_message());
  parts_->check_bindings();
  if (!rules.tensor_cores) graph.deselect_numeric_notes({fe::NumericalNote_t::TENSOR_CORE});
  graph.deselect_numeric_notes({fe::NumericalNote_t::REDUCED_PRECISION_REDUCTION});
  if (rules.deterministic) graph.deselect_numeric_notes({fe::NumericalNote_t::NONDETERMINISTIC});
  graph.deselect_workspace_greater_than(static_cast<std::int64_t>(rules.workspace_limit));
  for (std::int64_t i = 0; i < graph.get_execution_plan_count(); ++i) {
    require_good(graph.get_plan_name_at_index(i, parts_->plan_names.emplace_back()), "name of a plan");
  }
  return std::nullopt;
}

const std::vector<std::string>& CudnnGraph::plan_names() const { return parts_->plan_names; }

bool CudnnGraph::build(std::size_t plan) {
  return parts_->graph.build_plan_at_index(static_cast<std::int64_t>(plan)).is_good();
}

std::size_t CudnnGraph::workspace_bytes(std::size_t plan) const {
  std::int64_t bytes = 0;
  require_good(parts_->graph.get_workspace_size_plan_at_index(static_cast<std::int64_t>(plan), bytes), "workspace");
  return static_cast<std::size_t>(bytes);
}

std::string CudnnGraph::structure() const {
  nlohmann::json json;
  parts_->graph.serialize(json);
  json.erase("gid");  // differs between graphs of a process
  return json.dump();
}

std::vector<std::uint8_t> CudnnGraph::save() const {
  std::vector<std::uint8_t> saved;
  if (parts_->graph.serialize(saved, /*serialize_structure=*/false).is_bad()) return {};
  return saved;
}

bool CudnnGraph::restore(const std::string& name, const std::vector<std::uint8_t>& saved) {
  fe::graph::Graph restored;
  if (parts_->properties != nullptr) restored.set_device_properties(parts_->properties);
  try {
    const fe::error_t status =
        parts_->properties != nullptr
            ? restored.deserialize(saved, /*enforce_precompiled=*/true)
            : restored.deserialize(parts_->handle, saved, /*enforce_precompiled=*/true, /*run_warmup=*/false);
    if (status.is_bad()) return false;
  } catch (const nlohmann::json::exception&) {
    return false;
  }
  parts_->graph = std::move(restored);
  parts_->check_bindings();
  parts_->plan_names = {name};
  return true;
}

std::span<const TensorLayout> CudnnGraph::bound() const { return parts_->bound; }

void CudnnGraph::run(std::size_t plan, std::span<void* const> pointers, void* workspace) const {
  constexpr std::size_t most = 16;
  invariant(pointers.size() == parts_->bound.size() && pointers.size() <= most,
            "a cuDNN graph is run with the wrong tensors");
  std::array<void*, most> own{};  // cuDNN's interface needs them writable
  std::copy(pointers.begin(), pointers.end(), own.begin());
  fe::error_t status = parts_->graph.execute_plan_at_index(
      parts_->handle, own.data(), static_cast<int>(pointers.size()), workspace, static_cast<std::int64_t>(plan));
  if (status.is_bad()) fail("cuDNN: {}: {}", parts_->plan_names[plan], cut_first_line(status.get_message()));
}

}  // namespace ptrain::cuda
