// Names of the tensors that data sets give, models read and answer with, and other programs hand over. N: samples.
#pragma once

namespace ptrain::tensor_names {

// What samples are made of.
inline constexpr const char* images = "images";               // u8 [N,H,W,3]; clips [N,frames,H,W,3]
inline constexpr const char* ids = "input_ids";               // i32 [N,S]; a plan for packed text reads [T]
inline constexpr const char* token_types = "token_type_ids";  // i32 [N,S], or packed [T]
inline constexpr const char* lengths = "lengths";             // i32 [N], tokens of each sequence
inline constexpr const char* numbers = "numbers";             // f32 [N,D], of a table's rows
inline constexpr const char* categories = "categories";       // i32 [N,K], of a table's rows

// What is to be learnt of them.
inline constexpr const char* labels = "labels";              // i32 [N]; -1 marks rows without a sample
inline constexpr const char* values = "values";              // f32 [N]; NaN marks rows without a sample
inline constexpr const char* masks = "masks";                // i32 [N,H,W], a class of each pixel; -1: none
inline constexpr const char* next_tokens = "next_tokens";    // i32 [N*S]; -1 marks tokens that none follows
inline constexpr const char* mixup_labels = "mixup_labels";  // i32 [N], of rows that have two
inline constexpr const char* mixup_lambda = "mixup_lambda";  // f32 [1], of the loss that is by `labels` then

// What programs hand over in place of lengths.
inline constexpr const char* attention_mask = "attention_mask";  // [N,S], ones for tokens, zeros for the padding

// What a plan is fed beside its batch.
inline constexpr const char* offsets = "sequence_offsets";     // i32 [N+1], packed: first tokens and the last one's end
inline constexpr const char* last_tokens = "last_tokens";      // i32 [N+1], packed: each one's last, and 0 at the end
inline constexpr const char* class_weights = "class_weights";  // f32 [classes], in the loss
inline constexpr const char* rng = "rng";                      // i64 [3] = {seed, step, part}, with dropout

// What comes out.
inline constexpr const char* loss = "loss";      // f32 []
inline constexpr const char* logits = "logits";  // [N,classes], values [N,1], one of two classes [N,1], or [N,S,ids],
                                                 // deployed [N,ids] of the token behind each text
inline constexpr const char* auxiliary = "auxiliary";          // as logits, of features on the way, in training
inline constexpr const char* probabilities = "probabilities";  // f32 [N,classes], made of them for programs that ask

}  // namespace ptrain::tensor_names
