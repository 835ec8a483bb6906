/* Asks an exported model about image files or sentences, by ptrain's C interface (ptrain.h).
 *   ptrain export runs/resnet50 --out model
 *   cmake --install build/release --prefix /opt/ptrain
 *   export PKG_CONFIG_PATH=/opt/ptrain/lib/pkgconfig
 *   cc classify.c -o classify $(pkg-config --cflags --libs ptrain) -Wl,-rpath,/opt/ptrain/lib
 *   ./classify model photo.jpg...        or, of a model of texts: ./classify model "a gripping film"...
 */
#include <ptrain.h>
#include <stdio.h>
#include <stdlib.h>

static void require(ptrain_status status) {
  if (status == PTRAIN_OK) return;
  fprintf(stderr, "error: %s\n", ptrain_last_error());
  exit(1);
}

static void* memory(size_t bytes) {
  void* block = malloc(bytes);
  if (block == NULL) exit(1);
  return block;
}

/* One image file, answered by its pixels. */
static void ask_image(ptrain_model* model, const ptrain_description* about, const char* path, float* answer) {
  int64_t shape[] = {1, 0, 0, 3}; /* height and width as the model reads them */
  ptrain_input_description input;
  uint8_t* pixels;
  ptrain_tensor images = {"images", PTRAIN_UINT8, 4, shape, NULL};
  FILE* file = fopen(path, "rb");
  long bytes;
  void* content;
  if (file == NULL || fseek(file, 0, SEEK_END) != 0 || (bytes = ftell(file)) < 0) {
    perror(path);
    exit(1);
  }
  require(ptrain_input(model, 0, &input));
  shape[1] = input.shape[1];
  shape[2] = input.shape[2];
  images.data = pixels = memory((size_t)(shape[1] * shape[2] * 3));
  rewind(file);
  content = memory((size_t)bytes + 1);
  bytes = (long)fread(content, 1, (size_t)bytes, file);
  fclose(file);
  require(ptrain_encode_image(model, content, (size_t)bytes, pixels));
  require(ptrain_run(model, &images, 1, PTRAIN_PROBABILITIES, answer, (size_t)about->classes));
  free(content);
  free(pixels);
}

/* One sentence, answered by its tokens. */
static void ask_text(ptrain_model* model, const ptrain_description* about, const char* text, float* answer) {
  const int64_t shape[] = {1, about->max_length};
  const size_t bytes = (size_t)about->max_length * sizeof(int32_t);
  int32_t *ids = memory(bytes), *mask = memory(bytes), *types = memory(bytes);
  const ptrain_tensor inputs[] = {{"input_ids", PTRAIN_INT32, 2, shape, ids},
                                  {"attention_mask", PTRAIN_INT32, 2, shape, mask},
                                  {"token_type_ids", PTRAIN_INT32, 2, shape, types}};
  require(ptrain_encode_text(model, text, ids, mask, types));
  require(ptrain_run(model, inputs, 3, PTRAIN_PROBABILITIES, answer, (size_t)about->classes));
  free(ids);
  free(mask);
  free(types);
}

int main(int argc, char** argv) {
  ptrain_model* model;
  ptrain_description about;
  float* answer;
  if (argc < 3) {
    fprintf(stderr, "usage: %s MODEL INPUT...\n", argv[0]);
    return 2;
  }
  require(ptrain_open(argv[1], NULL, &model));
  require(ptrain_describe(model, &about));
  answer = memory((size_t)about.classes * sizeof(float));
  for (int i = 2; i < argc; ++i) {
    int64_t best = 0;
    (about.kind == PTRAIN_IMAGES ? ask_image : ask_text)(model, &about, argv[i], answer);
    for (int64_t k = 1; k < about.classes; ++k) {
      if (answer[k] > answer[best]) best = k;
    }
    printf("%s: %s %.9g\n", argv[i], ptrain_class_name(model, best), answer[best]);
  }
  free(answer);
  ptrain_close(model);
  return 0;
}
