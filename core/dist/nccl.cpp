// All-reduces run on a stream of their own: each starts when the compute stream has made its data, and the compute
// stream waits for all of them where the graph says so. Only events pass between the streams, so a step can be
// captured.
#include "core/dist/nccl.h"

#include "core/dist/rank_failure.h"

#include <cuda_runtime_api.h>
#include <nccl.h>

#include <array>
#include <atomic>
#include <cmath>
#include <cstring>
#include <optional>
#include <thread>

namespace ptrain {
namespace {

void check(ncclResult_t result, const char* call) {
  if (result != ncclSuccess) fail("{}: {}", call, ncclGetErrorString(result));
}
void check(cudaError_t result, const char* call) {
  if (result != cudaSuccess) fail("{}: {}", call, cudaGetErrorString(result));
}

ncclDataType_t nccl_type(DType dtype) {
  return dtype == DType::bf16 ? ncclBfloat16 : dtype == DType::f16 ? ncclFloat16 : ncclFloat32;
}

class NcclCollectives final : public Collectives {
 public:
  NcclCollectives(Backend& backend, Communicator& host)
      : host_(host), compute_(static_cast<cudaStream_t>(backend.native_stream())) {
    ncclUniqueId id{};
    if (host.rank() == 0) check(ncclGetUniqueId(&id), "ncclGetUniqueId");
    host.broadcast(std::as_writable_bytes(std::span(&id, 1)), 0);
    check(ncclCommInitRank(&communicator_, host.world_size(), id, host.rank()), "ncclCommInitRank");
    check(cudaStreamCreateWithFlags(&exchange_, cudaStreamNonBlocking), "cudaStreamCreateWithFlags");
    for (cudaEvent_t* event : {&ready_, &done_}) {
      check(cudaEventCreateWithFlags(event, cudaEventDisableTiming), "cudaEventCreateWithFlags");
    }
    // A rank is gone: kernels that wait for it would spin for ever. NCCL ends them at once but returns only when no
    // recorded step refers to the communicator any more, and those go with the training thread, which hears of the
    // failure when this call has returned.
    on_failure_.emplace(host, [this](const RankFailure*) {
      aborted_ = true;
      abort_ = std::thread([this] { ncclCommAbort(communicator_); });
    });
  }

  /// After the plans that were recorded with it.
  ~NcclCollectives() override {
    on_failure_.reset();
    if (abort_.joinable()) {
      abort_.join();
    } else {
      ncclCommDestroy(communicator_);
    }
    cudaEventDestroy(ready_);
    cudaEventDestroy(done_);
    cudaStreamDestroy(exchange_);
  }

  int rank() const override { return host_.rank(); }
  int world_size() const override { return host_.world_size(); }

  void start_all_reduce(void* data, std::int64_t count, DType dtype, float factor) override {
    const bool mean = std::abs(factor * static_cast<float>(world_size()) - 1.0f) < 1e-6f;
    invariant(mean || factor == 1.0f, "an all-reduce on GPUs is a sum or a mean");
    check(cudaEventRecord(ready_, compute_), "cudaEventRecord");
    check(cudaStreamWaitEvent(exchange_, ready_, 0), "cudaStreamWaitEvent");
    const ncclResult_t result = aborted_ ? ncclSystemError
                                         : ncclAllReduce(data, data, static_cast<std::size_t>(count), nccl_type(dtype),
                                                         mean ? ncclAvg : ncclSum, communicator_, exchange_);
    if (aborted_) host_.barrier();  // throws the failure
    check(result, "ncclAllReduce");
  }

  void wait_all_reduces() override {
    check(cudaEventRecord(done_, exchange_), "cudaEventRecord");
    check(cudaStreamWaitEvent(compute_, done_, 0), "cudaStreamWaitEvent");
  }

  void note_progress() override { host_.note_progress(); }

 private:
  Communicator& host_;
  cudaStream_t compute_, exchange_ = nullptr;
  cudaEvent_t ready_ = nullptr, done_ = nullptr;
  ncclComm_t communicator_ = nullptr;
  std::atomic<bool> aborted_ = false;
  std::thread abort_;
  std::optional<Communicator::OnFailure> on_failure_;
};

}  // namespace

std::unique_ptr<Collectives> make_nccl_collectives(Backend& backend, Communicator& host) {
  return std::make_unique<NcclCollectives>(backend, host);
}

}  // namespace ptrain
