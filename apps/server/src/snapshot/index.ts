export { SnapshotCollector } from "./collector.js";
export type { SectionSources } from "./sections.js";
