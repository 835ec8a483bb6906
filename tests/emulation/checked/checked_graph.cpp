// CudnnGraph made twice: planned by cuDNN for a GPU that is described, and naive. run() hands cuDNN what the backend
// hands it; here, in cuDNN's place, the plan and its variant pack are checked, and the naive graph computes.
#include "core/cuda/library/cudnn_graph.h"

#include "core/base/errors.h"
#include "naive/cudnn_graph.h"
#include "planned/cudnn_graph.h"
#include "tests/described_gpu.h"
#include "tests/emulation/pointer_checks.h"

#include <cudnn.h>
#include <dlfcn.h>

namespace {

/// The naive graph in place of the plan that is being run.
thread_local const ptrain::cuda::naive::CudnnGraph* running = nullptr;

/// The variant pack that was filled last on this thread; cuDNN takes its attributes and does not give them back.
struct VariantPack {
  cudnnBackendDescriptor_t descriptor = nullptr;
  std::vector<std::int64_t> ids;
  std::vector<void*> pointers;
  void* workspace = nullptr;
};
thread_local VariantPack filled;

}  // namespace

extern "C" {

cudnnStatus_t cudnnGetStream(cudnnHandle_t, cudaStream_t* stream) { return *stream = nullptr, CUDNN_STATUS_SUCCESS; }

/// Hands all on to cuDNN.
cudnnStatus_t cudnnBackendSetAttribute(cudnnBackendDescriptor_t descriptor, cudnnBackendAttributeName_t name,
                                       cudnnBackendAttributeType_t type, std::int64_t count, const void* values) {
  if (descriptor != filled.descriptor) filled = {descriptor, {}, {}, nullptr};
  const auto* const ids = static_cast<const std::int64_t*>(values);
  const auto* const pointers = static_cast<void* const*>(values);
  if (name == CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS) filled.ids.assign(ids, ids + count);
  if (name == CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS) filled.pointers.assign(pointers, pointers + count);
  if (name == CUDNN_ATTR_VARIANT_PACK_WORKSPACE) filled.workspace = *pointers;
  static const auto cudnn = reinterpret_cast<decltype(&cudnnBackendSetAttribute)>(dlsym(RTLD_NEXT, __func__));
  return cudnn(descriptor, name, type, count, values);
}

/// In cuDNN's place. Identifiers 1 to N are what is bound, in its order; others are the graph's constants.
cudnnStatus_t cudnnBackendExecute(cudnnHandle_t, cudnnBackendDescriptor_t plan, cudnnBackendDescriptor_t pack) {
  std::int64_t bytes = 0, count = 0;
  const auto status =
      cudnnBackendGetAttribute(plan, CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE, CUDNN_TYPE_INT64, 1, &count, &bytes);
  if (status != CUDNN_STATUS_SUCCESS || pack != filled.descriptor || filled.ids.size() != filled.pointers.size()) {
    return CUDNN_STATUS_BAD_PARAM;
  }
  std::vector<void*> bound(running->bound().size());
  for (std::size_t i = 0; i < filled.ids.size(); ++i) {
    const auto id = static_cast<std::size_t>(filled.ids[i]);
    if (id >= 1 && id <= bound.size()) bound[id - 1] = filled.pointers[i];
  }
  if (bytes > 0) {  // it begins where cudnn-frontend's own part ends, at a multiple of 4 and of no more
    const auto count_of_bytes = static_cast<std::size_t>(bytes);
    emulation::require_device_memory("the workspace of a cuDNN plan", filled.workspace, count_of_bytes, 4);
  }
  running->run(0, bound, nullptr);
  return CUDNN_STATUS_SUCCESS;
}

}  // extern "C"

namespace ptrain::cuda {

struct CudnnGraph::Parts {
  static planned::CudnnTarget described() {
    static const auto target = planned::CudnnTarget::described(described_h200, 90);
    return target;
  }

  planned::CudnnGraph planned;
  naive::CudnnGraph naive;
  std::vector<std::pair<planned::CudnnGraph::Tensor, naive::CudnnGraph::Tensor>> tensors = {};

  Parts(const CudnnTarget& target, DType io)
      : planned(described(), io), naive(naive::CudnnTarget(target.handle()), io) {}

  Tensor add(planned::CudnnGraph::Tensor p, naive::CudnnGraph::Tensor n) {
    tensors.emplace_back(p, n);
    return static_cast<Tensor>(tensors.size() - 1);
  }
  planned::CudnnGraph::Tensor p(Tensor tensor) const { return tensors[static_cast<std::size_t>(tensor)].first; }
  naive::CudnnGraph::Tensor n(Tensor tensor) const { return tensors[static_cast<std::size_t>(tensor)].second; }
  /// What is no tensor is the same to both.
  template <typename T>
  static const T& p(const T& value) {
    return value;
  }
  template <typename T>
  static const T& n(const T& value) {
    return value;
  }

