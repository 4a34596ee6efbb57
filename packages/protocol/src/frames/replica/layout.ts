import { type Codec, type LayoutRow, Reader, WireError, Writer } from "../../codec/index.js";
import { getU128, isZero, putU128, viewOf } from "../../codec/integers.js";
import { xxh3_64 } from "../../hash/index.js";
import { FrameError } from "../frame-error.js";
import { wrongCommand } from "../request.js";
import { headerChecksum, sealHeader, storedChecksum, verifySeal } from "../seal.js";
import { checkFrameSize, HEADER_SIZE } from "../size.js";
import { startHeader } from "../write.js";

/** Where the fields of a command start; the common prefix and its reserved bytes come before. */
const FIELDS_OFFSET = 128;
const RESERVED_OFFSET = 62;
const RELEASE_OFFSET = 56;
const CHECKSUM_BODY_OFFSET = 16;

/** What every replica frame says about its sender. */
export interface ReplicaSender {
  readonly cluster: bigint;
  /** The sender's view of the group. */
  readonly view: number;
  /** Node id of the sender. */
  readonly replica: number;
}

/** Common part of a decoded replica header. */
export interface ReplicaPrefix extends ReplicaSender {
  /** Bytes of the whole frame. */
  readonly size: number;
  /** XXH3-64 of the body, 0 for none. */
  readonly checksumBody: bigint;
}

/** A decoded frame. */
export interface DecodedFrame<F> {
  readonly header: ReplicaPrefix & F;
  /** View of the body. */
  readonly body: Uint8Array;
}

/** How many body bytes a frame may have: a FrameError kind for a length that breaks the rule. */
export type BodyRule = (length: number) => boolean;
export const noBody: BodyRule = (length) => length === 0;
export const anyBody: BodyRule = () => true;

/** The declaration of a frame that replicas send to each other under a seal. */
export interface ReplicaFrameDeclaration<F> {
  readonly name: string;
  readonly command: number;
  /** Fields from byte 128 on. What they leave of the 256 bytes is zero, and so is what `after` skips. */
  readonly fields: Codec<F>;
  readonly body: BodyRule;
  /** What kind of error a body of another length is. */
  readonly bodyFault?: "InvalidSize" | "InvalidField";
  /** Text of the first rule that a header breaks. */
  readonly fault?: (header: ReplicaPrefix & F) => string | undefined;
}

/** A frame that replicas send to each other under a seal. */
export interface ReplicaFrame<F> {
  readonly name: string;
  readonly command: number;
  /** The layout from byte 128 on. */
  readonly rows: readonly LayoutRow[];
  /** Encodes a whole frame: header, seal, body checksum and body. */
  encode(sender: ReplicaSender, fields: F, body?: Uint8Array): Uint8Array;
  /** Writes a sealed header in front of a body that is sent apart. `checksumBody` is the XXH3-64 of that body. */
  writeHeader(
    bytes: Uint8Array,
    offset: number,
    sender: ReplicaSender,
    fields: F,
    body: { readonly length: number; readonly checksum: bigint },
  ): void;
  /** Checks seal and rules of the header at `offset`. Throws a FrameError. The body is not looked at. */
  decodeHeader(bytes: Uint8Array, offset?: number): ReplicaPrefix & F;
  /** Decodes a whole frame and checks its body against the header. Throws a FrameError. */
  decode(frame: Uint8Array): DecodedFrame<F>;
}

