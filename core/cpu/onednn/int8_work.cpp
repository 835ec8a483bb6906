#include "core/cpu/onednn/int8_work.h"

#include "core/cpu/onednn/onednn.h"

#include <fmt/format.h>

#include <array>
#include <memory>
#include <unordered_map>
#include <utility>
#include <vector>

namespace ptrain::cpu {
namespace {

using dnnl::memory;

/// A primitive with memory for its inputs and outputs.
class Int8Work {
 public:
  template <typename Desc>
  Int8Work(const dnnl::engine& engine, const Desc& desc)
      : stream_(engine),
        primitive_(desc),
        arguments_{{DNNL_ARG_SRC, memory(desc.src_desc(), engine)},
                   {DNNL_ARG_WEIGHTS, memory(desc.weights_desc(), engine)},
                   {DNNL_ARG_DST, memory(desc.dst_desc(), engine)}} {}

  void run() {
    primitive_.execute(stream_, arguments_);
    stream_.wait();
  }

 private:
  dnnl::stream stream_;
  dnnl::primitive primitive_;
  std::unordered_map<int, memory> arguments_;
};

/// `make_desc(engine)` makes the primitive descriptor.
template <typename MakeDesc>
std::function<void()> make_work(const MakeDesc& make_desc) {
  try {
    const dnnl::engine engine(dnnl::engine::kind::cpu, 0);
    const auto work = std::make_shared<Int8Work>(engine, make_desc(engine));
    return [work] { work->run(); };
  } catch (const dnnl::error&) {
    return {};
  }
}

}  // namespace

std::function<void()> make_int8_product(const ProductSize& size) {
  return make_work([&](const dnnl::engine& engine) {
    const memory::desc x({size.rows, size.width}, memory::data_type::u8, memory::format_tag::ab);
    const memory::desc w({size.width, size.width}, memory::data_type::s8, memory::format_tag::any);
    const memory::desc y({size.rows, size.width}, memory::data_type::s32, memory::format_tag::ab);
    return forward_desc<dnnl::matmul>(engine, {}, x, w, y);
  });
}

std::function<void()> make_int8_convolution(const ConvolutionSize& size) {
  return make_work([&](const dnnl::engine& engine) {
    const memory::dims images{size.images, size.channels, size.pixels, size.pixels}, one{1, 1};
    const memory::desc x(images, memory::data_type::u8, memory::format_tag::nhwc);
    const memory::desc w({size.channels, size.channels, 3, 3}, memory::data_type::s8, memory::format_tag::any);
    const memory::desc y(images, memory::data_type::s32, memory::format_tag::nhwc);
    return forward_desc<dnnl::convolution_forward>(engine, {}, dnnl::prop_kind::forward_inference,
                                                   dnnl::algorithm::convolution_direct, x, w, y, one, one, one);
  });
}

#ifdef __x86_64__

bool has_int8_instructions() {
  switch (dnnl::get_effective_cpu_isa()) {
    case dnnl::cpu_isa::sse41:
    case dnnl::cpu_isa::avx:
    case dnnl::cpu_isa::avx2:
    case dnnl::cpu_isa::avx512_core:
      return false;
    default:  // an instruction set that newer oneDNN versions added
      return true;
  }
}

std::string instruction_set() {
  constexpr std::array<std::pair<dnnl::cpu_isa, const char*>, 6> names{
      {{dnnl::cpu_isa::sse41, "SSE41"},
       {dnnl::cpu_isa::avx, "AVX"},
       {dnnl::cpu_isa::avx2, "AVX2"},
       {dnnl::cpu_isa::avx2_vnni, "AVX2_VNNI"},
       {dnnl::cpu_isa::avx512_core, "AVX512_CORE"},
       {dnnl::cpu_isa::avx512_core_bf16, "AVX512_CORE_BF16"}}};
  const dnnl::cpu_isa used = dnnl::get_effective_cpu_isa();
  for (const auto& [isa, name] : names) {
    if (isa == used) return name;
  }
  return fmt::format("instruction set {:#x}", static_cast<unsigned>(used));
}

#else  // where oneDNN does not report one

bool has_int8_instructions() { return false; }
std::string instruction_set() { return "AARCH64"; }

#endif

}  // namespace ptrain::cpu
