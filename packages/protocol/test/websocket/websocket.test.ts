import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  maskInto,
  readWebSocketClose,
  unmask,
  WebSocketCloseCode,
  WebSocketError,
  type WebSocketLimits,
  WebSocketOpcode,
  WebSocketReader,
  webSocketHeaderSize,
  writeWebSocketClose,
  writeWebSocketHeader,
  type MaskPolicy,
} from "../../src/index.js";

/** A frame as a peer may build it; everything may be wrong. */
interface Part {
  readonly opcode: number;
  readonly payload: Uint8Array;
  readonly isFinal?: boolean;
  readonly key?: Uint8Array;
}

function frame({ opcode, payload, isFinal = true, key }: Part): Buffer {
  const header = new Uint8Array(14);
  const size = writeWebSocketHeader(header, opcode, payload.length, key);
  if (!isFinal) header[0] = (header[0] ?? 0) & 0x7f;
  const body = new Uint8Array(payload.length);
  if (key === undefined) body.set(payload);
  else maskInto(body, 0, payload, key);
  return Buffer.concat([header.subarray(0, size), body]);
}

type Heard = { readonly kind: number; readonly bytes: string };

const unlimited: WebSocketLimits = { maxFrameBytes: Infinity, maxMessageBytes: Infinity };

/** Reads a stream cut at the given lengths; gives messages and control frames, then the code of the error, if any. */
function read(
  stream: Uint8Array,
  {
    cuts = [],
    masks = "optional",
    limits = unlimited,
  }: {
    cuts?: readonly number[];
    masks?: MaskPolicy;
    limits?: WebSocketLimits;
  } = {},
): { heard: Heard[]; closeCode: number | undefined } {
  const heard: Heard[] = [];
  let kind = 0;
  let parts: Uint8Array[] = [];
  const reader = new WebSocketReader(
    {
      messageStart: (opcode) => (kind = opcode),
      payload: (bytes) => parts.push(Uint8Array.from(bytes)),
      messageEnd: () => {
        heard.push({ kind, bytes: Buffer.concat(parts).toString("hex") });
        parts = [];
      },
      control: (opcode, payload) => heard.push({ kind: opcode, bytes: Buffer.from(payload).toString("hex") }),
    },
    limits,
    masks,
  );
  let at = 0;
  try {
    for (const cut of [...cuts, stream.length]) {
      const end = Math.min(stream.length, at + Math.max(1, cut));
      reader.push(Uint8Array.from(stream.subarray(at, end)));
      at = end;
    }
  } catch (error) {
    if (!(error instanceof WebSocketError)) throw error;
    return { heard, closeCode: error.closeCode };
  }
  return { heard, closeCode: undefined };
}

const key = fc.uint8Array({ minLength: 4, maxLength: 4 });
const bytesOf = (text: string): Uint8Array => new TextEncoder().encode(text);

describe("the mask", () => {
  it("does what the RFC says, at every alignment and from every phase", () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 200 }), key, fc.nat(7), fc.nat(9), (bytes, mask, lead, phase) => {
        const room = new Uint8Array(lead + bytes.length + 3).fill(0xee);
        const view = room.subarray(lead, lead + bytes.length);
        view.set(bytes);
        unmask(view, mask, phase);
        expect([...view]).toEqual([...bytes].map((byte, at) => byte ^ (mask[(at + phase) % 4] ?? 0)));
        expect(room.subarray(0, lead).every((byte) => byte === 0xee)).toBe(true);
        expect(room.subarray(lead + bytes.length).every((byte) => byte === 0xee)).toBe(true);
      }),
    );
  });

  it("of the example of the RFC gives its bytes", () => {
    const masked = frame({
      opcode: WebSocketOpcode.text,
      payload: bytesOf("Hello"),
      key: Buffer.from("37fa213d", "hex"),
    });
    expect(masked.toString("hex")).toBe("818537fa213d7f9f4d5158");
  });
});

describe("the header", () => {
  it.each([
    [0, 2, "8200"],
    [125, 2, "827d"],
    [126, 4, "827e007e"],
    [65_535, 4, "827effff"],
    [65_536, 10, "827f0000000000010000"],
    [2 ** 32 + 5, 10, "827f0000000100000005"],
  ])("of %i bytes takes %i", (length, size, hex) => {
    const target = new Uint8Array(14);
    expect(webSocketHeaderSize(length, false)).toBe(size);
    expect(writeWebSocketHeader(target, WebSocketOpcode.binary, length)).toBe(size);
    expect(Buffer.from(target.subarray(0, size)).toString("hex")).toBe(hex);
    expect(webSocketHeaderSize(length, true)).toBe(size + 4);
  });
});

