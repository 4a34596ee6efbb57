export { pinThread } from "./pin-thread.js";
export { wake, Wakeup } from "./wakeup.js";