export function replicaFrame<F extends object>(declaration: ReplicaFrameDeclaration<F>): ReplicaFrame<F> {
  const { name, command, fields: codec, body: bodyRule, bodyFault = "InvalidSize", fault } = declaration;

  const check = (header: ReplicaPrefix & F): void => {
    const bodyLength = header.size - HEADER_SIZE;
    if (header.size < HEADER_SIZE || !bodyRule(bodyLength)) {
      throw new FrameError(bodyFault, `${name} can not have ${String(header.size)} bytes`);
    }
    const broken = fault?.(header);
    if (broken !== undefined) throw new FrameError("InvalidField", `${name}: ${broken}`);
  };

  const writeHeader: ReplicaFrame<F>["writeHeader"] = (bytes, offset, sender, fields, body) => {
    check({ ...sender, ...fields, size: HEADER_SIZE + body.length, checksumBody: body.checksum });
    const view = startHeader(bytes, offset, command, { ...sender, bodyLength: body.length });
    putU128(view, CHECKSUM_BODY_OFFSET, body.checksum, "body checksum");
    codec.write(new Writer(bytes, offset + FIELDS_OFFSET), fields);
    sealHeader(bytes, offset);
  };

  const decodeHeader: ReplicaFrame<F>["decodeHeader"] = (bytes, offset = 0) => {
    if (!(offset >= 0 && offset + HEADER_SIZE <= bytes.length)) {
      throw new FrameError("InvalidSize", `no header at ${String(offset)} of ${String(bytes.length)} bytes`);
    }
    const view = viewOf(bytes);
    const found = view.getUint8(offset + 60);
    if (found !== command) throw wrongCommand(found, command);
    if (!verifySeal(bytes, offset)) {
      const [stored, computed] = [storedChecksum(bytes, offset), headerChecksum(bytes, offset)];
      throw new FrameError(
        "ChecksumMismatch",
        `${name} is sealed ${String(stored)}, its bytes have ${String(computed)}`,
      );
    }
    const reader = new Reader(bytes, offset + FIELDS_OFFSET, offset + HEADER_SIZE);
    const fields = asFrameError(name, () => codec.read(reader));
    const header = {
      cluster: getU128(view, offset + 32),
      view: view.getUint32(offset + 52, true),
      replica: view.getUint8(offset + 61),
      size: view.getUint32(offset + 48, true),
      checksumBody: getU128(view, offset + CHECKSUM_BODY_OFFSET),
      ...fields,
    };
    const isClean =
      view.getUint32(offset + RELEASE_OFFSET, true) === 0 &&
      isZero(view, offset + RESERVED_OFFSET, FIELDS_OFFSET - RESERVED_OFFSET) &&
      isZero(view, reader.offset, reader.remaining);
    if (!isClean) throw new FrameError("InvalidField", `${name}: reserved bytes are set`);
    check(header);
    return header;
  };

  return {
    name,
    command,
    rows: codec.rows?.() ?? [],
    writeHeader,
    encode: (sender, fields, body = noBytes) => {
      const frame = new Uint8Array(HEADER_SIZE + body.length);
      const checksum = body.length === 0 ? 0n : xxh3_64(body);
      writeHeader(frame, 0, sender, fields, { length: body.length, checksum });
      frame.set(body, HEADER_SIZE);
      return frame;
    },
    decodeHeader,
    decode: (frame) => {
      const header = decodeHeader(frame);
      checkFrameSize(header.size, frame.length);
      if (header.size !== frame.length) {
        throw new FrameError("InvalidSize", `${name} of ${String(header.size)} bytes in ${String(frame.length)}`);
      }
      const body = frame.subarray(HEADER_SIZE);
      if (header.checksumBody !== 0n && header.checksumBody !== xxh3_64(body)) {
        throw new FrameError("ChecksumMismatch", `the body of ${name} is damaged`);
      }
      return { header, body };
    },
  };
}

const noBytes = new Uint8Array(0);

function asFrameError<T>(name: string, read: () => T): T {
  try {
    return read();
  } catch (error) {
    if (!(error instanceof WireError)) throw error;
    const kind = error.kind === "UnknownDiscriminant" ? "UnknownDiscriminant" : "InvalidField";
    throw new FrameError(kind, `${name}: ${error.message}`);
  }
}

/** A field that `skipped` reserved bytes come before; they must be zero. */
export function after<T>(skipped: number, field: Codec<T>): Codec<T> {
  return {
    ...field,
    type: `${String(skipped)} zero bytes, then ${field.type}`,
    minSize: skipped + field.minSize,
    size: (value) => skipped + field.size(value),
    write: (w, value) => {
      w.take(new Uint8Array(skipped));
      field.write(w, value);
    },
    read: (r) => {
      const at = r.advance(skipped);
      if (!isZero(r.view, at, skipped)) throw new WireError("Validation", "reserved bytes are set", at);
      return field.read(r);
    },
  };
}
