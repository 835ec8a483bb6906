/* libptrain: inference with a model that ptrain trained and exported (`ptrain export RUN --out FOLDER`).
 *
 * The caller of ptrain_open owns the model. Several threads may use one model; their calls run one after the other. For
 * parallel calls give each thread a clone; clones compute bit-identical results. A call that fails returns a status
 * other than PTRAIN_OK, and ptrain_last_error() describes the error in one line; the library prints nothing and throws
 * no exceptions. Signals are blocked while a call computes. The library handles SIGBUS for files that shrink while it
 * reads them, and passes any other SIGBUS to the previous handler.
 *
 * A process may fork and use models on the CPU in the child, where calls compute on a thread of the library's own;
 * calls of a child that was forked in the middle of another thread's call are refused, and so are models opened on a
 * GPU.
 *
 *     ptrain_model* model;
 *     if (ptrain_open("runs/model", NULL, &model) != PTRAIN_OK) fprintf(stderr, "%s\n", ptrain_last_error());
 */
#ifndef PTRAIN_H
#define PTRAIN_H

#include <stddef.h>
#include <stdint.h>

#if defined(__GNUC__)
#define PTRAIN_API __attribute__((visibility("default")))
#else
#define PTRAIN_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

typedef enum ptrain_status {
  PTRAIN_OK = 0,
  PTRAIN_FAILED = 1,  /* a file, a device, threads, outputs that are not finite */
  PTRAIN_INVALID = 2, /* an argument: null, or a tensor of another name, type, shape or range */
  PTRAIN_OUT_OF_MEMORY = 3
} ptrain_status;

typedef enum ptrain_type { PTRAIN_UINT8 = 0, PTRAIN_INT32 = 1, PTRAIN_INT64 = 2, PTRAIN_FLOAT32 = 3 } ptrain_type;
typedef enum ptrain_kind {
  PTRAIN_IMAGES = 0,
  PTRAIN_TEXTS = 1,
  PTRAIN_TABLES = 2,
  PTRAIN_CLIPS = 3,
  PTRAIN_VIDEOS = 4,
  PTRAIN_TRANSLATIONS = 5
} ptrain_kind;
typedef enum ptrain_output { PTRAIN_LOGITS = 0, PTRAIN_PROBABILITIES = 1 } ptrain_output;

typedef struct ptrain_model ptrain_model;

/* Zero or NULL selects the default. Zero the struct before setting members. */
typedef struct ptrain_options {
  const char* device;    /* "auto" (the default), "cpu", "cuda" or "cuda:1" */
  const char* precision; /* "O0": fp32 (the default); "O1" and "O2": the device's low precision */
  int64_t max_batch;     /* largest N of one call; default 32 */
  int32_t search;        /* 1: time each layer's kernels before first use, which takes seconds to minutes, and keep the
                            fastest in the user's cache, where clones find them */
  int32_t threads;       /* CPU threads per call; default: all that the machine grants the process */
} ptrain_options;

/* Inputs and outputs of a model.
 *
 * Images are one tensor, "images" [N, height, width, 3] in RGB order: PTRAIN_UINT8 or, scaled to [0, 1],
 * PTRAIN_FLOAT32, which is rounded to 8 bits. The model normalizes them itself (mean and standard deviation).
 *
 * Texts are up to three tensors, PTRAIN_INT32 or PTRAIN_INT64: "input_ids" [N, S], 1 <= S <= max_length, ids below
 * `vocabulary`; "attention_mask" [N, S], ones for tokens and zeros for the padding after them (optional; default:
 * all ones); "token_type_ids" [N, S], 0 or 1 (optional; default: 0).
 *
 * Clips are "images" [N, frames, height, width, 3]. Rows of tables are "dense_features" [N, D], PTRAIN_FLOAT32, and
 * "categorical_features" [N, K], PTRAIN_INT32 or PTRAIN_INT64: category indices, or keys of a dynamic table; of
 * multi-hot features [N, K, B], with -1 after the last index of each. Their names in version 0.1.0, "numbers" and
 * "categories", are accepted too. Videos are "rgb_features" [N, F, 1024], "audio_features" [N, F, 128] and
 * "frame_mask" [N, F], 1 for frames and 0 for the padding after them, PTRAIN_FLOAT32. ptrain_input gives the shapes of
 * any model.
 *
 * A model of PTRAIN_TRANSLATIONS has neither input nor output tensors: ptrain_translate is its only call.
 *
 * The output is PTRAIN_FLOAT32 [N, classes]: logits, or the values of a regression, which has one class. ptrain_answer
 * describes the outputs of other models. N is 1 to max_batch. */
