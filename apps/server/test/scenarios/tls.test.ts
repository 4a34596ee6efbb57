import { connect } from "node:tls";
import { createStream, getMe, getStreams } from "@iggy/protocol";
import { afterAll, beforeAll, expect, it } from "vitest";
import { type RunningServer, startServer } from "../start-server.js";
import { first, freshPartition, outcome, RawLink, RawSession, Seeded, sleep, textOf } from "../raw-client/index.js";

let server: RunningServer;
let session: RawSession;

beforeAll(async () => {
  server = await startServer({
    config: { "tcp.tls.enabled": true, "tcp.tls.self_signed": true, "message_bus.handshake_grace": "500ms" },
  });
  session = await RawSession.open(server.port, undefined, { tls: true });
});
afterAll(async () => {
  await session.close();
  await server.close();
});

it("a client that speaks TLS does everything that others do", async () => {
  const partition = await freshPartition(session);
  const payload = Buffer.alloc(1_000_000, "tls");
  await partition.send([{ payload, originTimestamp: 1 }]);
  expect(Buffer.compare((await partition.poll(first)).messages[0]!.payload, payload)).toBe(0);
  const other = await RawLink.connect(server.port, { tls: true });
  const { link } = session;
  expect(outcome(await session.bind(other))).toBe("ok");
  session.link = link;
  await other.end();
});

it("the certificate is for loopback, has a P-256 key, and the version is a current one", async () => {
  const socket = connect({ host: "127.0.0.1", port: server.port, rejectUnauthorized: false });
  await new Promise((resolve) => socket.once("secureConnect", resolve));
  const certificate = socket.getPeerCertificate();
  expect(certificate.subjectaltname).toContain("localhost");
  expect(certificate.subjectaltname).toContain("127.0.0.1");
  expect("nistCurve" in certificate && certificate.nistCurve).toBe("P-256");
  expect(socket.getProtocol()).toMatch(/^TLSv1\.[23]$/);
  // P-256 with SHA-256 is the one scheme that official clients offer when they don't check.
  const picky = connect({
    host: "127.0.0.1",
    port: server.port,
    rejectUnauthorized: false,
    sigalgs: "ecdsa_secp256r1_sha256",
  });
  await new Promise((resolve, reject) => picky.once("secureConnect", resolve).once("error", reject));
  picky.destroy();
  socket.destroy();
});

it("plain frames, noise and silence are cut off, and nobody else notices", async () => {
  const plain = await RawLink.connect(server.port);
  plain.write(session.frame(getMe, new Uint8Array(0)));
  expect(await plain.closes(3000)).toBe(true);
  const random = new Seeded(5);
  for (let i = 0; i < 20; i++) {
    const noise = await RawLink.connect(server.port);
    noise.socket.removeAllListeners("data");
    noise.write(random.bytes(1 + random.integer(3000)));
    noise.socket.resume();
    await sleep(1);
  }
  const silent = await RawLink.connect(server.port);
  expect(await silent.closes(3000)).toBe(true);
  expect(await session.try(createStream, { name: "after", options: [] })).toBe("ok");
  expect((await session.call(getStreams, {})).streams.map(({ name }) => name)).toContain("after");
  expect(textOf({ payload: Buffer.from("alive") })).toBe("alive");
});
