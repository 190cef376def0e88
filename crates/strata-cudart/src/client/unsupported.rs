//! Functions of CUDA's runtime that are not supported: each says so by name, once, and answers `cudaErrorNotSupported`.

use super::error::{Code, answer, say};
use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};

/// Says, once, that something is not supported.
pub(super) fn once(what: &'static str) {
    static SAID: Mutex<BTreeSet<&'static str>> = Mutex::new(BTreeSet::new());
    if SAID.lock().unwrap_or_else(PoisonError::into_inner).insert(what) {
        say(&format!("{what} is not supported; the call answers cudaErrorNotSupported"));
    }
}

/// Arguments of such a function are never looked at, so it is declared without any: by the calling conventions of C
/// the caller cleans up after itself.
macro_rules! unsupported {
    ($($name:ident),* $(,)?) => { $(
        #[unsafe(no_mangle)]
        #[allow(non_snake_case, missing_docs, reason = "the name is CUDA's and says all there is to say")]
        extern "C" fn $name() -> Code {
            once(stringify!($name));
            answer(|| Err(Code::NOT_SUPPORTED))
        }
    )* };
}

unsupported! {
    __cudaGetProcAddress, __cudaRegisterHostVar,
    __cudaRegisterUnifiedTable, cudaArrayGetMemoryRequirements, cudaArrayGetPlane, cudaArrayGetSparseProperties,
    cudaBindTextureToMipmappedArray,
    cudaDestroyExternalMemory, cudaDestroyExternalSemaphore, cudaDevResourceGenerateDesc, cudaDevSmResourceSplit,
    cudaDevSmResourceSplitByCount, cudaDeviceFlushGPUDirectRDMAWrites, cudaDeviceGetDevResource,
    cudaDeviceGetExecutionCtx, cudaDeviceGetHostAtomicCapabilities, cudaDeviceGetNvSciSyncAttributes,
    cudaDeviceGetP2PAtomicCapabilities, cudaDeviceGetP2PAttribute, cudaDeviceGetTexture1DLinearMaxWidth,
    cudaDeviceRegisterAsyncNotification, cudaDeviceUnregisterAsyncNotification, cudaEGLStreamConsumerAcquireFrame,
    cudaEGLStreamConsumerConnect, cudaEGLStreamConsumerConnectWithFlags, cudaEGLStreamConsumerDisconnect,
    cudaEGLStreamConsumerReleaseFrame, cudaEGLStreamProducerConnect, cudaEGLStreamProducerDisconnect,
    cudaEGLStreamProducerPresentFrame, cudaEGLStreamProducerReturnFrame, cudaEventCreateFromEGLSync,
    cudaExecutionCtxDestroy, cudaExecutionCtxGetDevResource, cudaExecutionCtxGetDevice, cudaExecutionCtxGetId,
    cudaExecutionCtxRecordEvent, cudaExecutionCtxStreamCreate, cudaExecutionCtxSynchronize, cudaExecutionCtxWaitEvent,
    cudaExternalMemoryGetMappedBuffer, cudaExternalMemoryGetMappedMipmappedArray, cudaFreeMipmappedArray,
    cudaFuncGetName, cudaFuncGetParamCount, cudaFuncGetParamInfo, cudaGLGetDevices, cudaGLMapBufferObject,
    cudaGLMapBufferObjectAsync, cudaGLRegisterBufferObject, cudaGLSetBufferObjectMapFlags, cudaGLSetGLDevice,
    cudaGLUnmapBufferObject, cudaGLUnmapBufferObjectAsync, cudaGLUnregisterBufferObject, cudaGetDriverEntryPoint,
    cudaGetDriverEntryPointByVersion, cudaGetExportTable, cudaGetMipmappedArrayLevel, cudaGetSurfaceObjectResourceDesc,
    cudaGetTextureObjectResourceDesc,
    cudaGetTextureObjectResourceViewDesc, cudaGetTextureObjectTextureDesc, cudaGetTextureObjectTextureDesc_v2,
    cudaGraphAddDependencies_v2, cudaGraphAddEventRecordNode, cudaGraphAddEventWaitNode,
    cudaGraphAddExternalSemaphoresSignalNode, cudaGraphAddExternalSemaphoresWaitNode, cudaGraphAddMemcpyNodeFromSymbol,
    cudaGraphAddMemcpyNodeToSymbol, cudaGraphChildGraphNodeGetGraph,
    cudaGraphDebugDotPrint, cudaGraphDestroyNode,
    cudaGraphEventRecordNodeGetEvent, cudaGraphEventRecordNodeSetEvent, cudaGraphEventWaitNodeGetEvent,
    cudaGraphEventWaitNodeSetEvent, cudaGraphExecEventRecordNodeSetEvent, cudaGraphExecEventWaitNodeSetEvent,
    cudaGraphExecExternalSemaphoresSignalNodeSetParams, cudaGraphExecExternalSemaphoresWaitNodeSetParams,
    cudaGraphExecGetFlags, cudaGraphExecGetId, cudaGraphExecMemcpyNodeSetParamsFromSymbol,
    cudaGraphExecMemcpyNodeSetParamsToSymbol, cudaGraphExecNodeSetParams,
    cudaGraphExternalSemaphoresSignalNodeGetParams, cudaGraphExternalSemaphoresSignalNodeSetParams,
    cudaGraphExternalSemaphoresWaitNodeGetParams, cudaGraphExternalSemaphoresWaitNodeSetParams, cudaGraphGetEdges,
    cudaGraphGetEdges_v2, cudaGraphGetId, cudaGraphGetRootNodes, cudaGraphHostNodeGetParams,
    cudaGraphKernelNodeCopyAttributes, cudaGraphKernelNodeGetAttribute, cudaGraphKernelNodeGetParams,
    cudaGraphKernelNodeSetAttribute, cudaGraphMemAllocNodeGetParams, cudaGraphMemFreeNodeGetParams,
    cudaGraphMemcpyNodeGetParams, cudaGraphMemcpyNodeSetParamsFromSymbol, cudaGraphMemcpyNodeSetParamsToSymbol,
    cudaGraphMemsetNodeGetParams, cudaGraphNodeFindInClone, cudaGraphNodeGetContainingGraph,
    cudaGraphNodeGetDependencies, cudaGraphNodeGetDependencies_v2, cudaGraphNodeGetDependentNodes,
    cudaGraphNodeGetDependentNodes_v2, cudaGraphNodeGetEnabled, cudaGraphNodeGetLocalId, cudaGraphNodeGetParams,
    cudaGraphNodeGetToolsId, cudaGraphNodeSetEnabled, cudaGraphNodeSetParams, cudaGraphReleaseUserObject,
    cudaGraphRemoveDependencies, cudaGraphRemoveDependencies_v2, cudaGraphRetainUserObject,
    cudaGraphicsEGLRegisterImage, cudaGraphicsGLRegisterBuffer, cudaGraphicsGLRegisterImage, cudaGraphicsMapResources,
    cudaGraphicsResourceGetMappedEglFrame, cudaGraphicsResourceGetMappedMipmappedArray,
    cudaGraphicsResourceGetMappedPointer, cudaGraphicsResourceSetMapFlags, cudaGraphicsSubResourceGetMappedArray,
    cudaGraphicsUnmapResources, cudaGraphicsUnregisterResource, cudaGraphicsVDPAURegisterOutputSurface,
    cudaGraphicsVDPAURegisterVideoSurface, cudaGreenCtxCreate, cudaImportExternalMemory, cudaImportExternalSemaphore,
    cudaIpcCloseMemHandle, cudaIpcGetEventHandle, cudaIpcGetMemHandle, cudaIpcOpenEventHandle, cudaIpcOpenMemHandle,
    cudaKernelSetAttributeForDevice, cudaLaunchCooperativeKernelMultiDevice, cudaLibraryEnumerateKernels,
    cudaLibraryGetGlobal, cudaLibraryGetKernel, cudaLibraryGetKernelCount, cudaLibraryGetManaged,
    cudaLibraryGetUnifiedFunction, cudaLibraryLoadData, cudaLibraryLoadFromFile, cudaLibraryUnload, cudaLogsCurrent,
    cudaLogsDumpToFile, cudaLogsDumpToMemory, cudaLogsRegisterCallback, cudaLogsUnregisterCallback,
    cudaMallocMipmappedArray, cudaMemDiscardAndPrefetchBatchAsync, cudaMemDiscardBatchAsync, cudaMemGetDefaultMemPool,
    cudaMemGetLocationInfo, cudaMemGetMemPool, cudaMemPoolExportPointer, cudaMemPoolExportToShareableHandle,
    cudaMemPoolGetAccess, cudaMemPoolImportFromShareableHandle, cudaMemPoolImportPointer, cudaMemPrefetchBatchAsync,
    cudaMemRangeGetAttribute, cudaMemRangeGetAttributes, cudaMemSetMemPool, cudaMemcpy3DBatchAsync, cudaMemcpy3DPeer,
    cudaMemcpy3DPeerAsync, cudaMemcpy3DWithAttributesAsync, cudaMemcpyBatchAsync, cudaMemcpyWithAttributesAsync,
    cudaMipmappedArrayGetMemoryRequirements, cudaMipmappedArrayGetSparseProperties, cudaOccupancyMaxActiveClusters,
    cudaOccupancyMaxPotentialClusterSize, cudaProfilerInitialize, cudaSetDoubleForDevice, cudaSetDoubleForHost,
    cudaSignalExternalSemaphoresAsync, cudaSignalExternalSemaphoresAsync_v2,
    cudaStreamBeginRecaptureToGraph, cudaStreamCopyAttributes, cudaStreamGetAttribute, cudaStreamGetDevResource,
    cudaSubgridCreate,
    cudaSubgridWorkerGridCreate, cudaSubgridWorksetCreate, cudaUserObjectCreate,
    cudaUserObjectRelease, cudaUserObjectRetain, cudaVDPAUGetDevice, cudaVDPAUSetVDPAUDevice,
    cudaWaitExternalSemaphoresAsync, cudaWaitExternalSemaphoresAsync_v2,
}
