// Names of the tensors of data sets, of models' inputs and outputs, and of deployed models. N: samples.
#pragma once

#include <string_view>

namespace ptrain::tensor_names {

// Inputs of samples.
inline constexpr const char* images = "images";                    // u8 [N,H,W,3]; clips [N,frames,H,W,3]
inline constexpr const char* ids = "input_ids";                    // i32 [N,S]; a plan for packed text reads [T]
inline constexpr const char* token_types = "token_type_ids";       // i32 [N,S], or packed [T]
inline constexpr const char* lengths = "lengths";                  // i32 [N], tokens of each sequence
inline constexpr const char* decoder_ids = "decoder_input_ids";    // i32 [N,S], or packed [T]: a translation so far
inline constexpr const char* decoder_lengths = "decoder_lengths";  // i32 [N], tokens of each
inline constexpr const char* dense_features = "dense_features";    // f32 [N,D], of a table's rows
inline constexpr const char* categorical_features = "categorical_features";  // i32 [N,K], of a table's rows; bags
                                                                             // [N,K,bag size]; -1: none. i64 where the
                                                                             // table is dynamic: keys
inline constexpr const char* placements = "placements";          // f32 [N,5], of padded images (data/image/framing.h)
inline constexpr const char* rgb_features = "rgb_features";      // f32 [N,F,1024], of a video's frames
inline constexpr const char* audio_features = "audio_features";  // f32 [N,F,128], likewise
inline constexpr const char* frame_mask = "frame_mask";          // f32 [N,F], 1 for frames, 0 for padding

// Targets.
inline constexpr const char* labels = "labels";  // i32 [N]; -1 marks rows without a sample
inline constexpr const char* multi_hot_labels =
    "multi_hot_labels";  // i32 [N,classes], 1 for a sample's classes; -1 marks rows without a sample
inline constexpr const char* values = "values";              // f32 [N]; NaN marks rows without a sample
inline constexpr const char* masks = "masks";                // i32 [N,H,W], a class per pixel; -1: none
inline constexpr const char* annotations = "annotations";    // i64 [N,M,9], objects (data/boxes/annotated_images.h)
inline constexpr const char* object_masks = "object_masks";  // i32 [N,T], runs of their masks, likewise
inline constexpr const char* next_tokens =
    "next_tokens";                                       // i32 [N,S], or packed [T]; -1 marks tokens without a next one
inline constexpr const char* characters = "characters";  // i32 [N,L], classes of a text's characters; -1 after them
inline constexpr const char* learnt_tokens = "learnt_tokens";  // i32 [N,S], of chats: 1 for tokens of answers
inline constexpr const char* sampled_items =
    "sampled_items";  // i32 [N,K], other items that a session's are compared to
inline constexpr const char* next_shares = "next_item_shares";  // f32 [N,S], logarithms of how often each occurs
inline constexpr const char* sampled_shares =
    "sampled_item_shares";                                   // f32 [N,K], likewise, to the power they are drawn by
inline constexpr const char* mixup_labels = "mixup_labels";  // i32 [N], of the second sample in mixed rows
inline constexpr const char* mixup_lambda = "mixup_lambda";  // f32 [1], weight of the loss by `labels` then

// Accepted from other programs in place of lengths.
inline constexpr const char* attention_mask = "attention_mask";  // [N,S], ones for tokens, zeros for the padding

// Other inputs of a plan.
inline constexpr const char* decoder_offsets = "decoder_sequence_offsets";  // i32 [N+1], as sequence_offsets
inline constexpr const char* offsets = "sequence_offsets";  // i32 [N+1], packed: first token of each sequence, and
                                                            // the end of the last
inline constexpr const char* last_tokens = "last_tokens";   // i32 [N+1], packed: last token of each sequence, and 0
                                                            // at the end
inline constexpr const char* cache_slots = "cache_slots";   // i32 [N], with a cache: where each text's keys are kept
inline constexpr const char* past = "past_lengths";         // i32 [N], likewise: tokens that were read before
inline constexpr const char* cache_sources =
    "cache_sources";                                         // i32 [N], likewise: the slot whose past a text continues
inline constexpr const char* memory_slots = "memory_slots";  // i32 [N], of a decoder: where its source's keys are kept
inline constexpr const char* last_positions = "memory_last_positions";  // i32 [N], of the last of these keys
inline constexpr const char* anchor_matches = "anchor_matches";  // i32 [N,A], the object of each anchor, or BoxMatch
inline constexpr const char* object_boxes = "object_boxes";      // f32 [N,M,6], as detections, of those that are learnt
inline constexpr const char* mask_ranges =
    "mask_ranges";  // i32 [N,M,2], their first runs in object_masks, and how many
inline constexpr const char* object_labels = "object_labels";  // i32 [N,M], classes of objects; 0: background
inline constexpr const char* class_weights = "class_weights";  // f32 [classes], for the loss
inline constexpr const char* rng = "rng";                      // i64 [3] = {seed, step, part}, with dropout

// Outputs.
inline constexpr const char* loss = "loss";      // f32 []
inline constexpr const char* logits = "logits";  // [N,classes]; values [N,1]; one logit of two classes [N,1]; language
                                                 // models [N,S,ids], deployed [N,ids] of the token after each text
inline constexpr const char* candidates = "candidates";  // i32 [C], in training: the items of which logits [N,S,C] are
inline constexpr const char* target_ranks =
    "target_ranks";  // f32 [N,S], in evaluation: how many items score as high as the next one, itself included
inline constexpr const char* auxiliary = "auxiliary";            // as logits, from intermediate features, in training
inline constexpr const char* class_logits = "class_logits";      // [N,A,classes] of anchors A
inline constexpr const char* box_deltas = "box_deltas";          // [N,A,4], boxes relative to anchors
inline constexpr const char* box_bins = "box_bins";              // [N,A,4 K], logits of the sides' distances 0 to K-1
inline constexpr const char* anchor_sample = "anchor_sample";    // i32 [N,S], anchors of the loss; -1: none
inline constexpr const char* region_boxes = "region_boxes";      // f32 [N,R,6], regions of the losses, as detections
inline constexpr const char* region_matches = "region_matches";  // i32 [N,R], the object of each, or BoxMatch
inline constexpr const char* region_logits = "region_logits";    // [N,R,1+classes], of background first
inline constexpr const char* region_deltas = "region_deltas";    // [N,R,4(1+classes)], each class's box from the region
inline constexpr const char* mask_logits = "mask_logits";        // [N,P,28,28], of the first P regions' own classes
inline constexpr const char* mask_targets = "mask_targets";      // f32 [N,P,28,28], their shares of the objects' masks
inline constexpr const char* mask_probabilities = "mask_probabilities";  // [N,D,28,28], of each detection in its box
inline constexpr const char* detections = "detections";  // f32 [N,D,6]: x0, y0, x1, y1, score, class; class -1: none
inline constexpr const char* probabilities = "probabilities";  // f32 [N,classes], added for deployed models

/// The name by which a tensor is known; version 0.1.0 called a table's features "numbers" and "categories", which its
/// clients and 8-bit models still do.
constexpr std::string_view current_name(std::string_view name) {
  return name == "numbers" ? dense_features : name == "categories" ? categorical_features : name;
}

}  // namespace ptrain::tensor_names
