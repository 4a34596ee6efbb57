import type { HashBackend } from "./backend.js";
import { portable } from "./portable.js";
import { wasmBackend } from "./wasm/backend.js";

/** The implementation that this process uses, chosen once: WebAssembly is about ten times as fast. */
export const backend: HashBackend = wasmBackend() ?? portable;
