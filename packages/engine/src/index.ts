export * from "./metadata/index.js";
export * from "./partition/index.js";
