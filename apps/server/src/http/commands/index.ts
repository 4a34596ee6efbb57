export type { Caller, Credential } from "./caller.js";
export {
  CommandRunner,
  type CommandRunnerDeps,
  type Commands,
  type RunOptions,
  type Started,
} from "./command-runner.js";
export { endSession } from "./end-session.js";
export { HttpSession } from "./http-session.js";
export { HttpSessions } from "./http-sessions.js";
export type { Fences } from "./local-request.js";
export { SessionEvicted } from "./session-evicted.js";
export { SessionOwnedByOther } from "./session-owned.js";
