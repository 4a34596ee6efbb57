export { type Answer, outcome, readAnswer } from "./answer.js";
export { type LinkOptions, RawLink } from "./link.js";
export * from "./partition.js";
export { Seeded } from "./seeded.js";
export { developmentEnvironment, eventually, type ProcessOptions, ServerProcess, sleep } from "./server-process.js";
export { type Credentials, type Overrides, randomU128, RawSession, root, versionInfo } from "./session.js";
export * from "./topics.js";
export { clientFrame, type FramePart, RawWebSocket, upgradeRequest, type UpgradeOptions } from "./websocket.js";
