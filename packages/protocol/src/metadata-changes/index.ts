export { type MetadataCursor, cursorText, isCanonicalCursor, metadataCursor, noCursor, parseCursor } from "./cursor.js";
export * from "./groups.js";
export * from "./page.js";
export { type PageToken, pageToken, pageTokenText, parsePageToken } from "./page-token.js";
export * from "./request.js";
