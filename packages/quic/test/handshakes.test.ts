import { createSocket } from "node:dgram";
import { once } from "node:events";
import { describe, expect, onTestFinished, test } from "vitest";
import { readCertificate } from "../src/index.js";
import { fixture, pemOf } from "./support/fixtures.js";
import { echo, listen, TestClient, title, without } from "./support/quic.js";
import { relay } from "./support/udp-relay.js";

const ping = Buffer.from("ping");

describe.skipIf(without)(`handshakes ${title}`, () => {
  test.each(["p256", "p384", "rsa", "ed25519"])("a server with a key of the kind %s is validated", async (kind) => {
    const { port } = listen(echo, { certificate: readCertificate(pemOf(kind)) });
    const client = await TestClient.connect(port, { rejectUnauthorized: true, ca: fixture(`${kind}-cert`) });
    expect(await client.ask(ping)).toEqual(ping);
  });

  test("a chain is sent whole: its root is enough to trust it", async () => {
    const { port } = listen(echo, { certificate: readCertificate(pemOf("chain")) });
    const client = await TestClient.connect(port, { rejectUnauthorized: true, ca: fixture("root-cert") });
    expect(await client.ask(ping)).toEqual(ping);
  });

  test("a certificate that nobody trusts is refused, by a name", async () => {
    const { port } = listen();
    await expect(TestClient.connect(port, { rejectUnauthorized: true })).rejects.toMatchObject({
      code: "QUIC_TLS",
      message: expect.stringMatching(/TLS: this side refused .* (unknown_ca|UnknownIssuer)/) as string,
    });
  });

  test("a certificate for another name is refused", async () => {
    const { port } = listen();
    const dial = { rejectUnauthorized: true, ca: fixture("p256-cert"), serverName: "other.example" };
    await expect(TestClient.connect(port, dial)).rejects.toMatchObject({
      code: "QUIC_TLS",
      message: expect.stringContaining("other.example") as string,
    });
  });

  test("a client that offers ALPN is refused, and told so", async () => {
    const { port } = listen();
    await expect(TestClient.connect(port, { protocols: ["h3"] })).rejects.toMatchObject({
      code: "QUIC_TLS",
      detail: 120,
      message: expect.stringContaining("no_application_protocol") as string,
    });
    expect(await (await TestClient.connect(port)).ask(ping)).toEqual(ping);
  });

  test("another certificate serves the connections that come from then on", async () => {
    const { port, listener } = listen();
    const early = await TestClient.connect(port, { rejectUnauthorized: true, ca: fixture("p256-cert") });
    listener.setCertificate(readCertificate(pemOf("p384")));
    const late = await TestClient.connect(port, { rejectUnauthorized: true, ca: fixture("p384-cert") });
    expect(await early.ask(ping)).toEqual(ping);
    expect(await late.ask(ping)).toEqual(ping);
    await expect(
      TestClient.connect(port, { rejectUnauthorized: true, ca: fixture("p256-cert") }),
    ).rejects.toMatchObject({ code: "QUIC_TLS" });
  });

  test("without an answer the error says so, within its time", async () => {
    const mute = createSocket("udp4");
    mute.bind(0, "127.0.0.1");
    await once(mute, "listening");
    onTestFinished(() => {
      mute.close();
    });
    const { port } = mute.address();
    const started = performance.now();
    await expect(TestClient.connect(port, { connectMillis: 300 })).rejects.toMatchObject({
      code: "QUIC_NO_ANSWER",
      message: expect.stringContaining("UDP is blocked") as string,
    });
    await expect(TestClient.connect(port, { initialMtu: 9000, connectMillis: 300 })).rejects.toMatchObject({
      code: "QUIC_NO_ANSWER",
      message: expect.stringContaining("datagrams of 9000 bytes (initial MTU)") as string,
    });
    await expect(TestClient.connect(port, {}, AbortSignal.timeout(300))).rejects.toMatchObject({
      code: "QUIC_NO_ANSWER",
    });
    expect(performance.now() - started).toBeLessThan(5000);
  });

  test("a path on which only small datagrams come back is named as one", async () => {
    const { port } = listen();
    // Nothing of the server but what is small: the handshake can't end.
    const path = await relay(port, (datagram, direction) => direction === "in" || datagram.length < 1000);
    await expect(TestClient.connect(path, { connectMillis: 1500 })).rejects.toMatchObject({
      code: expect.stringMatching(/QUIC_INCOMPLETE|QUIC_NO_ANSWER/) as string,
    });
  });

  test("a path MTU of 1280 carries everything", async () => {
    const { port, accepted } = listen();
    const path = await relay(port, (datagram) => datagram.length <= 1280 - 28);
    const client = await TestClient.connect(path);
    const bytes = Buffer.alloc(500_000, "mtu");
    expect(Buffer.compare(await client.ask(bytes), bytes)).toBe(0);
    expect(accepted[0]!.connection.mtu).toBeLessThanOrEqual(1252);
    expect(client.client.mtu).toBeGreaterThanOrEqual(1200);
  });

  test("a fifth of all datagrams may be lost", async () => {
    const { port } = listen();
    let count = 0;
    const path = await relay(port, () => ++count % 5 !== 0);
    const client = await TestClient.connect(path);
    const bytes = Buffer.alloc(200_000, "loss");
    for (let i = 0; i < 5; i++) expect(Buffer.compare(await client.ask(bytes), bytes)).toBe(0);
  });
});
