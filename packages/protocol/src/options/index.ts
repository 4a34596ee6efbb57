export * from "./admission.js";
export * from "./catalogue.js";
export { type NodeDefaults, optionDescriptors, optionFlags } from "./descriptors.js";
export * from "./json-value.js";
export * from "./limits.js";
export { OptionError } from "./option-error.js";
export * from "./resource-checks.js";
export { STREAM_KEY_BYTES, type ValueType } from "./value-types.js";
export * from "./value-text.js";
