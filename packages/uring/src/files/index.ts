export type { FallbackIo, Io, IoFile, IoLock, OpenMode } from "./storage-contract.js";
export { UringFile } from "./uring-file.js";
export { UringIo } from "./uring-io.js";