describe("the reader", () => {
  const message = fc.record({
    parts: fc.array(fc.uint8Array({ maxLength: 300 }), { minLength: 1, maxLength: 4 }),
    opcode: fc.constantFrom<number>(WebSocketOpcode.text, WebSocketOpcode.binary),
    between: fc.option(fc.uint8Array({ maxLength: 125 })),
    key: fc.option(key),
  });

  it("gives the same messages and control frames however the stream is cut", () => {
    fc.assert(
      fc.property(fc.array(message, { maxLength: 6 }), fc.array(fc.integer({ min: 1, max: 40 })), (messages, cuts) => {
        const stream: Buffer[] = [];
        const expected: Heard[] = [];
        for (const { parts, opcode, between, key: masking } of messages) {
          parts.forEach((payload, index) => {
            const isFinal = index === parts.length - 1;
            const mask = masking === null ? {} : { key: masking };
            if (isFinal && between !== null) {
              stream.push(frame({ opcode: WebSocketOpcode.ping, payload: between, ...mask }));
              expected.push({ kind: WebSocketOpcode.ping, bytes: Buffer.from(between).toString("hex") });
            }
            stream.push(frame({ opcode: index === 0 ? opcode : 0, payload, isFinal, ...mask }));
          });
          expected.push({ kind: opcode, bytes: Buffer.concat(parts).toString("hex") });
        }
        expect(read(Buffer.concat(stream), { cuts })).toEqual({ heard: expected, closeCode: undefined });
      }),
    );
  });

  it("gives values or a WebSocketError for any bytes", () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 100 }), fc.array(fc.integer({ min: 1, max: 9 })), (stream, cuts) => {
        const whole = read(stream);
        expect(read(stream, { cuts })).toEqual(whole);
      }),
    );
  });

  const { protocolError, tooBig } = WebSocketCloseCode;
  const binary = (length: number, rest: Partial<Part> = {}): Buffer =>
    frame({ opcode: WebSocketOpcode.binary, payload: new Uint8Array(length), ...rest });

  it.each<[string, Buffer, Parameters<typeof read>[1], number]>([
    ["without a mask where one must be", binary(1), { masks: "required" }, protocolError],
    ["with a mask where none may be", binary(1, { key: new Uint8Array(4) }), { masks: "forbidden" }, protocolError],
    ["with reserved bits", Buffer.from("c200", "hex"), {}, protocolError],
    ["of an unknown kind", Buffer.from("8300", "hex"), {}, protocolError],
    ["of an unknown control kind", Buffer.from("8b00", "hex"), {}, protocolError],
    ["with a u16 length that fits a byte", Buffer.from("827e007d", "hex"), {}, protocolError],
    ["with a u64 length that fits a u16", Buffer.from("827f000000000000ffff", "hex"), {}, protocolError],
    ["with a length of 2^63", Buffer.from("827f8000000000000000", "hex"), { limits: limits(9, 9) }, tooBig],
    ["that is a ping above 125 bytes", Buffer.from("897e0080", "hex"), {}, protocolError],
    ["that is a ping in parts", Buffer.from("0900", "hex"), {}, protocolError],
    ["that continues nothing", Buffer.from("8000", "hex"), {}, protocolError],
    ["that begins inside a message", Buffer.concat([binary(1, { isFinal: false }), binary(1)]), {}, protocolError],
    ["above the limit of a frame", binary(101), { limits: limits(100, 1000) }, tooBig],
    [
      "that brings its message above the limit",
      Buffer.concat([binary(100, { isFinal: false }), binary(1, { opcode: 0 })]),
      { limits: limits(100, 100) },
      tooBig,
    ],
  ])("refuses a frame %s", (_name, stream, options, closeCode) => {
    expect(read(stream, options).closeCode).toBe(closeCode);
    expect(read(stream, { ...options, cuts: Array.from(stream, () => 1) }).closeCode).toBe(closeCode);
  });

  it("refuses what is too big by its header, before any of it arrived", () => {
    const header = binary(2_000_000).subarray(0, 10);
    expect(read(header, { limits: limits(1_000_000, 1_000_000) }).closeCode).toBe(tooBig);
  });

  it("counts each message for itself", () => {
    const stream = Buffer.concat([binary(100), binary(100), binary(100)]);
    expect(read(stream, { limits: limits(100, 100) }).heard).toHaveLength(3);
  });

  it("says nothing more once it was stopped, also of the same chunk", () => {
    const kinds: number[] = [];
    const reader: WebSocketReader = new WebSocketReader(
      {
        messageStart: (opcode) => {
          kinds.push(opcode);
          reader.stop();
        },
        payload: () => undefined,
        messageEnd: () => undefined,
        control: (opcode) => kinds.push(opcode),
      },
      unlimited,
      "optional",
    );
    reader.push(Buffer.concat([binary(0), binary(0)]));
    expect(kinds).toEqual([WebSocketOpcode.binary]);
  });
});

function limits(maxFrameBytes: number, maxMessageBytes: number): WebSocketLimits {
  return { maxFrameBytes, maxMessageBytes };
}

describe("a close frame", () => {
  it("keeps its code, and what of a reason fits in 123 bytes without cutting a character", () => {
    fc.assert(
      fc.property(
        fc.string({ unit: "grapheme", maxLength: 200 }),
        fc.integer({ min: 3000, max: 4999 }),
        (reason, code) => {
          const payload = writeWebSocketClose(code, reason);
          expect(payload.length).toBeLessThanOrEqual(125);
          const found = readWebSocketClose(payload);
          expect(found.code).toBe(code);
          expect(reason.startsWith(found.reason)).toBe(true);
        },
      ),
    );
  });

  it("without a payload has no code", () => {
    expect(readWebSocketClose(new Uint8Array(0))).toEqual({ code: 1005, reason: "" });
  });

  it.each([
    ["half a code", "03", 1002],
    ["1005, which must not be sent", "03ed", 1002],
    ["1006, which must not be sent", "03ee", 1002],
    ["999", "03e7", 1002],
    ["2000", "07d0", 1002],
    ["5000", "1388", 1002],
    ["a reason that is no UTF-8", "03e8ff", 1007],
  ])("with %s is refused", (_name, hex, closeCode) => {
    expect(() => readWebSocketClose(Buffer.from(hex, "hex"))).toThrow(expect.objectContaining({ closeCode }));
  });
});
