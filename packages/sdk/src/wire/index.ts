import { commands } from "@iggy/protocol";

/** Code of every command, by its name: `COMMAND_CODE["stream.create"]` is 202. For `sendBinaryRequest`. */
export const COMMAND_CODE: Readonly<Record<string, number>> = Object.fromEntries(
  commands.map(({ name, code }) => [name, code]),
);

// Commands with their codecs, the codecs of messages, and what they need: the payloads of raw requests and their replies.
export * from "@iggy/protocol";