typedef struct ptrain_description {
  ptrain_kind kind;
  int64_t classes, max_batch;
  int64_t image_size;             /* height and width of square images and clips, else 0 */
  int64_t max_length, vocabulary; /* for texts and translations, else 0 */
} ptrain_description;

/* One input or output tensor of a model. */
typedef struct ptrain_input_description {
  const char* name;
  ptrain_type type;     /* preferred type */
  int32_t rank;         /* entries of shape */
  const int64_t* shape; /* -1: N, or an axis of a text that may be shorter than max_length */
  int64_t limit;        /* integers must be at least 0 and below it; 0: no limit, floats */
} ptrain_input_description;
typedef ptrain_input_description ptrain_answer_description;

typedef struct ptrain_tensor {
  const char* name;
  ptrain_type type;
  int32_t rank; /* entries of shape */
  const int64_t* shape;
  const void* data; /* dense, row-major */
} ptrain_tensor;

/* The library's version: "0.1.0". */
PTRAIN_API const char* ptrain_version(void);

/* Message of the calling thread's last failed call, one line of at most 1100 bytes; "" if none has failed. */
PTRAIN_API const char* ptrain_last_error(void);

/* `options` may be NULL. Every file of the folder is checked against its size and checksum in
 * model.json. */
PTRAIN_API ptrain_status ptrain_open(const char* folder, const ptrain_options* options, ptrain_model** model);

/* Opens the same folder with the same options, for another thread; shares nothing with `model`, which may be closed
 * first. PTRAIN_FAILED if the folder holds another model by now. */
PTRAIN_API ptrain_status ptrain_clone(const ptrain_model* model, ptrain_model** clone);

/* Does nothing for NULL. No other call with this model may be running. */
PTRAIN_API void ptrain_close(ptrain_model* model);

/* Describes the model; pointers are valid as long as the model. */
PTRAIN_API ptrain_status ptrain_describe(const ptrain_model* model, ptrain_description* description);

/* Number of input tensors, and a description of each by index from 0; PTRAIN_INVALID if out of range. */
PTRAIN_API size_t ptrain_input_count(const ptrain_model* model);
PTRAIN_API ptrain_status ptrain_input(const ptrain_model* model, size_t index, ptrain_input_description* description);

/* Number of output tensors, and a description of each by index from 0; the first holds logits or the equivalent. */
PTRAIN_API size_t ptrain_answer_count(const ptrain_model* model);
PTRAIN_API ptrain_status ptrain_answer(const ptrain_model* model, size_t index, ptrain_answer_description* description);

/* NULL if `index` is no class; valid as long as the model. */
PTRAIN_API const char* ptrain_class_name(const ptrain_model* model, int64_t index);

/* Decodes the bytes of a JPEG, PNG, WebP or BMP file to one input image, resized and cropped as in evaluations.
 * `pixels` has height * width * 3 bytes, with the height and width of ptrain_input. */
PTRAIN_API ptrain_status ptrain_encode_image(const ptrain_model* model, const void* file, size_t bytes,
                                             uint8_t* pixels);

/* Tokenizes UTF-8 text to one row of the input with the model's vocabulary; a tab separates a pair of sentences. The
 * three arrays have max_length entries each; attention_mask and token_type_ids may be NULL. */
PTRAIN_API ptrain_status ptrain_encode_text(const ptrain_model* model, const char* text, int32_t* input_ids,
                                            int32_t* attention_mask, int32_t* token_type_ids);

/* Computes logits or probabilities for N inputs. `values` has room for `room` floats, at least N * classes. */
PTRAIN_API ptrain_status ptrain_run(ptrain_model* model, const ptrain_tensor* inputs, size_t count,
                                    ptrain_output output, float* values, size_t room);

/* The same for any output tensor, by name and in its own type. `data` has room for `bytes` bytes. */
PTRAIN_API ptrain_status ptrain_run_answer(ptrain_model* model, const ptrain_tensor* inputs, size_t count,
                                           const char* answer, void* data, size_t bytes);

/* Translates `count` texts of UTF-8 as `ptrain infer` does by default, max_batch at a time. `translations` has room for
 * `room` bytes and receives the translations one after the other, each with a zero byte at its end. *bytes, unless
 * NULL, is set to the room they need; PTRAIN_INVALID if there is less. Blank texts stay blank. */
PTRAIN_API ptrain_status ptrain_translate(ptrain_model* model, const char* const* texts, size_t count,
                                          char* translations, size_t room, size_t* bytes);

#ifdef __cplusplus
}
#endif

#endif
