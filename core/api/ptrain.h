/* libptrain: asks a model that ptrain trained and exported (`ptrain export RUN --out FOLDER`).
 *
 * A ptrain_model belongs to whoever opened it. Several threads may call with one model: it answers one after the other.
 * Threads that are to work at the same time take a clone each; clones give the same bits. A call that fails returns
 * another status than PTRAIN_OK, and ptrain_last_error() says in one line what was wrong; nothing is printed, and no
 * exception leaves the library. Signals wait while a call computes; the library answers SIGBUS alone, for files that
 * shrink while it reads them, and hands any other on to whoever answered it before.
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
  PTRAIN_FAILED = 1,  /* a file, a device, threads, a model whose answers are not finite */
  PTRAIN_INVALID = 2, /* an argument: null, or a tensor of another name, type, shape or range */
  PTRAIN_OUT_OF_MEMORY = 3
} ptrain_status;

typedef enum ptrain_type { PTRAIN_UINT8 = 0, PTRAIN_INT32 = 1, PTRAIN_INT64 = 2, PTRAIN_FLOAT32 = 3 } ptrain_type;
typedef enum ptrain_kind { PTRAIN_IMAGES = 0, PTRAIN_TEXTS = 1, PTRAIN_TABLES = 2, PTRAIN_CLIPS = 3 } ptrain_kind;
typedef enum ptrain_output { PTRAIN_LOGITS = 0, PTRAIN_PROBABILITIES = 1 } ptrain_output;

typedef struct ptrain_model ptrain_model;

/* Zero or NULL stands for the default. Zero the whole before setting members. */
typedef struct ptrain_options {
  const char* device;    /* "auto" (the default), "cpu", "cuda" or "cuda:1" */
  const char* precision; /* "O0": fp32 (the default); "O1" and "O2": the device's low precision */
  int64_t max_batch;     /* the most inputs of one call; 32 */
  int32_t search;        /* 1: each layer's kernels are timed before first use, which takes seconds to minutes, and what
                            is the fastest is kept in the user's cache, where clones find it */
  int32_t threads;       /* that one call computes with on the CPU; as many as the machine grants the process */
} ptrain_options;

/* What a model reads and answers.
 *
 * Images are one tensor, "images" [N, height, width, 3], red first: PTRAIN_UINT8 or, scaled to [0, 1],
 * PTRAIN_FLOAT32, which is rounded to 8 bits. The model subtracts the mean and divides by the deviation itself.
 *
 * Texts are up to three tensors, PTRAIN_INT32 or PTRAIN_INT64: "input_ids" [N, S], 1 <= S <= max_length, ids below
 * `vocabulary`; "attention_mask" [N, S], ones for tokens and zeros for the padding behind them (left out: all are
 * tokens); "token_type_ids" [N, S], 0 or 1 (left out: 0).
 *
 * Clips are "images" [N, frames, height, width, 3]. Rows of tables are "numbers" [N, D], PTRAIN_FLOAT32, and
 * "categories" [N, K], PTRAIN_INT32 or PTRAIN_INT64: each word's number. ptrain_input tells the shapes of any model.
 *
 * Answers are PTRAIN_FLOAT32 [N, classes]: logits, or the values of a regression, which has one class. ptrain_answer
 * tells what other models answer. N is 1 to max_batch. */
typedef struct ptrain_description {
  ptrain_kind kind;
  int64_t classes, max_batch;
  int64_t image_size;             /* height and width of images and clips that are square, else 0 */
  int64_t max_length, vocabulary; /* of texts, else 0 */
} ptrain_description;

/* One tensor that a model reads or answers with. */
typedef struct ptrain_input_description {
  const char* name;
  ptrain_type type;     /* the one to prefer */
  int32_t rank;         /* entries of shape */
  const int64_t* shape; /* -1: N, or an axis of a text that may be shorter than max_length */
  int64_t limit;        /* integers are from 0 to below it; 0: numbers */
} ptrain_input_description;
typedef ptrain_input_description ptrain_answer_description;

typedef struct ptrain_tensor {
  const char* name;
  ptrain_type type;
  int32_t rank; /* entries of shape */
  const int64_t* shape;
  const void* data; /* dense, the last axis fastest */
} ptrain_tensor;

/* "0.1.0". */
PTRAIN_API const char* ptrain_version(void);

/* Of the calling thread's last call that failed, until its next one fails; "" before. */
PTRAIN_API const char* ptrain_last_error(void);

/* `options` may be NULL. Every file of the folder is held to the size and checksum that model.json has. */
PTRAIN_API ptrain_status ptrain_open(const char* folder, const ptrain_options* options, ptrain_model** model);

/* Another of the same folder and options, for another thread; shares nothing with `model`, which may be closed first.
 */
PTRAIN_API ptrain_status ptrain_clone(const ptrain_model* model, ptrain_model** clone);

/* NULL is closed already. No other call with this model may be going on. */
PTRAIN_API void ptrain_close(ptrain_model* model);

/* What the model takes and answers; pointers in it live as long as the model. */
PTRAIN_API ptrain_status ptrain_describe(const ptrain_model* model, ptrain_description* description);

/* How many tensors it reads, and each by its place from 0; PTRAIN_INVALID where there is none. */
PTRAIN_API size_t ptrain_input_count(const ptrain_model* model);
PTRAIN_API ptrain_status ptrain_input(const ptrain_model* model, size_t index, ptrain_input_description* description);

/* How many tensors it answers with, the logits or what stands for them first, and each by its place from 0. */
PTRAIN_API size_t ptrain_answer_count(const ptrain_model* model);
PTRAIN_API ptrain_status ptrain_answer(const ptrain_model* model, size_t index, ptrain_answer_description* description);

/* NULL where `index` is no class; lives as long as the model. */
PTRAIN_API const char* ptrain_class_name(const ptrain_model* model, int64_t index);

/* A JPEG or PNG file's bytes as one image of the input, decoded, resized and cropped as evaluations do it. `pixels`:
 * height * width * 3, as ptrain_input tells them. */
PTRAIN_API ptrain_status ptrain_encode_image(const ptrain_model* model, const void* file, size_t bytes,
                                             uint8_t* pixels);

/* UTF-8 text as one row of the input, by the model's own vocabulary; a tab parts two sentences. Each of the three has
 * max_length entries; attention_mask and token_type_ids may be NULL. */
PTRAIN_API ptrain_status ptrain_encode_text(const ptrain_model* model, const char* text, int32_t* input_ids,
                                            int32_t* attention_mask, int32_t* token_type_ids);

/* Answers N inputs. `values` has room for `room` floats, N * classes or more. */
PTRAIN_API ptrain_status ptrain_run(ptrain_model* model, const ptrain_tensor* inputs, size_t count,
                                    ptrain_output output, float* values, size_t room);

/* The same of any tensor that it answers with, by name and of its own type. `data` has room for `bytes`. */
PTRAIN_API ptrain_status ptrain_run_answer(ptrain_model* model, const ptrain_tensor* inputs, size_t count,
                                           const char* answer, void* data, size_t bytes);

#ifdef __cplusplus
}
#endif

#endif
