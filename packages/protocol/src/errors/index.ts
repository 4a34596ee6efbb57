export { IggyError } from "./iggy-error.js";
export * from "./table.js";
