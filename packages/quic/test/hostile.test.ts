import { createSocket } from "node:dgram";
import { once } from "node:events";
import fc from "fast-check";
import { describe, expect, onTestFinished, test } from "vitest";
import { listen, TestClient, title, until, without } from "./support/quic.js";
import { relay } from "./support/udp-relay.js";

const seed = Number(process.env["IGGY_TEST_SEED"] ?? 7);

describe.skipIf(without)(`hostile datagrams ${title}`, () => {
  test("noise of any length and shape changes nothing for others", async () => {
    const { port, accepted } = listen();
    const client = await TestClient.connect(port);
    const socket = createSocket("udp4");
    onTestFinished(() => {
      socket.close();
    });
    // Long headers with a version of ours reach deeper than bytes that look like nothing.
    const long = fc
      .tuple(
        fc.integer({ min: 0x80, max: 0xff }),
        fc.constantFrom(1, 0, 0x6b3343cf),
        fc.uint8Array({ maxLength: 1400 }),
      )
      .map(([first, version, rest]) => {
        const head = Buffer.alloc(5);
        head[0] = first;
        head.writeUInt32BE(version, 1);
        return Buffer.concat([head, rest]);
      });
    const noise = fc.oneof(fc.uint8Array({ maxLength: 1500 }), long);
    for (const datagram of fc.sample(noise, { seed, numRuns: 5000 })) {
      socket.send(datagram, port, "127.0.0.1");
      if (datagram.length % 100 === 0) await client.ask(Buffer.from("alive"));
    }
    expect(await client.ask(Buffer.from("alive"))).toEqual(Buffer.from("alive"));
    expect(accepted.length).toBe(1);
  });

  test("real datagrams that are damaged, repeated, cut and mixed up break nothing but their own connection", async () => {
    const { port } = listen();
    const bystander = await TestClient.connect(port);
    const random = fc.sample(fc.nat(0xffff), { seed, numRuns: 20_000 });
    let at = 0;
    const next = (): number => random[at++ % random.length] ?? 0;
    const attacker = createSocket("udp4");
    onTestFinished(() => {
      attacker.close();
    });
    const path = await relay(port, (datagram) => {
      const damaged = Buffer.from(datagram);
      for (let i = 0; i <= next() % 3; i++) damaged[next() % damaged.length] = next();
      attacker.send(damaged.subarray(0, 1 + (next() % damaged.length)), port, "127.0.0.1");
      attacker.send(damaged, port, "127.0.0.1");
      attacker.send(datagram, port, "127.0.0.1");
      if (next() % 4 === 0) datagram[next() % datagram.length] = next();
      return true;
    });
    for (let round = 0; round < 5; round++) {
      const victim = await TestClient.connect(path, { connectMillis: 1500 }).catch(() => undefined);
      for (let i = 0; victim !== undefined && i < 20; i++) victim.client.request(Buffer.alloc(2000, i));
      await bystander.ask(Buffer.from("alive"));
    }
    expect(await bystander.ask(Buffer.from("alive"))).toEqual(Buffer.from("alive"));
    expect(await (await TestClient.connect(port)).ask(Buffer.from("new"))).toEqual(Buffer.from("new"));
  });

  test("a flood of first datagrams does not keep others out", async () => {
    const { port } = listen();
    const captured: Buffer[] = [];
    const path = await relay(port, (datagram, direction) => {
      if (direction === "in" && datagram.length >= 1200 && captured.length < 1) captured.push(Buffer.from(datagram));
      return true;
    });
    await TestClient.connect(path);
    const [initial] = captured as [Buffer];
    const sockets = Array.from({ length: 50 }, () => createSocket("udp4"));
    onTestFinished(() => {
      for (const socket of sockets) socket.close();
    });
    await Promise.all(
      sockets.map(async (socket) => {
        socket.bind(0, "127.0.0.1");
        await once(socket, "listening");
        for (let i = 0; i < 20; i++) socket.send(initial, port, "127.0.0.1");
      }),
    );
    expect(await (await TestClient.connect(port)).ask(Buffer.from("in"))).toEqual(Buffer.from("in"));
  });

  test("connections that come and go by the hundred leave nothing behind", async () => {
    const { port, accepted } = listen();
    for (let round = 0; round < 10; round++) {
      const clients = await Promise.all(Array.from({ length: 20 }, () => TestClient.connect(port)));
      for (const client of clients) {
        client.client.request(Buffer.alloc(100_000));
        client.client.close();
      }
    }
    await until(() => accepted.length === 200 && accepted.every(({ ending }) => ending !== undefined));
    expect(await (await TestClient.connect(port)).ask(Buffer.from("ok"))).toEqual(Buffer.from("ok"));
  });
});
