#include "core/cpu/onednn_operation.h"

namespace ptrain::cpu {

OnednnOperation::OnednnOperation(const dnnl::engine& engine, const dnnl::primitive& primitive,
                                 const dnnl::memory::desc& scratchpad, const std::vector<Binding>& inputs,
                                 const std::vector<Binding>& outputs, std::string implementation)
    : stream_(engine), primitive_(primitive), implementation_(std::move(implementation)) {
  for (const Binding& binding : inputs) bind(engine, binding, true);
  for (const Binding& binding : outputs) bind(engine, binding, false);
  if (scratchpad.get_size() > 0) arguments_.emplace(DNNL_ARG_SCRATCHPAD, place(engine, scratchpad));
}

void OnednnOperation::bind(const dnnl::engine& engine, const Binding& binding, bool is_input) {
  const dnnl::memory outside(binding.stored, engine, nullptr);
  (is_input ? inputs_ : outputs_).push_back({binding.slot, outside});
  if (binding.stored == binding.wanted) {
    arguments_.emplace(binding.argument, outside);
    return;
  }
  const dnnl::memory inside = place(engine, binding.wanted);
  arguments_.emplace(binding.argument, inside);
  if (is_input) {
    add_conversion(engine, before_, outside, inside);
  } else {
    add_conversion(engine, after_, inside, outside);
  }
}

dnnl::memory OnednnOperation::place(const dnnl::engine& engine, const dnnl::memory::desc& desc) {
  constexpr std::size_t alignment = 64;
  const dnnl::memory memory(desc, engine, nullptr);
  placed_.push_back({workspace_bytes_, memory});
  workspace_bytes_ += (desc.get_size() + alignment - 1) / alignment * alignment;
  return memory;
}

void OnednnOperation::add_conversion(const dnnl::engine& engine, std::vector<Conversion>& list,
                                     const dnnl::memory& from, const dnnl::memory& to) {
  const dnnl::reorder::primitive_desc desc(engine, from.get_desc(), engine, to.get_desc(), user_scratchpad());
  std::unordered_map<int, dnnl::memory> arguments{{DNNL_ARG_FROM, from}, {DNNL_ARG_TO, to}};
  if (desc.scratchpad_desc().get_size() > 0) {
    arguments.emplace(DNNL_ARG_SCRATCHPAD, place(engine, desc.scratchpad_desc()));
  }
  list.push_back({dnnl::reorder(desc), std::move(arguments)});
}

void OnednnOperation::run(const KernelArgs& args) {
  auto* workspace = static_cast<std::byte*>(args.workspace);
  for (Bound& b : inputs_) b.memory.set_data_handle(args.inputs[static_cast<std::size_t>(b.slot)]);
  for (Bound& b : outputs_) b.memory.set_data_handle(args.outputs[static_cast<std::size_t>(b.slot)]);
  for (Placed& p : placed_) p.memory.set_data_handle(workspace + p.offset);
  for (Conversion& c : before_) c.reorder.execute(stream_, c.arguments);
  primitive_.execute(stream_, arguments_);
  for (Conversion& c : after_) c.reorder.execute(stream_, c.arguments);
  stream_.wait();
}

}  // namespace ptrain::cpu
