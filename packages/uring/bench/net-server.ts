// The way without the addon: sockets and files of Node.js.
import fs from "node:fs";
import net from "node:net";
import { FILE_BYTES, type Shape } from "./shapes.js";

export function serveByNet(shape: Shape, path: string): Promise<number> {
  const descriptor = fs.openSync(path, "w+");
  const reply = new Uint8Array(shape.replyBytes);
  let position = 0;
  const server = net.createServer({ noDelay: true }, (socket) => {
    let chunks: Uint8Array[] = [];
    let have = 0;
    const answer = (): void => void socket.write(reply);
    const frame = (pieces: Uint8Array[]): void => {
      if (!shape.writes) {
        answer();
        return;
      }
      if (position + shape.requestBytes > FILE_BYTES) position = 0;
      fs.writev(descriptor, pieces, position, (error) => {
        if (error) throw error;
        answer();
      });
      position += shape.requestBytes;
    };
    socket.on("data", (chunk: Uint8Array) => {
      let rest = chunk;
      socket.cork();
      while (have + rest.length >= shape.requestBytes) {
        const cut = shape.requestBytes - have;
        frame([...chunks, rest.subarray(0, cut)]);
        rest = rest.subarray(cut);
        chunks = [];
        have = 0;
      }
      process.nextTick(() => socket.uncork());
      if (rest.length > 0) chunks.push(rest);
      have += rest.length;
    });
    socket.on("error", () => undefined);
  });
  return new Promise((resolve) => {
    server.listen(0, "127.0.0.1", () => resolve((server.address() as net.AddressInfo).port));
  });
}
