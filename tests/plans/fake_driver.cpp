// A libcuda.so.1 with which cuDNN compiles plans where there is no GPU: it takes every library and looks at none. What
// cuDNN asks for besides has to be there, and answers that it is not.
extern "C" {

int cuLibraryLoadData(void** library) { return *library = library, 0; }
int cuLibraryGetKernel(void** kernel) { return *kernel = kernel, 0; }
int cuLibraryUnload(void*) { return 0; }

#define ABSENT(name) \
  int name() { return 34; } /* CUDA_ERROR_STUB_LIBRARY */

ABSENT(cuCtxGetCurrent)
ABSENT(cuCtxGetDevice)
ABSENT(cuCtxGetLimit)
ABSENT(cuCtxPopCurrent)
ABSENT(cuCtxPushCurrent)
ABSENT(cuDeviceGet)
ABSENT(cuDeviceGetAttribute)
ABSENT(cuDeviceGetCount)
ABSENT(cuDevicePrimaryCtxRelease)
ABSENT(cuDevicePrimaryCtxReset)
ABSENT(cuDevicePrimaryCtxRetain)
ABSENT(cuDriverGetVersion)
ABSENT(cuFuncGetAttribute)
ABSENT(cuFuncSetAttribute)
ABSENT(cuGetErrorName)
ABSENT(cuGetErrorString)
ABSENT(cuInit)
ABSENT(cuKernelGetAttribute)
ABSENT(cuKernelSetAttribute)
ABSENT(cuLaunchCooperativeKernel)
ABSENT(cuLaunchKernel)
ABSENT(cuLaunchKernelEx)
ABSENT(cuLibraryLoadFromFile)
ABSENT(cuLinkAddData)
ABSENT(cuLinkAddData_v2)
ABSENT(cuLinkAddFile_v2)
ABSENT(cuLinkComplete)
ABSENT(cuLinkCreate)
ABSENT(cuLinkCreate_v2)
ABSENT(cuLinkDestroy)
ABSENT(cuMemcpyDtoH_v2)
ABSENT(cuModuleGetFunction)
ABSENT(cuModuleGetGlobal_v2)
ABSENT(cuModuleLoadData)
ABSENT(cuModuleLoadDataEx)
ABSENT(cuModuleLoadFatBinary)
ABSENT(cuModuleUnload)
ABSENT(cuOccupancyMaxActiveBlocksPerMultiprocessor)
ABSENT(cuOccupancyMaxPotentialClusterSize)
ABSENT(cuStreamGetCtx)
ABSENT(cuStreamSynchronize)
ABSENT(cuTensorMapEncodeTiled)
#undef ABSENT

}  // extern "C"
