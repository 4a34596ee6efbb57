import { commands, decode, errorName, getMetadataChanges, Operation } from "@iggy/protocol";
import { MetadataMachine } from "@iggy/engine";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { steps, Workload } from "./workload.js";

/** A valid body with some bytes changed, cut off or added. */
const damaged = (body: Uint8Array): fc.Arbitrary<Uint8Array> =>
  fc
    .record({
      flips: fc.array(fc.tuple(fc.nat(Math.max(0, body.length - 1)), fc.integer({ min: 1, max: 255 })), {
        maxLength: 4,
      }),
      length: fc.oneof(fc.constant(body.length), fc.nat(body.length)),
      tail: fc.uint8Array({ maxLength: 6 }),
    })
    .map(({ flips, length, tail }) => {
      const bytes = new Uint8Array([...body.subarray(0, length), ...tail]);
      for (const [at, bits] of flips) if (at < bytes.length) bytes[at] = (bytes[at] ?? 0) ^ bits;
      return bytes;
    });

const random = fc.uint8Array({ maxLength: 200 });

/** A state is sound when a snapshot of it reads back, and every read of it has an answer. */
function expectSound({ node, root }: Workload): void {
  const bytes = node.machine.snapshot();
  expect(Buffer.compare(MetadataMachine.restore(bytes, node.config).snapshot(), bytes)).toBe(0);
  for (const { code } of commands) {
    if (!node.machine.answers(code)) continue;
    const answer = node.machine.read(code, new Uint8Array(0), 0, root.client, node.stats);
    expect("payload" in answer || errorName(answer.status) !== "").toBe(true);
  }
}

describe("a body that no primary wrote", () => {
  it("has a code, whatever the operation", async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(fc.tuple(fc.nat(255), random, fc.boolean()), { minLength: 40 }), async (bodies) => {
        const workload = await Workload.start();
        const { node, root } = workload;
        for (const [operation, body, byServer] of bodies) {
          const { code } = byServer
            ? node.applyServer({ operation, client: 0n, session: 0, body })
            : node.applyRaw(node.machine.session(root.client) === undefined ? node.signIn() : root, operation, body);
          expect(errorName(code)).toBeTypeOf("string");
        }
        expectSound(workload);
      }),
      { numRuns: 40 },
    );
  });

  it("has a code when it is nearly right", async () => {
    await fc.assert(
      fc.asyncProperty(steps(30), fc.nat(), fc.gen(), async (list, seed, generate) => {
        const workload = await Workload.start();
        for (const step of list) await workload.run(step);
        const { node, root } = workload;
        // Every operation of the history once more, damaged, by the server so that nothing is a repetition.
        node.log.slice(seed % node.log.length).forEach(({ operation, body }) => {
          if (operation === Operation.Register) return;
          const bytes = generate(damaged, body);
          node.applyServer({ operation, client: root.client, session: root.session, body: bytes });
        });
        expectSound(workload);
      }),
      { numRuns: 60 },
    );
  });
});

describe("a request that no client would send", () => {
  it("is denied or ordered, and never throws", async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(fc.tuple(fc.nat(255), random), { minLength: 40 }), async (requests) => {
        const workload = await Workload.start();
        const { node } = workload;
        for (const [operation, body] of requests) {
          const { code } = await node.sendBody(workload.client(0), operation, body);
          expect(errorName(code)).toBeTypeOf("string");
        }
        expectSound(workload);
      }),
      { numRuns: 30 },
    );
  });

  it("gets an answer to a read of any payload", async () => {
    const { node, root } = await Workload.start();
    const readable = commands.filter(({ code }) => node.machine.answers(code));
    expect(readable).toHaveLength(12);
    fc.assert(
      fc.property(fc.constantFrom(...readable), random, ({ code }, payload) => {
        const answer = node.machine.read(code, payload, 0, root.client, node.stats);
        expect("status" in answer ? errorName(answer.status) : "ok").toBeTypeOf("string");
      }),
      { numRuns: 500 },
    );
  });

  it("leaves pages of changes readable", async () => {
    const workload = await Workload.start();
    const { node, root } = workload;
    const answer = node.machine.read(getMetadataChanges.code, new Uint8Array(54), 0, root.client, node.stats);
    if ("payload" in answer) expect(decode(getMetadataChanges.response, answer.payload).status).toBe(0);
    else expect(answer.status).toBe(3);
  });
});
