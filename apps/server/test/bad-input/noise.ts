import {
  type AnyCommand,
  buildRequest,
  commands,
  encode,
  encodeBatch,
  encodeRequest,
  type Identifier,
  numericId,
  Operation,
  sendMessages,
} from "@iggy/protocol";
import { messages, type Overrides, type RawSession, type Seeded } from "../raw-client/index.js";

const operations: readonly number[] = [...new Set(commands.map(({ operation }) => operation))];
const codes: readonly number[] = commands.map(({ code }) => code);

/** The head of a frame, and noise. One in ten claims a size that is none, which ends the connection. */
export function randomFrame(random: Seeded, { client, session }: RawSession): Uint8Array {
  const body = random.bytes(random.integer(400));
  if (random.integer(9) === 0) return sizeless(random.bytes(256 + body.length), random);
  const isOwn = random.integer(3) > 0;
  return buildRequest(
    {
      client: isOwn ? client : random.bigint(128),
      session: isOwn ? session : random.bigint(64),
      request: random.bigint(random.pick([16, 32, 53, 64])),
      operation: random.integer(3) === 0 ? random.integer(255) : random.pick(operations),
      commandCode: random.integer(3) === 0 ? random.integer(1000) : random.pick(codes),
      requestChecksum: random.bigint(128),
      partitionIncarnation: random.bigint(random.pick([8, 64])),
      ownerGeneration: random.integer(1) === 0 ? 0 : random.bigint(64),
      minimumMetadataOp: random.integer(9) === 0 ? random.bigint(64) : 0,
    },
    body,
  );
}

function sizeless(frame: Uint8Array, random: Seeded): Uint8Array {
  const size = random.boolean() ? random.integer(255) : 2 ** 31 + random.integer(2 ** 31 - 1);
  new DataView(frame.buffer).setUint32(48, size, true);
  return frame;
}

/** A partition that mutated frames aim at. */
export interface Target {
  readonly streamId: number;
  readonly topicId: number;
  readonly context: Overrides;
}

/** A sound request of a command, aimed at a target, with some bytes changed. */
export function mutatedFrame(random: Seeded, session: RawSession, command: AnyCommand, target: Target): Uint8Array {
  const body = aimedBody(random, command, target);
  const isPartition = command.operation >= Operation.SendMessages || (command.code >= 100 && command.code < 130);
  const frame = session.frame(command, body, isPartition ? target.context : {});
  const changes = 1 + random.integer(3);
  for (let change = 0; change < changes; change++) {
    const isHeader = random.integer(3) === 0 || frame.length === 256;
    const at = isHeader ? 128 + random.integer(127) : 256 + random.integer(frame.length - 257);
    frame[at] = random.boolean() ? random.integer(255) : (frame[at] ?? 0) ^ (1 << random.integer(7));
  }
  return frame;
}

const SIX_BYTES_OF_AN_ID = 6;

/** A random body with its first identifiers replaced by those of the target where it starts with them. */
function aimedBody(random: Seeded, command: AnyCommand, { streamId, topicId }: Target): Uint8Array {
  const ids: readonly Identifier[] = [numericId(streamId), numericId(topicId)];
  if (command.code === sendMessages.code) {
    const partitioning = { kind: "partition_id", partitionId: 0 } as const;
    const batch = encodeBatch(messages(1 + random.integer(4)));
    const [stream, topic] = ids;
    if (stream === undefined || topic === undefined) throw new Error("a target has two ids");
    return encodeRequest(sendMessages, { streamId: stream, topicId: topic, partitioning, messagesCount: 1, batch });
  }
  const sample = command.request.sample(random);
  const aimed =
    typeof sample === "object" && sample !== null && "streamId" in sample
      ? { ...sample, streamId: ids[0], ...("topicId" in sample ? { topicId: ids[1] } : {}) }
      : sample;
  const body = encode(command.request, aimed);
  return body.length > 4096 ? body.subarray(0, 4096 - SIX_BYTES_OF_AN_ID) : body;
}
