export type { MetadataChangesOptions, MetadataEvent } from "./changes.js";
export { MetadataApi } from "./metadata-api.js";
export type { MetadataMirror, MetadataMirrorEventName, MetadataMirrorEvents, MetadataMirrorOptions } from "./mirror.js";
export type { MirroredGroup, MirroredStream, MirroredTopic, MirroredUser } from "./mirrored-state.js";
