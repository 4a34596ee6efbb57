import { once } from "node:events";
import { get, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import fastify, { type FastifyInstance } from "fastify";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { ReplyBudget } from "../../../src/http/messages/reply-budget.js";
import { sendPieces } from "../../../src/http/server/send-pieces.js";

const PIECE = "x".repeat(64 * 1024);
/** Far more than the sockets of a connection hold. */
const PIECES = 2000;

describe("an answer in pieces", () => {
  let app: FastifyInstance;
  let budget: ReplyBudget;
  let made: number;
  let count: number;
  let fault: Error | undefined;
  let patience: { millis: number; bytesPerMilli: number };

  beforeEach(async () => {
    app = fastify();
    budget = new ReplyBudget(100);
    [made, count, fault] = [0, PIECES, undefined];
    patience = { millis: 60_000, bytesPerMilli: 1 };
    function* pieces(): Generator<string, void> {
      while (made < count) {
        if (fault !== undefined) throw fault;
        made++;
        yield PIECE;
      }
    }
    app.get("/", (_request, reply) =>
      sendPieces(reply, { sizeBytes: 100, pieces, release: budget.take(100) }, "number", patience),
    );
    await app.listen({ host: "127.0.0.1", port: 0 });
  });
  afterEach(() => app.close());

  async function ask(): Promise<IncomingMessage> {
    const { port } = app.server.address() as AddressInfo;
    const request = get({ host: "127.0.0.1", port, path: "/", agent: false });
    const [response] = (await once(request, "response")) as [IncomingMessage];
    return response;
  }

  const lengthOf = async (response: IncomingMessage): Promise<number> => {
    let length = 0;
    for await (const chunk of response as AsyncIterable<Buffer>) length += chunk.length;
    return length;
  };

  it("is whole, and gives its bytes back", async () => {
    count = 20;
    expect(await lengthOf(await ask())).toBe(20 * PIECE.length);
    await vi.waitFor(() => expect(budget.heldBytes).toBe(0));
  });

  it("of one piece has a length", async () => {
    count = 1;
    const response = await ask();
    expect(response.headers["content-length"]).toBe(String(PIECE.length));
    expect(await lengthOf(response)).toBe(PIECE.length);
    expect(budget.heldBytes).toBe(0);
  });

  it("is made only as fast as the client takes it, and holds its bytes meanwhile", async () => {
    const response = await ask();
    response.pause();
    let before = -1;
    // Once the sockets are full nothing more is made.
    while (made !== before) {
      before = made;
      await new Promise((resume) => setTimeout(resume, 200));
    }
    expect(made).toBeLessThan(PIECES / 2);
    expect(budget.heldBytes).toBe(100);
    expect(() => budget.check()).toThrow("clients have not taken earlier replies yet");
    response.destroy();
    await vi.waitFor(() => expect(budget.heldBytes).toBe(0));
    expect(() => budget.check()).not.toThrow();
  });

  it("that a client does not take in time ends with its connection", async () => {
    patience = { millis: 100, bytesPerMilli: 100 };
    const response = await ask();
    response.pause();
    await vi.waitFor(() => expect(budget.heldBytes).toBe(0));
    await expect(lengthOf(response)).rejects.toThrow("aborted");
  });

  it("that can't be made gives its bytes back", async () => {
    fault = new Error("torn");
    const response = await ask();
    expect(response.statusCode).toBe(500);
    expect(budget.heldBytes).toBe(0);
  });
});
