import type { AnyCommand } from "../commands/command.js";
import { commandByCode } from "../commands/registry.js";
import { attachConsumerSession } from "./commands/attach-consumer-session.js";
import * as changed from "./commands/changed-replies.js";
import { flushUnsavedBuffer } from "./commands/flush-unsaved-buffer.js";
import { getConsumerOffsetRouting } from "./commands/get-consumer-offset-routing.js";
import { getPollRouting } from "./commands/get-poll-routing.js";
import { legacyLoginRegisterWithPat } from "./commands/login-register-with-pat.js";
import { legacyLoginRegister } from "./commands/login-register.js";
import { legacyPollMessages, pollMessagesOnPrimary } from "./commands/poll-messages.js";
import { purgeStream, purgeTopic } from "./commands/purges.js";
import { updateStream, updateTopic, updateUser } from "./commands/updates.js";

/** Commands of 0.11 that are those of 0.12.2, both bodies. */
const unchangedCodes = [
  ...[1, 11, 20, 21, 22, 34, 36, 37, 38, 39, 41, 42, 43, 44, 101, 120, 121, 122],
  ...[203, 303, 402, 403, 503, 600, 601, 602, 603, 604, 605, 606],
];

/** Commands of 0.11 with a body of their own, or retired since. */
const ownCommands: readonly AnyCommand[] = [
  legacyLoginRegister,
  legacyLoginRegisterWithPat,
  legacyPollMessages,
  pollMessagesOnPrimary,
  getPollRouting,
  getConsumerOffsetRouting,
  attachConsumerSession,
  flushUnsavedBuffer,
  updateStream,
  updateTopic,
  updateUser,
  purgeStream,
  purgeTopic,
  ...Object.values(changed),
];

const byCode = new Map<number, AnyCommand>(ownCommands.map((command) => [command.code, command]));
for (const code of unchangedCodes) {
  const command = commandByCode(code);
  if (command !== undefined) byCode.set(code, command);
}

/** The command of a code on a 0.11 connection; undefined for those that came later, which answer as unknown. */
export const legacyCommandByCode = (code: number): AnyCommand | undefined => byCode.get(code);

/** All 55 commands of 0.11.0. */
export const legacyCommands: readonly AnyCommand[] = [...byCode.values()];
