import { byteSizeSchema, type Shape, text } from "../json/index.js";

/** Bytes in the form of answers, `1.5 GiB`. */
export const byteSize: Shape<string> = { ...text(), schema: byteSizeSchema };
