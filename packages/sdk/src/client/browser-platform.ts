import { FeatureUnavailableError } from "../errors/index.js";
import { webSocketTransport } from "../transport/web-socket.js";
import type { TlsConfig } from "./config.js";
import type { Platform } from "./platform.js";
import { webSocketOptions } from "./web-socket-config.js";

/** Browsers have WebSocket, and no sockets below it. */
export const browserPlatform: Platform = {
  async loadTransport(name, config) {
    if (name !== "WS" && name !== "WSS") {
      throw new FeatureUnavailableError(
        `a browser has no ${name} transport in this build; it connects over WS, WSS, HTTP and HTTPS`,
      );
    }
    if (name === "WSS") refuseTls(config.tls ?? {});
    return Promise.resolve(webSocketTransport(webSocketOptions(name, config)));
  },
};

/** A browser checks certificates by its own rules, strictly. */
function refuseTls(tls: TlsConfig): void {
  const given = (["ca", "caFile", "cert", "key", "servername"] as const).filter((key) => tls[key] !== undefined);
  if (given.length === 0) return;
  const names = given.map((key) => `tls.${key}`).join(", ");
  throw new FeatureUnavailableError(`a browser takes no ${names}: it checks certificates by its own rules`);
}
