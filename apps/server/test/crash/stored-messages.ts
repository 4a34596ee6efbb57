import { ErrorCode } from "@iggy/protocol";
import { atOffset, type RawPartition, type ReadMessage, sleep } from "../raw-client/index.js";

const COUNT = 2000;
const MAX_BYTES = 8 * 1024 * 1024;
const RETRY_MILLIS = 10;
/** A partition is open by then, also on a loaded machine. */
const OPEN_WITHIN_MILLIS = 30_000;

/** Everything that is stored from an offset on, page by page. */
export async function* messagesFrom(partition: RawPartition, from: number): AsyncGenerator<ReadMessage> {
  const deadline = Date.now() + OPEN_WITHIN_MILLIS;
  for (let offset = from; ;) {
    const answer = await partition.tryPoll(atOffset(offset), { count: COUNT, maxBytes: MAX_BYTES });
    const isOpening = answer.kind === "refused" && answer.code === ErrorCode.TransientNotAccepted;
    if (isOpening && Date.now() < deadline) {
      await sleep(RETRY_MILLIS);
      continue;
    }
    const { messages } = partition.polled(answer);
    yield* messages;
    const newest = messages.at(-1);
    if (newest === undefined) return;
    offset = newest.offset + 1;
  }
}
