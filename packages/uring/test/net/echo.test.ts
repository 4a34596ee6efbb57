import { randomBytes } from "node:crypto";
import { afterEach, beforeEach, expect, test } from "vitest";
import type { RingListener } from "../../src/index.js";
import { connect, echo, readAll, serve } from "../support/sink.js";
import { openUring, type Uring, withRing } from "../support/uring.js";

withRing("a stream that echoes", (addon) => {
  let uring: Uring;
  let listener: RingListener;

  beforeEach(() => {
    uring = openUring(addon);
    listener = serve(uring, echo);
  });

  afterEach(async () => {
    await listener.close();
    await uring.close();
  });

  test.each([1, 2, 1000, 4096, 65_536, 65_537, 1_000_003, 8 * 1024 * 1024])("returns %i bytes", async (length) => {
    const sent = randomBytes(length);
    const socket = await connect(listener.port);
    const received = readAll(socket);
    socket.end(sent);
    expect((await received).equals(sent)).toBe(true);
  });
});
