export { list, nullable, object, objectMembers, type ObjectOf, optional, mapped } from "./compounds.js";
export { headerEntryShape, headersJson } from "./header-entry.js";
export { type OptionMap, optionMapShape, readOptionJson } from "./option-map.js";
export { partitionContextJson, partitionContextShape } from "./partition-context.js";
export { base64, byteSizeSchema, byteSizeText, flag, oneOf, text, u128, u16, u32, u64, u8 } from "./scalars.js";
export { type Shape, ShapeError, type ShapeValue } from "./shape.js";