  /// Adds one operation, a method of each, and its one result.
  template <typename PlannedMethod, typename NaiveMethod, typename... Arguments>
  Tensor both(PlannedMethod in_planned, NaiveMethod in_naive, const Arguments&... arguments) {
    return add((planned.*in_planned)(p(arguments)...), (naive.*in_naive)(n(arguments)...));
  }

  /// The inputs as `Graph` knows them.
  template <typename Graph, typename Find>
  static typename Graph::AttentionInputs get_inputs(const AttentionInputs& inputs, Find&& find) {
    typename Graph::AttentionInputs own{find(inputs.q), find(inputs.k), find(inputs.v), find(inputs.query_lengths),
                                        find(inputs.key_lengths)};
    own.scale = inputs.scale;
    if (const auto& drawn = inputs.dropout) own.dropout = {find(drawn->seed), find(drawn->offset), drawn->probability};
    if (inputs.mask) own.mask = find(*inputs.mask);
    own.causal = inputs.causal;
    return own;
  }
  auto planned_inputs(const AttentionInputs& inputs) const {
    return get_inputs<planned::CudnnGraph>(inputs, [&](Tensor tensor) { return p(tensor); });
  }
  auto naive_inputs(const AttentionInputs& inputs) const {
    return get_inputs<naive::CudnnGraph>(inputs, [&](Tensor tensor) { return n(tensor); });
  }
};

CudnnTarget CudnnTarget::described(const std::string&, int) { fail("the checked graphs are described themselves"); }

CudnnGraph::CudnnGraph(const CudnnTarget& target, DType io) : parts_(std::make_unique<Parts>(target, io)) {}
CudnnGraph::CudnnGraph(CudnnGraph&&) noexcept = default;
CudnnGraph& CudnnGraph::operator=(CudnnGraph&&) noexcept = default;
CudnnGraph::~CudnnGraph() = default;

CudnnGraph::Tensor CudnnGraph::input(const TensorLayout& layout) {
  return parts_->add(parts_->planned.input(layout), parts_->naive.input(layout));
}
void CudnnGraph::output(Tensor tensor, const TensorLayout& layout) {
  parts_->planned.output(parts_->p(tensor), layout);
  parts_->naive.output(parts_->n(tensor), layout);
}
void CudnnGraph::set_ragged(Tensor tensor, Tensor offsets) {
  parts_->planned.set_ragged(parts_->p(tensor), parts_->p(offsets));
  parts_->naive.set_ragged(parts_->n(tensor), parts_->n(offsets));
}
CudnnGraph::Tensor CudnnGraph::constant(float value) {
  return parts_->add(parts_->planned.constant(value), parts_->naive.constant(value));
}

#define PTRAIN_BOTH(method, ...) parts_->both(&planned::CudnnGraph::method, &naive::CudnnGraph::method, __VA_ARGS__)

CudnnGraph::Tensor CudnnGraph::convolution(Tensor x, Tensor w, const Conv2dAttributes& conv) {
  return PTRAIN_BOTH(convolution, x, w, conv);
}
CudnnGraph::Tensor CudnnGraph::convolution_grad_input(Tensor dy, Tensor w, const Conv2dAttributes& conv,
                                                      const TensorLayout& dx) {
  return PTRAIN_BOTH(convolution_grad_input, dy, w, conv, dx);
}
CudnnGraph::Tensor CudnnGraph::convolution_grad_weight(Tensor x, Tensor dy, const Conv2dAttributes& conv,
                                                       const TensorLayout& dw) {
  return PTRAIN_BOTH(convolution_grad_weight, x, dy, conv, dw);
}
CudnnGraph::Tensor CudnnGraph::identity(Tensor a) { return PTRAIN_BOTH(identity, a); }
CudnnGraph::Tensor CudnnGraph::add(Tensor a, Tensor b) { return PTRAIN_BOTH(add, a, b); }
CudnnGraph::Tensor CudnnGraph::subtract(Tensor a, Tensor b) { return PTRAIN_BOTH(subtract, a, b); }
CudnnGraph::Tensor CudnnGraph::scale(Tensor a, Tensor b) { return PTRAIN_BOTH(scale, a, b); }
CudnnGraph::Tensor CudnnGraph::multiply(Tensor a, Tensor b) { return PTRAIN_BOTH(multiply, a, b); }
CudnnGraph::Tensor CudnnGraph::relu(Tensor a) { return PTRAIN_BOTH(relu, a); }
CudnnGraph::Tensor CudnnGraph::relu_grad(Tensor dy, Tensor x) { return PTRAIN_BOTH(relu_grad, dy, x); }
CudnnGraph::Tensor CudnnGraph::greater(Tensor a, Tensor b) { return PTRAIN_BOTH(greater, a, b); }
CudnnGraph::Tensor CudnnGraph::normalize(Tensor x, Tensor mean, Tensor invstd, Tensor gamma, Tensor beta) {
  return PTRAIN_BOTH(normalize, x, mean, invstd, gamma, beta);
}

#undef PTRAIN_BOTH

CudnnGraph::Normalized CudnnGraph::batch_norm(Tensor x, Tensor gamma, Tensor beta, float epsilon) {
  Parts& t = *parts_;
  const auto [y, mean, invstd] = t.planned.batch_norm(t.p(x), t.p(gamma), t.p(beta), epsilon);
  const auto naive = t.naive.batch_norm(t.n(x), t.n(gamma), t.n(beta), epsilon);
  return {t.add(y, naive.y), t.add(mean, naive.mean), t.add(invstd, naive.invstd)};
}
CudnnGraph::NormGradients CudnnGraph::batch_norm_grad(Tensor dy, Tensor x, Tensor gamma, Tensor mean, Tensor invstd) {
  Parts& t = *parts_;
  const auto [dx, dgamma, dbeta] = t.planned.batch_norm_grad(t.p(dy), t.p(x), t.p(gamma), t.p(mean), t.p(invstd));
  const auto naive = t.naive.batch_norm_grad(t.n(dy), t.n(x), t.n(gamma), t.n(mean), t.n(invstd));
  return {t.add(dx, naive.dx), t.add(dgamma, naive.dgamma), t.add(dbeta, naive.dbeta)};
}
CudnnGraph::Sums CudnnGraph::channel_sums(Tensor x) {
  const auto planned = parts_->planned.channel_sums(parts_->p(x));
  const auto naive = parts_->naive.channel_sums(parts_->n(x));
  return {parts_->add(planned.sum, naive.sum), parts_->add(planned.sum_of_squares, naive.sum_of_squares)};
}
std::array<CudnnGraph::Tensor, 5> CudnnGraph::batch_norm_grad_sums(Tensor dy, Tensor x, Tensor mean, Tensor invstd,
                                                                   Tensor gamma) {
  Parts& t = *parts_;
  const auto planned = t.planned.batch_norm_grad_sums(t.p(dy), t.p(x), t.p(mean), t.p(invstd), t.p(gamma));
  const auto naive = t.naive.batch_norm_grad_sums(t.n(dy), t.n(x), t.n(mean), t.n(invstd), t.n(gamma));
  std::array<Tensor, 5> sums{};
  for (std::size_t i = 0; i < sums.size(); ++i) sums[i] = t.add(planned[i], naive[i]);
  return sums;
}
CudnnGraph::Attended CudnnGraph::attention(const AttentionInputs& inputs) {
  const auto planned = parts_->planned.attention(parts_->planned_inputs(inputs));
  const auto naive = parts_->naive.attention(parts_->naive_inputs(inputs));
  return {parts_->add(planned.out, naive.out), parts_->add(planned.lse, naive.lse)};
}
CudnnGraph::AttentionGradients CudnnGraph::attention_grad(const AttentionInputs& inputs, Tensor out, Tensor dout,
                                                          Tensor lse, bool deterministic) {
  Parts& t = *parts_;
  const auto planned = t.planned.attention_grad(t.planned_inputs(inputs), t.p(out), t.p(dout), t.p(lse), deterministic);
  const auto naive = t.naive.attention_grad(t.naive_inputs(inputs), t.n(out), t.n(dout), t.n(lse), deterministic);
  return {t.add(planned.dq, naive.dq), t.add(planned.dk, naive.dk), t.add(planned.dv, naive.dv)};
}

std::optional<std::string> CudnnGraph::plan(const EngineRules& rules) {
  return parts_->planned.plan({rules.tensor_cores, rules.deterministic, rules.workspace_limit});
}
const std::vector<std::string>& CudnnGraph::plan_names() const { return parts_->planned.plan_names(); }
bool CudnnGraph::build(std::size_t plan) { return parts_->planned.build(plan); }
std::size_t CudnnGraph::workspace_bytes(std::size_t plan) const { return parts_->planned.workspace_bytes(plan); }
std::span<const TensorLayout> CudnnGraph::bound() const { return parts_->planned.bound(); }
std::string CudnnGraph::structure() const { return parts_->planned.structure(); }
std::vector<std::uint8_t> CudnnGraph::save() const { return parts_->planned.save(); }
bool CudnnGraph::restore(const std::string& name, const std::vector<std::uint8_t>& saved) {
  return parts_->planned.restore(name, saved);
}

void CudnnGraph::run(std::size_t plan, std::span<void* const> pointers, void* workspace) const {
  parts_->naive.restore("naive", {});
  running = &parts_->naive;
  parts_->planned.run(plan, pointers, workspace);
}

}  // namespace ptrain::cuda
