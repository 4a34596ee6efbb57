import { PassThrough, type Readable } from "node:stream";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { BodyReceiver } from "../../../src/http/server/receive-body.js";

type Body = Readable & { readonly headers: Readonly<Record<string, string>> };
const bodyOf = (stream: PassThrough, headers = {}): Body => Object.assign(stream, { headers });

describe("a body", () => {
  it("is received whole however it is cut, in at most twice its room", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.uint8Array({ minLength: 1, maxLength: 3000 }), { maxLength: 20 }),
        async (chunks) => {
          const receiver = new BodyReceiver(100_000);
          const stream = new PassThrough();
          const receiving = receiver.receive(bodyOf(stream));
          let length = 0;
          for (const chunk of chunks) {
            stream.write(chunk);
            length += chunk.length;
            await new Promise(setImmediate);
            expect(receiver.heldBytes).toBeLessThanOrEqual(Math.max(4096, 2 * length));
          }
          stream.end();
          expect(Buffer.compare(await receiving, Buffer.concat(chunks))).toBe(0);
          expect(receiver.heldBytes).toBe(0);
        },
      ),
      { numRuns: 50 },
    );
  });

  it("that says to be too large is refused unread", async () => {
    const receiver = new BodyReceiver(10);
    const refused = receiver.receive(bodyOf(new PassThrough(), { "content-length": "11" }));
    await expect(refused).rejects.toMatchObject({ status: 413, headers: { connection: "close" } });
  });

  it("that turns out to be too large is refused, and its room is free again", async () => {
    const receiver = new BodyReceiver(10);
    const stream = new PassThrough();
    const refused = expect(receiver.receive(bodyOf(stream))).rejects.toMatchObject({ status: 413 });
    stream.write(Buffer.alloc(10));
    stream.write(Buffer.alloc(1));
    await refused;
    expect(receiver.heldBytes).toBe(0);
  });

  it("finds no room while others take it, and finds some afterwards", async () => {
    const receiver = new BodyReceiver(8192, 8192);
    const [first, second, third] = [new PassThrough(), new PassThrough(), new PassThrough()];
    const receiving = receiver.receive(bodyOf(first));
    first.write(Buffer.alloc(5000));
    await new Promise(setImmediate);
    const refused = expect(receiver.receive(bodyOf(second))).rejects.toMatchObject({
      status: 503,
      code: "server_busy",
    });
    second.write(Buffer.alloc(5000));
    await refused;
    first.end();
    expect((await receiving).length).toBe(5000);
    const later = receiver.receive(bodyOf(third));
    third.end(Buffer.alloc(5000));
    expect((await later).length).toBe(5000);
  });

  it("whose client goes away gives its room back", async () => {
    const receiver = new BodyReceiver(8192);
    const stream = new PassThrough();
    const refused = expect(receiver.receive(bodyOf(stream))).rejects.toMatchObject({ code: "incomplete_body" });
    stream.write(Buffer.alloc(100));
    await new Promise(setImmediate);
    expect(receiver.heldBytes).toBe(4096);
    stream.destroy();
    await refused;
    expect(receiver.heldBytes).toBe(0);
  });
});
