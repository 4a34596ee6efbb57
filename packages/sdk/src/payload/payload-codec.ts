import type { BytesLike } from "../values/check.js";

/** Turns values into payloads and payloads into values. A producer takes one, and a consumer of the same messages. */
export interface PayloadCodec<Input, Output = Input> {
  /** The payload of a value; text is sent as UTF-8. Fails for a value that is none of its kind. */
  encode(value: Input): BytesLike | Promise<BytesLike>;
  /** The value of a payload. Fails for a payload that is none of its kind. */
  decode(payload: Uint8Array): Output | Promise<Output>;
}

/** Checks a codec of the options. */
export function checkedCodec<Input, Output>(
  argument: string,
  codec: PayloadCodec<Input, Output> | undefined,
): PayloadCodec<Input, Output> | undefined {
  if (codec === undefined) return undefined;
  if (typeof codec.encode === "function" && typeof codec.decode === "function") return codec;
  throw new TypeError(`${argument} takes an object with the functions encode and decode`);
}
