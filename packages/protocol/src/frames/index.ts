export { FrameAssembler } from "./assembler.js";
export * from "./eviction.js";
export { FrameError, type FrameErrorKind } from "./frame-error.js";
export { HeaderView } from "./header-view.js";
export * from "./prepare.js";
export * from "./replica/index.js";
export * from "./reply.js";
export {
  buildRequest,
  buildRequestHeader,
  RequestHeader,
  type RequestFields,
  validateRequestHeader,
  writeRequestHeader,
} from "./request.js";
export { headerChecksum, prepareIdentity, sealHeader, storedChecksum, verifyPrepare, verifySeal } from "./seal.js";
export { checkFrameSize, frameSize, HEADER_SIZE, MAX_FRAME_SIZE_DEFAULT } from "./size.js";
export type { CommonFields } from "./write.js";
