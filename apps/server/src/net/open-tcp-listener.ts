import { ClientTransport } from "@iggy/protocol";
import type { RingParts } from "../backend/index.js";
import type { ServerConfig } from "../config/index.js";
import type { Listener } from "./listener.js";
import type { Reception } from "./reception.js";
import type { RingSockets } from "./ring-sockets.js";
import { RingTcpListener, type Seating } from "./ring-tcp-listener.js";
import { SocketChannel } from "./socket-channel.js";
import type { SocketSlots } from "./socket-slots.js";
import { TcpListener } from "./tcp-listener.js";
import { loadTlsMaterial } from "./tls-material.js";

export interface TcpListenerDeps {
  readonly config: Pick<ServerConfig, "tcp" | "messageBus">;
  readonly reception: Reception;
  readonly slots: SocketSlots;
  /** Where connections without TLS are served; undefined leaves them to libuv, as those with TLS always are. */
  readonly ring?:
    | {
        readonly parts: RingParts;
        readonly sockets: RingSockets;
        readonly seat?: ((descriptor: number) => Seating) | undefined;
      }
    | undefined;
  readonly log: { warn(fields: object, message: string): void };
}

/** Binds the TCP listener. Rejects with the system's error, for example when the port is taken. */
export async function openTcpListener({ config, reception, slots, ring, log }: TcpListenerDeps): Promise<Listener> {
  const { address, tls } = config.tcp;
  const { closeGraceMillis, handshakeGraceMillis } = config.messageBus;
  if (ring !== undefined && !tls.enabled) {
    return new RingTcpListener({
      ...address,
      addon: ring.parts.addon,
      ring: ring.parts.ring,
      slots,
      sockets: ring.sockets,
      seat: ring.seat,
      onError: (error) => log.warn({ err: error }, "connections can't be accepted for the moment"),
    });
  }
  const listener = new TcpListener({
    ...address,
    ...(tls.enabled ? { tls: await loadTlsMaterial(tls) } : {}),
    handshakeTimeoutMillis: handshakeGraceMillis,
    slots,
    onSocket: (socket) => {
      const channel = new SocketChannel(socket, closeGraceMillis);
      channel.attach(reception.connect(ClientTransport.tcp, channel));
    },
  });
  await listener.listen();
  return listener;
}
