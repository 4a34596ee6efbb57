export { DeadLetterHeader, DeadLetters } from "./dead-letters.js";
export {
  type Backoff,
  type DeadLetter,
  type HandleOptions,
  type HandlerContext,
  type HandleSettings,
  handleSettings,
  type MessageHandler,
  type RunOptions,
} from "./handle-options.js";
export { HandlerLoop } from "./handler-loop.js";
