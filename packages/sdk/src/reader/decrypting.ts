import { decryptParts, type Encryptor } from "../encryption/index.js";
import { ReadError } from "../errors/index.js";
import type { Message } from "../values/message.js";
import type { PolledMessages } from "../values/polled-messages.js";
import { PollingStrategy } from "../values/polling-strategy.js";
import { asIggyError } from "./read-faults.js";
import type { Opened } from "./read-scheduler.js";

/** Messages of one reply that are decrypted at a time. */
const atOnce = 64;

/** The messages of a reply in clear, up to the first that can not be decrypted. */
export async function decrypted(encryptor: Encryptor, polled: PolledMessages): Promise<Opened> {
  const open: Message[] = [];
  for (let at = 0; at < polled.count; at += atOnce) {
    const outcomes = await Promise.allSettled(
      polled.messages.slice(at, at + atOnce).map((message) => decryptOne(encryptor, message)),
    );
    for (const outcome of outcomes) {
      if (outcome.status === "fulfilled") open.push(outcome.value);
      else return { polled: polled.withMessages(open), failure: failureOf(polled, open.length, outcome.reason) };
    }
  }
  return { polled: polled.withMessages(open) };
}

async function decryptOne(encryptor: Encryptor, message: Message): Promise<Message> {
  const { payload, rawUserHeaders: userHeaders } = message;
  return message.decrypted(await decryptParts(encryptor, { payload, userHeaders }));
}

function failureOf(polled: PolledMessages, index: number, cause: unknown): NonNullable<Opened["failure"]> {
  const { partitionId, offset, context } = polled.checkpointAt(index);
  const error = new ReadError(
    `partition ${String(partitionId)}: message ${String(offset)} can not be decrypted, seek past it`,
    {
      partitionId,
      error: asIggyError(cause),
      skip: PollingStrategy.continuing(PollingStrategy.Offset(offset + 1n), { partitionId, context }),
      record: { offset, bytes: polled.messages[index]?.payload ?? new Uint8Array(0) },
    },
  );
  return { offset, error };
}
