export * from "./code-tables.js";
export * from "./eviction-reason.js";
export * from "./frame-command.js";
export * from "./limits.js";
export * from "./operations.js";
