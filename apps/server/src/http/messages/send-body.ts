import {
  encodeHeaderFields,
  ErrorCode,
  MAX_PAYLOAD_SIZE,
  MAX_USER_HEADERS_SIZE,
  type Partitioning,
  limits,
} from "@iggy/protocol";
import {
  base64,
  headerEntryShape,
  list,
  nullable,
  object,
  oneOf,
  optional,
  partitionContextShape,
  type Shape,
  ShapeError,
  type ShapeValue,
} from "../json/index.js";
import { messageIdShape } from "./message-id.js";

const PARTITION_ID_BYTES = 4;

const partitioningParts = object(
  { kind: oneOf("balanced", "partition_id", "messages_key"), value: base64() },
  { unknown: "refused" },
);

const partitioningShape: Shape<Partitioning> = {
  schema: partitioningParts.schema,
  read: (json) => {
    const { kind, value } = partitioningParts.read(json);
    switch (kind) {
      case "balanced":
        checkLength(value, 0, 0);
        return { kind };
      case "partition_id":
        checkLength(value, PARTITION_ID_BYTES, PARTITION_ID_BYTES);
        return { kind, partitionId: Buffer.from(value).readUInt32LE() };
      case "messages_key":
        checkLength(value, 1, limits.messagesKeyBytes, ErrorCode.InvalidKeyValueLength);
        return { kind, key: value };
    }
  },
};

function checkLength({ length }: Uint8Array, min: number, max: number, code?: number): void {
  if (length >= min && length <= max) return;
  throw new ShapeError(`takes ${min === max ? min : `${min} to ${max}`} bytes, not ${length}`, code, "value");
}

/** Encoded user headers: from entries, or as they are. */
const userHeadersShape: Shape<Uint8Array> = {
  schema: {
    anyOf: [{ type: "null" }, list(headerEntryShape).schema, base64().schema],
  },
  isOptional: true,
  read: (json) => {
    if (json === undefined || json === null) return new Uint8Array(0);
    if (typeof json === "string") return rawHeaders.read(json);
    return encodeHeaderFields(headerEntries.read(json));
  },
};
const rawHeaders = base64({ max: MAX_USER_HEADERS_SIZE, code: ErrorCode.TooBigUserHeaders });
const headerEntries = list(headerEntryShape);

const payloadBytes = base64();
const payloadShape: Shape<Uint8Array> = {
  schema: payloadBytes.schema,
  read: (json) => {
    const payload = payloadBytes.read(json);
    if (payload.length === 0) throw new ShapeError("must not be empty", ErrorCode.InvalidMessagePayloadLength);
    if (payload.length > MAX_PAYLOAD_SIZE) {
      throw new ShapeError(
        `takes up to ${MAX_PAYLOAD_SIZE} bytes, not ${payload.length}`,
        ErrorCode.TooBigMessagePayload,
      );
    }
    return payload;
  },
};

const messageShape = object(
  { id: optional(messageIdShape, 0n), payload: payloadShape, user_headers: userHeadersShape },
  { unknown: "refused" },
);
export type SentMessage = ShapeValue<typeof messageShape>;

/** Body of a send. Members that it does not know are refused: a misspelt one would change what is stored. */
export const sendBodyShape = object(
  {
    partitioning: partitioningShape,
    messages: list(messageShape, { min: 1, code: ErrorCode.InvalidMessagesCount }),
    context: optional(nullable(partitionContextShape), null),
  },
  { unknown: "refused" },
);
export type SendBody = ShapeValue<typeof sendBodyShape>;
