#include "core/cpu/kernels/linear/linear_candidates.h"

#include "core/cpu/onednn/epilogue.h"

#include <algorithm>

namespace ptrain::cpu {
namespace {

using dnnl::memory;
using Tag = memory::format_tag;

memory::desc matrix(DType dtype, std::int64_t rows, std::int64_t columns, Tag tag = Tag::ab) {
  return {{rows, columns}, compute_type(dtype), tag};
}

/// Data types and layouts of the primitive; it computes in the activations' dtype.
struct Layouts {
  memory::desc x, w, y, bias;
  memory::desc w_stored, bias_stored;

  explicit Layouts(const LinearProblem& p)
      : x(matrix(p.x, p.rows, p.in)),
        w(matrix(p.x, p.out, p.in)),
        y(matrix(p.y, p.rows, p.out)),
        w_stored(matrix(p.w, p.out, p.in)) {
    if (!p.has_bias) return;
    bias = {{p.out}, memory::data_type::f32, Tag::a};
    bias_stored = {{p.out}, compute_type(p.bias), Tag::a};
  }
};

/// The same bytes as `w` [out, in], seen as [in, out].
memory::desc transposed(DType dtype, std::int64_t out, std::int64_t in) { return matrix(dtype, in, out, Tag::ba); }

enum class Form { matmul, inner_product, inner_product_packed };

constexpr const char* to_string(Form form) {
  switch (form) {
    case Form::matmul:
      return "matmul";
    case Form::inner_product:
      return "inner_product";
    case Form::inner_product_packed:
      return "inner_product_packed";
  }
  return nullptr;
}

struct Candidate {
  Form form;
  KernelPtr kernel;
};

template <typename Primitive>
Candidate operation(const dnnl::engine& engine, const typename Primitive::primitive_desc& desc, Form form,
                    const std::vector<Binding>& inputs, const std::vector<Binding>& outputs) {
  return {form, std::make_unique<OnednnOperation>(engine, Primitive(desc), desc.scratchpad_desc(), inputs, outputs,
                                                  std::string(to_string(form)) + ":" + desc.impl_info_str())};
}

/// Appends the result of `make`, unless oneDNN has no implementation.
template <typename Make>
void try_candidate(std::vector<Candidate>& candidates, Make&& make) {
  try {
    candidates.push_back(make());
  } catch (const dnnl::error& error) {
    if (error.status != dnnl_unimplemented) throw;
  }
}

/// Weights in the layout that oneDNN prefers; unless constant they are packed at each run, in the pass that converts
/// their dtype.
memory::desc any_layout(const LinearProblem& p) { return matrix(p.x, p.out, p.in, Tag::any); }

/// Without a search: packed weights where packing is free, else the form that was fastest for most of BERT's shapes on
/// an AVX512-AMX machine: matmul in bf16, the plain inner product in f32.
Form preferred_form(const LinearProblem& p) {
  if (p.weights == Constancy::constant) return Form::inner_product_packed;
  return p.x == DType::bf16 ? Form::matmul : Form::inner_product;
}

/// dw = dy^T x, or with a residual dw += dy^T x.
Candidate weight_gradient_by_matmul(const dnnl::engine& engine, const LinearProblem& p, const Epilogue& epilogue) {
  const Layouts l(p);
  const memory::desc dy = transposed(p.y, p.rows, p.out);
  const auto desc = forward_desc<dnnl::matmul>(engine, epilogue_attributes(epilogue), dy, l.x, l.w_stored);
  return operation<dnnl::matmul>(engine, desc, Form::matmul,
                                 {{DNNL_ARG_WEIGHTS, 0, p.x, l.x, l.x}, {DNNL_ARG_SRC, 1, p.y, dy, dy}},
                                 {{DNNL_ARG_DST, 0, p.w, l.w_stored, l.w_stored}});
}

std::vector<KernelPtr> preferred_first(const LinearProblem& p, std::vector<Candidate> candidates) {
  const Form preferred = preferred_form(p);
  std::stable_partition(candidates.begin(), candidates.end(), [&](const Candidate& c) { return c.form == preferred; });
  std::vector<KernelPtr> kernels;
  for (Candidate& candidate : candidates) kernels.push_back(std::move(candidate.kernel));
  return kernels;
}

}  // namespace

std::vector<KernelPtr> linear_candidates(const LinearProblem& p, Activation activation, int output_slot) {
  const dnnl::engine engine(dnnl::engine::kind::cpu, 0);
  const Layouts l(p);
  const dnnl::primitive_attr attributes = epilogue_attributes({false, activation});
  std::vector<Candidate> candidates;
  const auto add_inner_product = [&](const memory::desc& w, Form form) {
    try_candidate(candidates, [&] {
      using Primitive = dnnl::inner_product_forward;
      const auto kind = dnnl::prop_kind::forward_inference;
      const auto desc = p.has_bias ? forward_desc<Primitive>(engine, attributes, kind, l.x, w, l.bias, l.y)
                                   : forward_desc<Primitive>(engine, attributes, kind, l.x, w, l.y);
      std::vector<Binding> inputs{{DNNL_ARG_SRC, 0, p.x, l.x, l.x},
                                  {DNNL_ARG_WEIGHTS, 1, p.w, l.w_stored, desc.weights_desc(), p.weights}};
      if (p.has_bias) inputs.push_back({DNNL_ARG_BIAS, 2, p.bias, l.bias_stored, l.bias});
      return operation<Primitive>(engine, desc, form, inputs, {{DNNL_ARG_DST, output_slot, p.y, l.y, l.y}});
    });
  };
  add_inner_product(any_layout(p), Form::inner_product_packed);
  add_inner_product(l.w, Form::inner_product);
  try_candidate(candidates, [&] {
    const memory::desc w = transposed(p.x, p.out, p.in);
    const memory::desc row_bias({1, p.out}, memory::data_type::f32, Tag::ab);
    const auto desc = p.has_bias ? forward_desc<dnnl::matmul>(engine, attributes, l.x, w, row_bias, l.y)
                                 : forward_desc<dnnl::matmul>(engine, attributes, l.x, w, l.y);
    std::vector<Binding> inputs{{DNNL_ARG_SRC, 0, p.x, l.x, l.x},
                                {DNNL_ARG_WEIGHTS, 1, p.w, transposed(p.w, p.out, p.in), w, p.weights}};
    if (p.has_bias) {
      inputs.push_back({DNNL_ARG_BIAS, 2, p.bias, memory::desc({1, p.out}, compute_type(p.bias), Tag::ab), row_bias});
    }
    return operation<dnnl::matmul>(engine, desc, Form::matmul, inputs, {{DNNL_ARG_DST, output_slot, p.y, l.y, l.y}});
  });
  return preferred_first(p, std::move(candidates));
}

std::vector<KernelPtr> linear_grad_input_candidates(const LinearProblem& p) {
  const dnnl::engine engine(dnnl::engine::kind::cpu, 0);
  const Layouts l(p);
  const dnnl::primitive_attr attributes = user_scratchpad();
  std::vector<Candidate> candidates;
  try_candidate(candidates, [&] {
    const auto desc = forward_desc<dnnl::matmul>(engine, attributes, l.y, l.w, l.x);
    return operation<dnnl::matmul>(engine, desc, Form::matmul,
                                   {{DNNL_ARG_SRC, 0, p.y, l.y, l.y}, {DNNL_ARG_WEIGHTS, 1, p.w, l.w_stored, l.w}},
                                   {{DNNL_ARG_DST, 0, p.x, l.x, l.x}});
  });
  const auto add_inner_product = [&](const memory::desc& w, Form form) {
    try_candidate(candidates, [&] {
      using Primitive = dnnl::inner_product_backward_data;
      const auto hint = forward_desc<dnnl::inner_product_forward>(engine, dnnl::primitive_attr{},
                                                                  dnnl::prop_kind::forward_training, l.x, w, l.y);
      const auto desc = backward_desc<Primitive>(engine, attributes, hint, l.x, w, l.y);
      return operation<Primitive>(
          engine, desc, form,
          {{DNNL_ARG_DIFF_DST, 0, p.y, l.y, l.y}, {DNNL_ARG_WEIGHTS, 1, p.w, l.w_stored, desc.weights_desc()}},
          {{DNNL_ARG_DIFF_SRC, 0, p.x, l.x, l.x}});
    });
  };
  add_inner_product(any_layout(p), Form::inner_product_packed);
  add_inner_product(l.w, Form::inner_product);
  return preferred_first(p, std::move(candidates));
}

std::vector<KernelPtr> linear_grad_weight_candidates(const LinearProblem& p) {
  const dnnl::engine engine(dnnl::engine::kind::cpu, 0);
  const Layouts l(p);
  const dnnl::primitive_attr attributes = user_scratchpad();
  std::vector<Candidate> candidates;
  const auto add_inner_product = [&](const memory::desc& dw, Form form) {
    try_candidate(candidates, [&] {
      using Primitive = dnnl::inner_product_backward_weights;
      const auto hint = forward_desc<dnnl::inner_product_forward>(
          engine, dnnl::primitive_attr{}, dnnl::prop_kind::forward_training, l.x, any_layout(p), l.y);
      const auto desc = backward_desc<Primitive>(engine, attributes, hint, l.x, dw, l.y);
      return operation<Primitive>(engine, desc, form,
                                  {{DNNL_ARG_SRC, 0, p.x, l.x, l.x}, {DNNL_ARG_DIFF_DST, 1, p.y, l.y, l.y}},
                                  {{DNNL_ARG_DIFF_WEIGHTS, 0, p.w, l.w_stored, desc.diff_weights_desc()}});
    });
  };
  add_inner_product(l.w_stored, Form::inner_product);
  add_inner_product(matrix(p.w, p.out, p.in, Tag::any), Form::inner_product_packed);
  try_candidate(candidates, [&] { return weight_gradient_by_matmul(engine, p, {}); });
  return preferred_first(p, std::move(candidates));
}

std::vector<KernelPtr> linear_weight_sum_candidates(const LinearProblem& p) {
  const dnnl::engine engine(dnnl::engine::kind::cpu, 0);
  std::vector<Candidate> candidates;
  try_candidate(candidates, [&] { return weight_gradient_by_matmul(engine, p, {.residual = true}); });
  return preferred_first(p, std::move(candidates));
}

}  // namespace ptrain::cpu
