import { ClientTransport } from "@iggy/protocol";
import type * as Quic from "@iggy/quic";
import { asError } from "../../as-error.js";
import type { ServerConfig } from "../../config/index.js";
import type { Listener } from "../listener.js";
import type { Reception } from "../reception.js";
import { CloseCode } from "./close-code.js";
import { QuicChannel } from "./quic-channel.js";
import { loadQuicCertificate } from "./quic-certificate.js";

/** Connections are no sockets here, so no limit of the system bounds them. */
const CONNECTIONS_MAX = 16_384;

type Library = Pick<typeof Quic, "probe" | "QuicListener" | "readCertificate">;

export interface QuicListenerDeps {
  readonly config: Pick<ServerConfig, "quic" | "messageBus">;
  readonly reception: Reception;
  /** The operator asked for QUIC; else it is only on by default, and its absence is no warning. */
  readonly isAskedFor: boolean;
  readonly log: { info(fields: object, message: string): void; warn(fields: object, message: string): void };
  /** Loads the package; tests bring one that has no addon. */
  readonly load?: () => Promise<Library>;
}

/**
 * Binds the QUIC listener. Undefined where there is no native part of QUIC: one line of the log says why, and the server
 * goes on. Rejects when the address or the certificate can't be used.
 */
export async function openQuicListener({
  config: { quic, messageBus },
  reception,
  isAskedFor,
  log,
  load = () => import("@iggy/quic"),
}: QuicListenerDeps): Promise<Listener | undefined> {
  const library = await loadWhereItWorks(load);
  if (typeof library === "string") {
    log[isAskedFor ? "warn" : "info"]({}, `QUIC is off: ${library}`);
    return undefined;
  }
  const certificate = await loadQuicCertificate(quic.certificate, library.readCertificate, log);
  const channels = new Set<QuicChannel>();
  const { limits } = reception;
  const listener = library.QuicListener.listen({
    ...quic.address,
    certificate,
    streamsMax: quic.maxConcurrentBidiStreams,
    initialMtu: quic.initialMtuBytes,
    sendWindowBytes: quic.sendWindowBytes,
    receiveWindowBytes: quic.receiveWindowBytes,
    streamReceiveWindowBytes: quic.streamReceiveWindowBytes,
    keepAliveMillis: quic.keepAliveIntervalMillis,
    idleTimeoutMillis: quic.maxIdleTimeoutMillis,
    handshakeMillis: messageBus.handshakeGraceMillis,
    messageBytesMax: Math.min(limits.maxUnboundFrameBytes, limits.maxFrameBytes),
    unansweredBytesHigh: limits.inFlightBytesHigh,
    connectionsMax: CONNECTIONS_MAX,
    onConnection: (connection) => {
      const channel = new QuicChannel(
        connection,
        { closeGraceMillis: messageBus.closeGraceMillis, onClosed: () => channels.delete(channel) },
        (opened) => reception.connect(ClientTransport.quic, opened),
      );
      channels.add(channel);
      return channel;
    },
  });
  return listening(listener, channels);
}

/** The package, or why there is no QUIC. */
async function loadWhereItWorks(load: () => Promise<Library>): Promise<Library | string> {
  try {
    const library = await load();
    const { available, reason, remedy } = library.probe();
    return available ? library : `${reason}; ${remedy}`;
  } catch (error) {
    return `@iggy/quic can't be loaded: ${asError(error).message}`;
  }
}

const listening = (listener: Quic.QuicListener, channels: ReadonlySet<QuicChannel>): Listener => ({
  port: listener.port,
  stopAccepting: () => listener.stopAccepting(),
  destroyConnections: () => {
    for (const channel of [...channels]) channel.destroy();
  },
  close: () => listener.close(CloseCode.shutdown),
});
