export { IggyError } from "./iggy-error.js";
export * from "./info.js";
export * from "./stored-nothing.js";
export * from "./table.js";
