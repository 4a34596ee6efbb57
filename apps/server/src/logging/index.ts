export { MemoryConsole, silentConsole, stdoutConsole } from "./consoles.js";
export { LOG_FILE_NAME, Logging, type Console } from "./logging.js";
export { logFiles } from "./rotating-file.js";
export type { Logger } from "pino";
