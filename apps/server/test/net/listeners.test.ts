import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Server, type Socket } from "node:net";
import { afterEach, describe, expect, it } from "vitest";
import { AcceptedSockets } from "../../src/net/accepted-sockets.js";
import type { Listener } from "../../src/net/listener.js";
import { ListenError, Listeners, withBoundPorts } from "../../src/net/listeners.js";
import { SocketSlots } from "../../src/net/socket-slots.js";
import { read } from "../config/read.js";

class FakeListener implements Listener {
  readonly port: number;
  readonly calls: string[] = [];

  constructor(port: number) {
    this.port = port;
  }

  stopAccepting(): void {
    this.calls.push("stop");
  }

  destroyConnections(): void {
    this.calls.push("destroy");
  }

  close(): void {
    this.calls.push("close");
  }
}

const configOf = (toml = ""): ReturnType<typeof read>["config"] => read({ toml }).config;

describe("listeners", () => {
  it("are opened where the transport is switched on, and publish the ports they bound", async () => {
    const config = configOf("quic.enabled = false");
    const opened: string[] = [];
    const opener = (name: string, port: number) => () => {
      opened.push(name);
      return Promise.resolve(new FakeListener(port));
    };
    const listeners = await Listeners.open(config, {
      tcp: opener("tcp", 1001),
      websocket: opener("websocket", 1002),
      quic: opener("quic", 1003),
    });
    expect(opened).toEqual(["tcp", "websocket"]);
    expect(listeners.ports).toEqual({ tcp: 1001, websocket: 1002, quic: 0, http: 0 });
    expect(listeners.addresses).toEqual({ tcp: "127.0.0.1:1001", websocket: "127.0.0.1:1002" });
    const shown = withBoundPorts(config, listeners.ports);
    expect([shown.tcp, shown.websocket, shown.quic].map(({ address }) => address.port)).toEqual([1001, 1002, 8080]);
  });

  it("that can't be had on this machine count as switched off", async () => {
    const listeners = await Listeners.open(configOf(), { quic: () => Promise.resolve(undefined) });
    expect(listeners.ports.quic).toBe(0);
    expect(listeners.addresses).toEqual({});
  });

  it("that can't be opened are all named, with what to do, and the others are closed again", async () => {
    const tcp = new FakeListener(1001);
    const failure: unknown = await Listeners.open(configOf(), {
      tcp: () => Promise.resolve(tcp),
      websocket: () => Promise.reject(new Error("listen EADDRINUSE: address already in use")),
      http: () => Promise.reject(new Error("no such file: cert.pem")),
    }).catch((error: unknown) => error);
    expect(failure).toBeInstanceOf(ListenError);
    const message = String(failure);
    expect(message).toContain("2 listeners can't be opened");
    expect(message).toMatch(/websocket\.address = 127\.0\.0\.1:8092: .*in use; .*IGGY_WEBSOCKET_ENABLED/);
    expect(message).toMatch(/http\.address = 127\.0\.0\.1:3000: no such file: cert\.pem/);
    expect(tcp.calls).toEqual(["close"]);
  });

  it("are stopped and closed together, also when one of them fails", async () => {
    const [tcp, websocket] = [new FakeListener(1), new FakeListener(2)];
    tcp.close = () => {
      throw new Error("stuck");
    };
    const listeners = await Listeners.open(configOf(), {
      tcp: () => Promise.resolve(tcp),
      websocket: () => Promise.resolve(websocket),
    });
    listeners.stopAccepting();
    listeners.destroyConnections();
    await expect(listeners.close()).rejects.toThrow("stuck");
    expect(tcp.calls).toEqual(["stop", "destroy"]);
    expect(websocket.calls).toEqual(["stop", "destroy", "close"]);
  });
});

describe("the limit of open sockets", () => {
  const servers: Server[] = [];
  const sockets: Socket[] = [];
  afterEach(() => {
    for (const socket of sockets.splice(0)) socket.destroy();
    for (const server of servers.splice(0)) server.close();
  });

  /** A server that sends a byte to whoever it accepts. */
  async function greeter(slots: SocketSlots): Promise<number> {
    const server = createServer((socket) => socket.end("!")).listen(0, "127.0.0.1");
    servers.push(server);
    new AcceptedSockets(server, slots);
    await once(server, "listening");
    return (server.address() as AddressInfo).port;
  }

  /** What arrives until the server ends its side. */
  async function greeting(port: number): Promise<{ text: string; socket: Socket }> {
    const socket = connect({ port, host: "127.0.0.1", allowHalfOpen: true });
    sockets.push(socket);
    let text = "";
    socket.on("data", (chunk) => (text += String(chunk)));
    socket.on("error", () => undefined);
    await Promise.race([once(socket, "end"), once(socket, "close")]);
    return { text, socket };
  }

  it("holds for all listeners together, and what closes makes room", async () => {
    const slots = new SocketSlots(2);
    const [one, other] = [await greeter(slots), await greeter(slots)];
    const first = await greeting(one);
    const second = await greeting(other);
    expect([first.text, second.text]).toEqual(["!", "!"]);
    expect((await greeting(one)).text).toBe("");
    expect((await greeting(other)).text).toBe("");
    first.socket.end();
    await once(first.socket, "close");
    await expect.poll(async () => (await greeting(other)).text).toBe("!");
  });
});
