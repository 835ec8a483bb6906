#include "core/cpu/onednn/onednn_operation.h"

#include "core/base/parallel.h"
#include "core/base/round_up.h"
#include "core/cpu/constant_memory.h"
#include "core/cpu/simd/convert.h"

#include <cstring>

namespace ptrain::cpu {
namespace {

#ifdef __x86_64__
bool onednn_has_bf16() {
  const auto isa = static_cast<unsigned>(dnnl::get_effective_cpu_isa());
  const auto has = [isa](dnnl::cpu_isa wanted) {
    return (isa & static_cast<unsigned>(wanted)) == static_cast<unsigned>(wanted);
  };
#if DNNL_VERSION_MAJOR > 3 || (DNNL_VERSION_MAJOR == 3 && DNNL_VERSION_MINOR >= 1)
  if (has(dnnl::cpu_isa::avx2_vnni_2)) return true;
#endif
  return has(dnnl::cpu_isa::avx512_core);
}
#else
bool onednn_has_bf16() { return false; }
#endif

/// The layout of a constant as given and as the primitive wants it.
struct PackedForm {
  DType dtype;
  dnnl::memory::desc stored, wanted;
  bool operator==(const PackedForm&) const = default;
};

Constant make_constant(const dnnl::memory::desc& desc, const dnnl::engine& engine) {
  std::shared_ptr<std::byte> bytes = allocate_constant(desc.get_size());
  return {dnnl::memory(desc, engine, bytes.get()), bytes};
}

Constant pack(const dnnl::engine& engine, dnnl::stream& stream, const PackedForm& form, void* given) {
  Constant from{dnnl::memory(form.stored, engine, nullptr), {}};
  if (computed_in_f32(form.dtype)) {
    const bool remains = form.stored == form.wanted;
    from = remains ? make_constant(form.stored, engine) : Constant{dnnl::memory(form.stored, engine), {}};
    const auto count = static_cast<std::int64_t>(form.stored.get_size() / sizeof(float));
    convert(form.dtype, given, DType::f32, from.memory.get_data_handle(), count);
  } else {
    from.memory.set_data_handle(given);
  }
  if (form.stored == form.wanted) return from;
  Constant to = make_constant(form.wanted, engine);
  dnnl::reorder(from.memory, to.memory).execute(stream, from.memory, to.memory);
  stream.wait();
  return to;
}

}  // namespace

bool computed_in_f32(DType dtype) {
  static const bool has_bf16 = onednn_has_bf16();
  return dtype == DType::f16 || (dtype == DType::bf16 && !has_bf16);
}

OnednnOperation::OnednnOperation(const dnnl::engine& engine, const dnnl::primitive& primitive,
                                 const dnnl::memory::desc& scratchpad, const std::vector<Binding>& inputs,
                                 const std::vector<Binding>& outputs, std::string implementation)
    : stream_(engine), primitive_(primitive), implementation_(std::move(implementation)) {
  for (const Binding& binding : inputs) bind(engine, binding, true);
  for (const Binding& binding : outputs) bind(engine, binding, false);
  if (scratchpad.get_size() > 0) arguments_.emplace(DNNL_ARG_SCRATCHPAD, place(engine, scratchpad));
}

void OnednnOperation::add_constant(int argument, float value) {
  const dnnl::memory memory({{1}, dnnl::memory::data_type::f32, dnnl::memory::format_tag::a}, stream_.get_engine());
  *static_cast<float*>(memory.get_data_handle()) = value;
  arguments_.emplace(argument, memory);
}

void OnednnOperation::bind(const dnnl::engine& engine, const Binding& binding, bool is_input) {
  const bool converted = computed_in_f32(binding.dtype);
  if (binding.constancy == Constancy::constant && (converted || binding.stored != binding.wanted)) {
    constants_.push_back(binding);
    return;
  }
  Bound bound{binding.slot, binding.dtype, {}, 0, binding.starts_from};
  if (converted) {
    bound.memory = place(engine, binding.stored);
    bound.count = static_cast<std::int64_t>(binding.stored.get_size() / sizeof(float));
  } else {
    bound.memory = dnnl::memory(binding.stored, engine, nullptr);
  }
  (is_input ? inputs_ : outputs_).push_back(bound);
  if (binding.stored == binding.wanted) {
    arguments_.emplace(binding.argument, bound.memory);
    return;
  }
  const dnnl::memory inside = place(engine, binding.wanted);
  arguments_.emplace(binding.argument, inside);
  if (is_input || binding.starts_from >= 0) add_reorder(engine, before_, bound.memory, inside);
  if (!is_input) add_reorder(engine, after_, inside, bound.memory);
}

void OnednnOperation::pack_constants(const KernelArgs& args) {
  packed_constants_.clear();
  for (const Binding& binding : constants_) {
    void* given = args.inputs[static_cast<std::size_t>(binding.slot)];
    const PackedForm form{binding.dtype, binding.stored, binding.wanted};
    const auto make = [&] { return pack(stream_.get_engine(), stream_, form, given); };
    packed_constants_.push_back(kept_ == nullptr ? make() : kept_->get<Constant>(given, form, make));
    arguments_[binding.argument] = packed_constants_.back().memory;
  }
  packed_ = true;
}

/// A residual is already in the result's memory if the plan runs the op in place.
void OnednnOperation::start_result(const Bound& bound, const KernelArgs& args) const {
  const auto* from = static_cast<const std::byte*>(args.inputs[static_cast<std::size_t>(bound.starts_from)]);
  auto* to = static_cast<std::byte*>(args.outputs[static_cast<std::size_t>(bound.slot)]);
  if (bound.count != 0) {
    convert(bound.dtype, from, DType::f32, bound.memory.get_data_handle(), bound.count);
  } else if (from != to) {
    parallel_for(static_cast<std::int64_t>(bound.memory.get_desc().get_size()), 1 << 14,
                 [&](std::int64_t begin, std::int64_t end) {
                   std::memcpy(to + begin, from + begin, static_cast<std::size_t>(end - begin));
                 });
  }
}

dnnl::memory OnednnOperation::place(const dnnl::engine& engine, const dnnl::memory::desc& desc) {
  constexpr std::size_t alignment = 64;
  dnnl::memory memory(desc, engine, nullptr);
  placed_.push_back({workspace_bytes_, memory});
  workspace_bytes_ += round_up(desc.get_size(), alignment);
  return memory;
}

void OnednnOperation::add_reorder(const dnnl::engine& engine, std::vector<Reorder>& list, const dnnl::memory& from,
                                  const dnnl::memory& to) {
  const dnnl::reorder::primitive_desc desc(engine, from.get_desc(), engine, to.get_desc(), user_scratchpad());
  std::unordered_map<int, dnnl::memory> arguments{{DNNL_ARG_FROM, from}, {DNNL_ARG_TO, to}};
  if (desc.scratchpad_desc().get_size() > 0) {
    arguments.emplace(DNNL_ARG_SCRATCHPAD, place(engine, desc.scratchpad_desc()));
  }
  list.push_back({dnnl::reorder(desc), std::move(arguments)});
}

void OnednnOperation::run(const KernelArgs& args) {
  auto* workspace = static_cast<std::byte*>(args.workspace);
  for (Placed& p : placed_) p.memory.set_data_handle(workspace + p.offset);
  for (Bound& b : inputs_) {
    void* given = args.inputs[static_cast<std::size_t>(b.slot)];
    if (b.count == 0) {
      b.memory.set_data_handle(given);
    } else {
      convert(b.dtype, given, DType::f32, b.memory.get_data_handle(), b.count);
    }
  }
  for (Bound& b : outputs_) {
    if (b.count == 0) b.memory.set_data_handle(args.outputs[static_cast<std::size_t>(b.slot)]);
    if (b.starts_from >= 0) start_result(b, args);
  }
  if (!packed_) pack_constants(args);
  for (Reorder& r : before_) r.primitive.execute(stream_, r.arguments);
  primitive_.execute(stream_, arguments_);
  for (Reorder& r : after_) r.primitive.execute(stream_, r.arguments);
  stream_.wait();
  for (Bound& b : outputs_) {
    void* wanted = args.outputs[static_cast<std::size_t>(b.slot)];
    if (b.count != 0) convert(DType::f32, b.memory.get_data_handle(), b.dtype, wanted, b.count);
  }
}

}  // namespace ptrain::cpu
