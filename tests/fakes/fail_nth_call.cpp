// A library to preload (LD_PRELOAD): the n-th call of one function fails as a machine in trouble lets it fail.
//   FAULT_CALL  the function; FAULT_NUMBER  which call of it, from 1 on (0: none); FAULT_ERRNO  what errno then is
//   FAULT_COUNT a file that gets the number of calls when the process ends
// Only calls that matter to the user's data are counted: opens for reading count as "open", those that write as
// "create".
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string_view>

namespace {

std::atomic<long> calls{0};

long get_number(const char* variable) {
  const char* text = std::getenv(variable);
  return text == nullptr ? 0 : std::atol(text);
}

/// Whether this call of `name` is the one that fails; counts it.
bool fails(std::string_view name) {
  static const char* const wanted = std::getenv("FAULT_CALL");
  if (wanted == nullptr || name != wanted) return false;
  static const long number = get_number("FAULT_NUMBER"), error = get_number("FAULT_ERRNO");
  if (++calls != number) return false;
  errno = static_cast<int>(error);
  return true;
}

template <typename Function>
Function* next(const char* name) {
  return reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name));
}

/// Files of the system (libraries, /proc, /sys) are not the user's.
bool is_users(const char* path) {
  for (const char* root : {"/proc", "/sys", "/dev", "/usr", "/lib", "/etc"}) {
    if (std::strncmp(path, root, std::strlen(root)) == 0) return false;
  }
  return true;
}

struct CountAtExit {
  ~CountAtExit() {
    const char* file = std::getenv("FAULT_COUNT");
    if (file == nullptr) return;
    FILE* out = std::fopen(file, "w");
    if (out == nullptr) return;
    std::fprintf(out, "%ld", calls.load());
    std::fclose(out);
  }
} count_at_exit;

int opened(const char* symbol, const char* path, int flags, mode_t mode) {
  const bool writes = (flags & O_ACCMODE) != O_RDONLY;
  if (is_users(path) && fails(writes ? "create" : "open")) return -1;
  return next<int(const char*, int, ...)>(symbol)(path, flags, mode);
}

}  // namespace

extern "C" {

int open(const char* path, int flags, ...) {
  va_list rest;
  va_start(rest, flags);
  const mode_t mode = (flags & (O_CREAT | __O_TMPFILE)) != 0 ? va_arg(rest, mode_t) : 0;
  va_end(rest);
  return opened("open", path, flags, mode);
}

int open64(const char* path, int flags, ...) {
  va_list rest;
  va_start(rest, flags);
  const mode_t mode = (flags & (O_CREAT | __O_TMPFILE)) != 0 ? va_arg(rest, mode_t) : 0;
  va_end(rest);
  return opened("open64", path, flags, mode);
}

ssize_t write(int descriptor, const void* bytes, size_t count) {
  if (fails("write")) return -1;
  return next<ssize_t(int, const void*, size_t)>("write")(descriptor, bytes, count);
}

ssize_t read(int descriptor, void* bytes, size_t count) {
  if (fails("read")) return -1;
  return next<ssize_t(int, void*, size_t)>("read")(descriptor, bytes, count);
}

int fsync(int descriptor) { return fails("fsync") ? -1 : next<int(int)>("fsync")(descriptor); }
int close(int descriptor) {
  const int result = next<int(int)>("close")(descriptor);
  return fails("close") ? -1 : result;
}

int rename(const char* from, const char* to) {
  return fails("rename") ? -1 : next<int(const char*, const char*)>("rename")(from, to);
}

int mkdir(const char* path, mode_t mode) {
  return fails("mkdir") ? -1 : next<int(const char*, mode_t)>("mkdir")(path, mode);
}

void* mmap(void* address, size_t size, int protection, int flags, int descriptor, off_t offset) {
  if (fails("mmap")) return MAP_FAILED;
  return next<void*(void*, size_t, int, int, int, off_t)>("mmap")(address, size, protection, flags, descriptor, offset);
}

int pthread_create(pthread_t* thread, const pthread_attr_t* attributes, void* (*body)(void*), void* argument) {
  if (fails("pthread_create")) return errno;
  return next<int(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*)>("pthread_create")(thread, attributes,
                                                                                                 body, argument);
}

pid_t fork() { return fails("fork") ? -1 : next<pid_t()>("fork")(); }

}  // extern "C"
