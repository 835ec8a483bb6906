// What cudnn-frontend asks of the CUDA runtime besides what the backend does. Declared here by name alone: most of it
// is never called, and answers that it is not there.
extern "C" {

int cudaGetDevice(int* device) { return *device = 0; }
int cudaDeviceGetAttribute(int* value, int attribute, int) {
  *value = attribute == 75 ? 9 : 0;  // the major of the compute capability
  return 0;
}
int cudaStreamIsCapturing(void*, int* status) { return *status = 0; }
int cudaStreamGetCaptureInfo(void*, int* status) { return *status = 0; }
int cudaThreadExchangeStreamCaptureMode(int*) { return 0; }
int cudaDeviceSynchronize() { return 0; }

#define ABSENT(name) \
  int name() { return 801; } /* cudaErrorNotSupported */

ABSENT(cudaGetDriverEntryPointByVersion)
ABSENT(cudaGraphRetainUserObject)
ABSENT(cudaKernelSetAttributeForDevice)
ABSENT(cudaLaunchKernel)
ABSENT(cudaLibraryGetKernel)
ABSENT(cudaLibraryLoadData)
ABSENT(cudaLibraryUnload)
ABSENT(cudaPointerGetAttributes)
ABSENT(cudaStreamCreate)
ABSENT(cudaUserObjectCreate)
ABSENT(cudaUserObjectRelease)
#undef ABSENT

}  // extern "C"
