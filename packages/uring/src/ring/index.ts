export { call } from "./call.js";
export type { Completion } from "./completion.js";
export * from "./kernel.js";
export { PathDesk } from "./path-desk.js";
export { type RareOperation, Ring, type RingOptions, type TurnHook } from "./ring.js";
export { RingError, systemError, type SystemError } from "./ring-errors.js";
