export { type Backend, type BackendChoice, openBackend, type RingParts } from "./backend.js";
export { BackendRefused } from "./backend-refused.js";
