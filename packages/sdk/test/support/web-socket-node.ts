import { createHash } from "node:crypto";
import { WebSocketOpcode, WebSocketReader, webSocketHeaderSize, writeWebSocketHeader } from "@iggy/protocol";
import type { ScriptedNode, Wire } from "./scripted-node.js";

/** The server's side of a WebSocket over a wire in memory: takes the upgrade, then one message per frame each way. */
export function acceptWebSocket(node: ScriptedNode, wire: Wire): (chunk: Uint8Array) => void {
  let request = "";
  let isUpgraded = false;
  const take = node.accept({
    write: (bytes) => wire.write(serverFrame(WebSocketOpcode.binary, bytes)),
    end: () => wire.end(),
    reset: () => wire.reset(),
  });
  const reader = new WebSocketReader(
    {
      messageStart: () => undefined,
      payload: take,
      messageEnd: () => undefined,
      control: (opcode) => {
        if (opcode === WebSocketOpcode.close) wire.end();
      },
    },
    { maxFrameBytes: Infinity, maxMessageBytes: Infinity },
    "required",
  );
  return (chunk) => {
    if (isUpgraded) {
      reader.push(Uint8Array.from(chunk));
      return;
    }
    request += Buffer.from(chunk).toString("latin1");
    if (!request.endsWith("\r\n\r\n")) return;
    isUpgraded = true;
    const key = /^Sec-WebSocket-Key: (.*)\r$/m.exec(request)?.[1] ?? "";
    const accept = createHash("sha1").update(`${key}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`).digest("base64");
    const lines = ["Upgrade: websocket", "Connection: Upgrade", `Sec-WebSocket-Accept: ${accept}`];
    wire.write(Buffer.from(["HTTP/1.1 101 Switching Protocols", ...lines, "", ""].join("\r\n")));
  };
}

/** A frame as a server sends it. */
export function serverFrame(opcode: number, payload: Uint8Array): Uint8Array {
  const frame = new Uint8Array(webSocketHeaderSize(payload.length, false) + payload.length);
  frame.set(payload, writeWebSocketHeader(frame, opcode, payload.length));
  return frame;
}
