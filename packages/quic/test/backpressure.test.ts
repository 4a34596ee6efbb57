import { describe, expect, test } from "vitest";
import { listen, silent, TestClient, title, until, without } from "./support/quic.js";

const MIB = 1024 * 1024;

describe.skipIf(without)(`backpressure ${title}`, () => {
  test("a server that answers nothing reads no further; flow control stops the client", async () => {
    const { port, accepted } = listen(silent, {
      unansweredBytesHigh: 4 * MIB,
      receiveWindowBytes: MIB,
      streamReceiveWindowBytes: MIB,
      messageBytesMax: 2 * MIB,
    });
    const client = await TestClient.connect(port, { sendWindowBytes: MIB });
    for (let i = 0; i < 40; i++) client.client.request(Buffer.alloc(MIB));
    await until(() => (accepted[0]?.messages.length ?? 0) >= 4);
    expect(client.client.isCongested).toBe(true);
    const [{ connection, messages }] = accepted as [(typeof accepted)[0]];
    // What was under way may still end; then nothing moves until something is answered.
    await until(() => connection.quietMillis > 300);
    const before = messages.length;
    expect(before).toBeLessThan(16);
    expect(client.client.isCongested).toBe(true);
    let answered = 0;
    await until(() => {
      for (; answered < messages.length; answered++) connection.respond(messages[answered]!.stream, []);
      return client.replies.size === 40;
    });
    expect(client.client.isCongested).toBe(false);
    expect(client.drains).toBeGreaterThan(0);
  });

  test("a client that does not take its replies leaves them waiting at the server, which is told when they went", async () => {
    const { port, accepted } = listen(silent, { sendWindowBytes: MIB });
    const client = await TestClient.connect(port, { receiveWindowBytes: MIB });
    for (let i = 0; i < 40; i++) client.client.request(Buffer.from("?"));
    await until(() => accepted[0]?.messages.length === 40);
    const [seen] = accepted as [(typeof accepted)[0]];
    for (const { stream } of seen.messages) seen.connection.respond(stream, [Buffer.alloc(2 * MIB)]);
    // 80 MiB take longer to leave than to be given, and QUIC takes no more than its window.
    expect(seen.connection.queuedBytes).toBeGreaterThan(4 * MIB);
    await until(() => client.replies.size === 40);
    await until(() => seen.connection.queuedBytes === 0);
    expect(seen.drains).toBeGreaterThan(0);
  });

  test("unfinished requests are bounded: a client that sends too much side by side is closed", async () => {
    const { port, accepted } = listen(silent, { messageBytesMax: 64 * 1024 });
    const client = await TestClient.connect(port);
    // Each is of an allowed size, but they arrive side by side.
    for (let i = 0; i < 200; i++) client.client.request(Buffer.alloc(64 * 1024));
    await until(() => client.isClosed);
    expect(client.error).toMatchObject({ detail: 0x1004 });
    expect(client.error?.message).toContain("unfinished requests");
    // The client may know of the end before this thread of the server knew of the connection.
    await until(() => accepted.length === 1);
    expect(accepted[0]!.messages.length).toBeLessThan(200);
  });
});
