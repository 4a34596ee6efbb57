export { Xxh3Stream } from "./stream.js";
export { xxh32 } from "./xxh32.js";
export { hashBackend, xxh3_64, xxh3_64Into } from "./xxh3.js";
