import type { HashBackend } from "./backend.js";
import { portable } from "./portable.js";

/** The implementation that this process uses. */
export const backend: HashBackend = portable;
