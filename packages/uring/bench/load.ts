import net from "node:net";
import type { Shape } from "./shapes.js";

export interface Load {
  readonly requests: number;
  readonly seconds: number;
}

/** Keeps `depth` requests under way on every connection for some seconds. */
export async function load(shape: Shape, port: number, seconds: number): Promise<Load> {
  const request = new Uint8Array(shape.requestBytes);
  let requests = 0;
  let isRunning = true;
  const sockets = await Promise.all(
    Array.from({ length: shape.connections }, () => {
      const socket = net.connect({ port, host: "127.0.0.1", noDelay: true });
      let received = 0;
      socket.on("data", (chunk: Uint8Array) => {
        received += chunk.length;
        socket.cork();
        for (; received >= shape.replyBytes; received -= shape.replyBytes) {
          requests++;
          if (isRunning) socket.write(request);
        }
        socket.uncork();
      });
      socket.on("error", () => undefined);
      return new Promise<net.Socket>((resolve) => socket.once("connect", () => resolve(socket)));
    }),
  );
  const startedAt = performance.now();
  for (const socket of sockets) for (let sent = 0; sent < shape.depth; sent++) socket.write(request);
  await new Promise((wake) => setTimeout(wake, seconds * 1000));
  isRunning = false;
  const result = { requests, seconds: (performance.now() - startedAt) / 1000 };
  for (const socket of sockets) socket.destroy();
  return result;
}
