import { decodeUtf8, encodeBase64, MessageCursor, sliceBatch, tryDecodeUserHeaders } from "@iggy/protocol";
import { dateOfMicros } from "./duration.js";
import type { HeaderValue } from "./headers.js";
import { messageIdText } from "./message-id.js";

/** One user header of a read message. */
export interface ParsedHeaderEntry {
  readonly key: HeaderValue;
  readonly value: HeaderValue;
}

/** Figures of a message beside its payload and user headers. */
export interface MessageHeaders {
  /** XXH3-64 of the message as stored. */
  readonly checksum: bigint;
  readonly id: bigint;
  readonly offset: bigint;
  /** When the server appended the message. */
  readonly timestamp: Date;
  readonly timestampMicros: bigint;
  /** When the producer made it. */
  readonly originTimestamp: Date;
  readonly originTimestampMicros: bigint;
  readonly userHeadersLength: number;
  readonly payloadLength: number;
}

/**
 * The records of one reply. Messages read their fields from it when asked; a walk in order costs one step per message.
 */
export class Records {
  readonly bytes: Uint8Array;
  readonly #cursor = new MessageCursor();
  #index = -1;

  constructor(bytes: Uint8Array) {
    this.bytes = bytes;
  }

  /** The cursor at message `index`. It moves with the next call. */
  at(index: number): MessageCursor {
    if (index < this.#index || this.#index === -1) {
      this.#cursor.records(this.bytes);
      this.#index = -1;
    }
    while (this.#index < index && this.#cursor.next()) this.#index++;
    return this.#cursor;
  }
}

/** What stands in a message in clear, when it was encrypted on its way. */
export interface DecryptedParts {
  readonly payload: Uint8Array;
  readonly userHeaders?: Uint8Array | undefined;
}

/** One read message: a view of the reply that carried it. `copy()` lets go of that reply. */
export class Message {
  readonly #records: Records;
  readonly #index: number;
  readonly #decrypted: DecryptedParts | undefined;

  /** @internal */
  constructor(records: Records, index: number, decrypted?: DecryptedParts) {
    this.#records = records;
    this.#index = index;
    this.#decrypted = decrypted;
  }

  /** @internal The same message with its contents in clear. */
  decrypted(parts: DecryptedParts): Message {
    return new Message(this.#records, this.#index, parts);
  }

  /** View of the payload. */
  get payload(): Uint8Array {
    return this.#decrypted?.payload ?? this.#records.at(this.#index).payload;
  }

  get offset(): bigint {
    return this.#records.at(this.#index).offsetBig;
  }

  get id(): bigint {
    return this.#records.at(this.#index).id;
  }

  get checksum(): bigint {
    return this.#records.at(this.#index).checksum;
  }

  get timestamp(): Date {
    return dateOfMicros(this.timestampMicros);
  }

  /** When the server appended the message, µs since the epoch. */
  get timestampMicros(): bigint {
    return this.#records.at(this.#index).timestampBig;
  }

  get originTimestamp(): Date {
    return dateOfMicros(this.originTimestampMicros);
  }

  /** When the producer made the message, µs since the epoch. */
  get originTimestampMicros(): bigint {
    return this.#records.at(this.#index).originTimestampBig;
  }

  get headers(): MessageHeaders {
    const cursor = this.#records.at(this.#index);
    return {
      checksum: cursor.checksum,
      id: cursor.id,
      offset: cursor.offsetBig,
      timestamp: this.timestamp,
      timestampMicros: cursor.timestampBig,
      originTimestamp: this.originTimestamp,
      originTimestampMicros: cursor.originTimestampBig,
      userHeadersLength: this.#decrypted === undefined ? cursor.userHeadersLength : this.rawUserHeaders.length,
      payloadLength: this.#decrypted === undefined ? cursor.payloadLength : this.#decrypted.payload.length,
    };
  }

  /** Encoded user headers as they were sent; a view. */
  get rawUserHeaders(): Uint8Array {
    if (this.#decrypted !== undefined) return this.#decrypted.userHeaders ?? noHeaders;
    return this.#records.at(this.#index).userHeaders;
  }

  /** User headers, in ascending order of key kind and key bytes. None when their bytes are no headers. */
  get userHeaders(): readonly ParsedHeaderEntry[] {
    const headers = tryDecodeUserHeaders(this.rawUserHeaders);
    return headers === undefined ? [] : Array.from(headers, ([key, value]) => ({ key, value }));
  }

  /** User headers by key; numbers and text stand for themselves, bytes are keyed as hexadecimal text. */
  get userHeadersMap(): ReadonlyMap<string | number | bigint | boolean, HeaderValue["value"]> {
    return new Map(this.userHeaders.map(({ key, value }) => [plainKey(key), value.value]));
  }

  /** The payload as text. `TypeError` when it is not UTF-8. */
  text(): string {
    const text = decodeUtf8(this.payload);
    if (text === undefined) throw new TypeError("the payload is not valid UTF-8");
    return text;
  }

  /** The payload parsed as JSON. */
  json(): unknown {
    return JSON.parse(this.text());
  }

  /** A message of its own memory. */
  copy(): Message {
    const { bytes, batch, frameOffset } = this.#records.at(this.#index);
    const walk = new MessageCursor().records(bytes, batch.base);
    let index = 0;
    while (walk.next() && walk.frameOffset !== frameOffset) index++;
    const { header, frames } = sliceBatch(bytes, batch.base, index, index + 1);
    // The copying method of the array itself keeps its kind: a message of Buffers stays one.
    const own = Uint8Array.prototype.slice.call(bytes, 0, header.length + frames.length);
    own.set(header);
    own.set(frames, header.length);
    return new Message(new Records(own), 0, copied(this.#decrypted));
  }

  toJSON(): Record<string, unknown> {
    const { headers } = this;
    return {
      offset: String(headers.offset),
      id: messageIdText(headers.id),
      checksum: String(headers.checksum),
      timestamp: String(headers.timestampMicros),
      originTimestamp: String(headers.originTimestampMicros),
      payload: payloadText(this.payload),
      userHeaders: this.userHeaders.map(({ key, value }) => ({ key: plainHeader(key), value: plainHeader(value) })),
    };
  }
}

const noHeaders = new Uint8Array(0);

function copied(parts: DecryptedParts | undefined): DecryptedParts | undefined {
  if (parts === undefined) return undefined;
  return {
    payload: new Uint8Array(parts.payload),
    userHeaders: parts.userHeaders && new Uint8Array(parts.userHeaders),
  };
}

function plainKey(key: HeaderValue): string | number | bigint | boolean {
  return key.kind === "raw" ? hex(key.value) : key.value;
}

function plainHeader({ kind, value }: HeaderValue): { readonly kind: string; readonly value: unknown } {
  if (typeof value === "bigint") return { kind, value: String(value) };
  return { kind, value: value instanceof Uint8Array ? hex(value) : value };
}

/** Text stays text in JSON; bytes that are none are shown as base64. */
function payloadText(payload: Uint8Array): string | { readonly base64: string } {
  const text = decodeUtf8(payload);
  return text ?? { base64: encodeBase64(payload) };
}

const hex = (bytes: Uint8Array): string => Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
