// Enumerations used only by the configuration, with their names in YAML, reports and messages; those that other code
// uses too are in core/base/enums.h.
#pragma once

#include "core/base/enums.h"

namespace ptrain {

/// The last ones are language models' numbers of parameters.
enum class ModelSize { tiny, mini, small, medium, base, large, m135, m360, b0_5, b0_6, b1, b1_5, b1_7, b3, b8 };
template <>
struct EnumNames<ModelSize> {
  static constexpr std::array<std::string_view, 15> names{"tiny",  "mini", "small", "medium", "base",
                                                          "large", "135m", "360m",  "0.5b",   "0.6b",
                                                          "1b",    "1.5b", "1.7b",  "3b",     "8b"};
};

enum class GeluForm { automatic, erf, tanh };
template <>
struct EnumNames<GeluForm> {
  static constexpr std::array<std::string_view, 3> names{"auto", "erf", "tanh"};
};

enum class AmpDType { automatic, bf16, fp16 };
template <>
struct EnumNames<AmpDType> {
  static constexpr std::array<std::string_view, 3> names{"auto", "bf16", "fp16"};
};

enum class Tristate { automatic, yes, no };
template <>
struct EnumNames<Tristate> {
  static constexpr std::array<std::string_view, 3> names{"auto", "true", "false"};
};

/// JPEG decoder.
enum class Decoder { automatic, cpu, gpu };
template <>
struct EnumNames<Decoder> {
  static constexpr std::array<std::string_view, 3> names{"auto", "cpu", "gpu"};
};

/// Form of a sample, used to match models with data sources: a DataKind, with clips distinct from single images.
enum class SampleForm { image, clip, text, table, tokens, parallel, video };
template <>
struct EnumNames<SampleForm> {
  static constexpr std::array<std::string_view, 7> names{"image",  "clip",     "text", "table",
                                                         "tokens", "parallel", "video"};
};

/// How a chat becomes one text (data/text/chat_template.h).
enum class ChatTemplate { chatml, smollm2, qwen2, llama3 };
template <>
struct EnumNames<ChatTemplate> {
  static constexpr std::array<std::string_view, 4> names{"chatml", "smollm2", "qwen2", "llama3"};
};

/// What is learnt of a session's next item: that it is more probable than the others, or ranks before those that were
/// drawn (Rendle et al. 2009; Hidasi and Karatzoglou 2018), or that its score is higher by a margin (Song et al. 2016).
enum class ItemLoss { cross_entropy, bpr, bpr_max, hinge };
template <>
struct EnumNames<ItemLoss> {
  static constexpr std::array<std::string_view, 4> names{"cross_entropy", "bpr", "bpr_max", "hinge"};
};

/// Programs that draw a training while it runs (report/event_file.h).
enum class EventFormat { tensorboard, visualdl };
template <>
struct EnumNames<EventFormat> {
  static constexpr std::array<std::string_view, 2> names{"tensorboard", "visualdl"};
};

/// How the frozen weights beside adapters are kept: in full precision (or AMP's), as a GGUF file has them, or rounded
/// to blocks of that format (base/block_format.h).
enum class LoraBase { full, stored, q8_0, q4_0, q4_1 };
template <>
struct EnumNames<LoraBase> {
  static constexpr std::array<std::string_view, 5> names{"full", "stored", "q8_0", "q4_0", "q4_1"};
};

enum class DistMode { automatic, parallel_graph, multi_process };
template <>
struct EnumNames<DistMode> {
  static constexpr std::array<std::string_view, 3> names{"auto", "parallel_graph", "multi_process"};
};

/// What data-parallel ranks divide among themselves instead of keeping a copy each (Rajbhandari et al., "ZeRO", 2020).
/// optimizer: the optimizer's moments and, of low-precision parameters, the fp32 masters (ZeRO stage 1). gradients: the
/// sums of gradients over micro-batches too (ZeRO stage 2).
enum class Sharding { none, optimizer, gradients };
template <>
struct EnumNames<Sharding> {
  static constexpr std::array<std::string_view, 3> names{"none", "optimizer", "gradients"};
};

/// Where the rows of a table with sparse gradients are: on every rank, or each on one of them.
enum class TablePlacement { replicated, rows };
template <>
struct EnumNames<TablePlacement> {
  static constexpr std::array<std::string_view, 2> names{"replicated", "rows"};
};

/// When the ranks' gradients are applied: at the end of their step, or of the next one, so that they are exchanged in
/// the meantime.
enum class UpdateTiming { synchronous, delayed };
template <>
struct EnumNames<UpdateTiming> {
  static constexpr std::array<std::string_view, 2> names{"synchronous", "delayed"};
};

/// What becomes of the rows of a bag of keys.
enum class BagMode { sum, mean };
template <>
struct EnumNames<BagMode> {
  static constexpr std::array<std::string_view, 2> names{"sum", "mean"};
};

}  // namespace ptrain
