import { createSocket, type Socket } from "node:dgram";
import { once } from "node:events";
import { onTestFinished } from "vitest";

/** Decides about one datagram: true lets it pass. */
export type Passes = (datagram: Buffer, direction: "in" | "out") => boolean;

/** A path between clients and a server on which datagrams may be lost. Gives its port. */
export async function relay(serverPort: number, passes: Passes): Promise<number> {
  const front = createSocket("udp4");
  const backs = new Map<number, Socket>();
  front.on("message", (datagram, { port }) => {
    let back = backs.get(port);
    if (back === undefined) {
      back = createSocket("udp4");
      back.on("message", (answer) => {
        if (passes(answer, "out")) front.send(answer, port, "127.0.0.1");
      });
      backs.set(port, back);
    }
    if (passes(datagram, "in")) back.send(datagram, serverPort, "127.0.0.1");
  });
  front.bind(0, "127.0.0.1");
  await once(front, "listening");
  onTestFinished(() => {
    front.close();
    for (const back of backs.values()) back.close();
  });
  return front.address().port;
}
