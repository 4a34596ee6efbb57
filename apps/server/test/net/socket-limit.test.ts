import { connect } from "node:tls";
import { ping } from "@iggy/protocol";
import { expect, it } from "vitest";
import { startServer } from "../start-server.js";
import { RawSession } from "../raw-client/index.js";

it("sockets above the limit are closed at accept on every listener with TLS, and nobody else notices", async () => {
  await using server = await startServer({
    config: {
      "message_bus.connections_max": 1,
      "tcp.tls.enabled": true,
      "websocket.tls.enabled": true,
      "http.enabled": false,
    },
  });
  const { tcp = "", websocket = "" } = server.addresses;
  const session = await RawSession.open(server.port, undefined, { tls: true });
  for (const address of [tcp, websocket, tcp, websocket]) {
    const late = connect({ host: "127.0.0.1", port: Number(address.split(":")[1]), rejectUnauthorized: false });
    const ending = await new Promise<string>((resolve) => {
      late.once("secureConnect", () => resolve("accepted")).on("error", () => resolve("refused"));
    });
    late.destroy();
    expect(ending, address).toBe("refused");
  }
  expect(await session.try(ping, {})).toBe("ok");
  await session.close();
});
