import * as v from "valibot";
import { inspect } from "node:util";
import { expect, expectTypeOf, test } from "vitest";
import { z } from "zod";
import { InvalidPayloadError, jsonPayload, type PayloadCodec, schemaPayload, ValidationError } from "../src/index.js";

const text = (payload: string | Uint8Array): string =>
  typeof payload === "string" ? payload : new TextDecoder().decode(payload);
const payloadOf = (value: string): Uint8Array => new TextEncoder().encode(value);

const zodOrder = z.object({ id: z.number().int(), note: z.string().default("none") });
const valibotOrder = v.object({ id: v.pipe(v.number(), v.integer()), note: v.optional(v.string(), "none") });

test.each([
  ["zod", jsonPayload(zodOrder)],
  ["valibot", jsonPayload(valibotOrder)],
])("a schema of %s checks what is sent and what was read", async (_library, codec) => {
  expect(text(await codec.encode({ id: 7 }))).toBe('{"id":7}');
  expect(await codec.decode(payloadOf('{"id":7}'))).toEqual({ id: 7, note: "none" });
  await expect((async () => codec.encode({ id: 1.5 }))()).rejects.toBeInstanceOf(InvalidPayloadError);
  await expect((async () => codec.decode(payloadOf('{"id":"7"}')))()).rejects.toMatchObject({
    code: 4,
    name: "InvalidPayloadError",
    context: { places: ["id"] },
  });
});

test("a codec has the types of its schema: what it takes, and what it makes of it", () => {
  const when = z.object({ at: z.string().transform((iso) => new Date(iso)) });
  const codec = jsonPayload(when);
  expectTypeOf(codec).toEqualTypeOf<PayloadCodec<{ at: string }, { at: Date }>>();
  expect(codec.encode({ at: "2020-01-01T00:00:00Z" })).toBe('{"at":"2020-01-01T00:00:00Z"}');
  expect(codec.decode(payloadOf('{"at":"2020-01-01T00:00:00Z"}'))).toEqual({ at: new Date("2020-01-01") });
});

test("a schema that answers later is waited for", async () => {
  const codec = jsonPayload(z.string().refine(async (value) => (await Promise.resolve(value)) === "right"));
  expect(await codec.encode("right")).toBe('"right"');
  await expect((async () => codec.encode("wrong"))()).rejects.toBeInstanceOf(InvalidPayloadError);
  await expect((async () => codec.decode(payloadOf('"wrong"')))()).rejects.toBeInstanceOf(InvalidPayloadError);
});

test("errors name places and keep what was there to themselves", () => {
  const codec = jsonPayload(v.object({ customer: v.object({ emails: v.array(v.pipe(v.string(), v.email())) }) }));
  const secret = "hunter2-not-an-address";
  let error: unknown;
  try {
    void codec.encode({ customer: { emails: ["a@b.example", secret] } });
  } catch (thrown) {
    error = thrown;
  }
  if (!(error instanceof InvalidPayloadError)) throw new Error("expected a refusal");
  expect(error).toBeInstanceOf(ValidationError);
  expect(error.message).toContain("customer.emails.1");
  expect(error.issues).toHaveLength(1);
  for (const shown of [inspect(error, { depth: 9 }), JSON.stringify(error), String(error)]) {
    expect(shown).not.toContain("hunter2");
  }
});

test.each([
  ["text that is no JSON", payloadOf("hunter2 {")],
  ["bytes that are no text", Uint8Array.of(0xff, 0xfe)],
])("%s is refused without being repeated", (_what, payload) => {
  let error: unknown;
  try {
    void jsonPayload().decode(payload);
  } catch (thrown) {
    error = thrown;
  }
  expect(error).toBeInstanceOf(InvalidPayloadError);
  expect(inspect(error, { depth: 9 })).not.toContain("hunter2");
});

test.each([
  ["undefined", undefined],
  ["a bigint", 5n],
  ["a function", () => 1],
])("%s has no form in JSON", (_what, value) => {
  expect(() => jsonPayload().encode(value)).toThrow(InvalidPayloadError);
});

test("any other format takes a schema as well", async () => {
  const hex: PayloadCodec<{ readonly id: number }, unknown> = {
    encode: ({ id }) => Uint8Array.of(id),
    decode: (payload) => ({ id: payload[0] }),
  };
  const codec = schemaPayload(z.object({ id: z.number().max(200) }), hex);
  expect(await codec.encode({ id: 7 })).toEqual(Uint8Array.of(7));
  expect(await codec.decode(Uint8Array.of(8))).toEqual({ id: 8 });
  await expect((async () => codec.decode(Uint8Array.of(201)))()).rejects.toBeInstanceOf(InvalidPayloadError);
});

test("what is no schema is refused when the codec is made", () => {
  expect(() => jsonPayload({} as typeof zodOrder)).toThrow(/Standard Schema/);
});
