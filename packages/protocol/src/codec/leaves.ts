import type { Codec } from "./codec.js";
import { decodeUtf8Lossy, utf8Length } from "./text.js";
import { WireError } from "./wire-error.js";

const fixed = <T>(type: string, size: number, rest: Omit<Codec<T>, "type" | "minSize" | "size">): Codec<T> => ({
  type,
  minSize: size,
  size: () => size,
  ...rest,
});

export const u8 = fixed<number>("u8", 1, {
  write: (w, value) => w.u8(value),
  read: (r) => r.u8(),
  sample: (s) => s.integer(0xff),
});
export const u16 = fixed<number>("u16", 2, {
  write: (w, value) => w.u16(value),
  read: (r) => r.u16(),
  sample: (s) => s.integer(0xffff),
});
export const u32 = fixed<number>("u32", 4, {
  write: (w, value) => w.u32(value),
  read: (r) => r.u32(),
  sample: (s) => s.integer(0xffffffff),
});
export const u64 = fixed<bigint>("u64", 8, {
  write: (w, value) => w.u64(value),
  read: (r) => r.u64(),
  sample: (s) => s.bigint(64),
});
export const u128 = fixed<bigint>("u128", 16, {
  write: (w, value) => w.u128(value),
  read: (r) => r.u128(),
  sample: (s) => s.bigint(128),
});
export const f32 = fixed<number>("f32", 4, {
  write: (w, value) => w.f32(value),
  read: (r) => r.f32(),
  sample: (s) => Math.fround(s.integer(1_000_000) / 64),
});

/** One byte, written 0 or 1; any other byte than 0 reads as true. */
export const looseBool = fixed<boolean>("bool (0 = false, else true)", 1, {
  write: (w, value) => w.u8(value ? 1 : 0),
  read: (r) => r.u8() !== 0,
  sample: (s) => s.boolean(),
});

/** One byte that must be 0 or 1. */
export const strictBool = fixed<boolean>("bool (0 or 1)", 1, {
  write: (w, value) => w.u8(value ? 1 : 0),
  read: (r) => {
    const at = r.offset;
    const byte = r.u8();
    if (byte > 1) throw new WireError("UnknownDiscriminant", `${String(byte)} is not a boolean`, at);
    return byte === 1;
  },
  sample: (s) => s.boolean(),
});

export const fixedBytes = (length: number): Codec<Uint8Array> =>
  fixed<Uint8Array>(`${String(length)} bytes`, length, {
    write: (w, value) => {
      if (value.length !== length) {
        throw new WireError("Validation", `need ${String(length)} bytes, got ${String(value.length)}`);
      }
      w.take(value);
    },
    read: (r) => r.take(length),
    sample: (s) => s.bytes(length),
  });

/** Every remaining byte, as a view. */
export const restBytes: Codec<Uint8Array> = {
  type: "bytes to end",
  minSize: 0,
  size: (value) => value.length,
  write: (w, value) => w.take(value),
  read: (r) => r.rest(),
  sample: (s) => s.bytes(s.integer(24)),
};

/** `[length u32][bytes]`, as a view. */
export const bytes32: Codec<Uint8Array> = {
  type: "[u32][bytes]",
  minSize: 4,
  size: (value) => 4 + value.length,
  write: (w, value) => {
    w.u32(value.length);
    w.take(value);
  },
  read: (r) => r.take(r.u32()),
  sample: (s) => s.bytes(s.integer(24)),
};

interface TextLimits {
  readonly min: number;
  readonly max: number;
}

const checkText = (what: string, value: string, limits: TextLimits): number => {
  const length = utf8Length(value);
  if (length < limits.min || length > limits.max) {
    throw new WireError(
      "Validation",
      `${what} takes ${String(limits.min)} to ${String(limits.max)} bytes, got ${String(length)}`,
    );
  }
  return length;
};

/** `[length u8][UTF-8]` with a least length; `name` below is the common case. */
export const text8 = (what: string, min = 0, max = 255): Codec<string> => ({
  type: `[u8][UTF-8], ${String(min)}..${String(max)}`,
  minSize: 1 + min,
  size: (value) => 1 + utf8Length(value),
  write: (w, value) => {
    w.u8(checkText(what, value, { min, max }));
    w.text(value);
  },
  read: (r) => {
    const at = r.offset;
    const length = r.u8();
    if (length < min || length > max) {
      throw new WireError(
        "Validation",
        `${what} takes ${String(min)} to ${String(max)} bytes, got ${String(length)}`,
        at,
      );
    }
    return r.text(length);
  },
  sample: (s) => s.text(min, Math.min(max, 24)),
});

/** Wire name: 1 to 255 bytes of UTF-8, compared byte by byte. */
export const name = text8("a name", 1);
/** `[length u8][UTF-8]`, may be empty. */
export const str8 = text8("text");

/** `[length u32][UTF-8]`, may be empty. */
export const str32: Codec<string> = {
  type: "[u32][UTF-8]",
  minSize: 4,
  size: (value) => 4 + utf8Length(value),
  write: (w, value) => {
    w.u32(utf8Length(value));
    w.text(value);
  },
  read: (r) => r.text(r.u32()),
  sample: (s) => s.text(0, 40),
};

/** `[length u32][UTF-8]` for people only: bytes that are no UTF-8 read as replacement characters, not as an error. */
export const lossyStr32: Codec<string> = { ...str32, read: (r) => decodeUtf8Lossy(r.take(r.u32())) };
