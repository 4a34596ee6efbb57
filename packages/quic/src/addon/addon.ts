/** Grows with every change of what the two sides say to each other; `native/src/lib.rs` says the same number. */
export const ADDON_REVISION = 1;

/** Bytes that wait for the peer above which `EventKind.drained` follows once they became fewer; as in `native/src/peer.rs`. */
export const CONGESTED_BYTES = 1024 * 1024;

/** As in `native/src/events.rs`. */
export const EventKind = {
  opened: 0,
  message: 1,
  stopped: 2,
  failed: 3,
  drained: 4,
  closed: 5,
  finished: 6,
} as const;

/** What the addon reports. What an event does not have is 0 or undefined. */
export type OnEvent = (
  kind: number,
  peer: number,
  stream: number,
  code: number,
  text: string | undefined,
  payload: Uint8Array | string | undefined,
) => void;

/** Limits and periods of an endpoint, as `native/src/settings.rs` reads them. */
export interface NativeSettings {
  readonly host: string;
  readonly port: number;
  readonly streamsMax: number;
  readonly initialMtu: number;
  readonly sendWindowBytes: number;
  readonly receiveWindowBytes: number;
  readonly streamReceiveWindowBytes: number;
  readonly keepAliveMillis: number;
  readonly idleTimeoutMillis: number;
  readonly handshakeMillis: number;
  readonly messageBytesMax: number;
  readonly unansweredBytesHigh: number;
  readonly connectionsMax: number;
}

export interface NativeCertificate {
  /** DER, from the leaf on. */
  readonly certificates: readonly Uint8Array[];
  /** PKCS #8. */
  readonly key: Uint8Array;
}

export interface NativeTrust {
  readonly serverName: string;
  readonly roots: readonly Uint8Array[];
  readonly acceptsAny: 0 | 1;
  readonly protocols: readonly Uint8Array[];
}

/**
 * The native part. Endpoints, connections and streams are numbers; what is not there any more is passed over, and gives
 * undefined where something is asked.
 */
export interface Addon {
  readonly revision: number;
  openServer(options: NativeSettings & NativeCertificate, onEvent: OnEvent): number;
  openClient(options: NativeSettings & NativeTrust, onEvent: OnEvent): number;
  port(endpoint: number): number | undefined;
  /** Datagrams that arrived. */
  received(endpoint: number): number | undefined;
  setCertificate(endpoint: number, certificate: NativeCertificate): void;
  stopAccepting(endpoint: number): void;
  /** Ends every connection; `finished` follows. */
  close(endpoint: number, code: number, reason: string): void;
  /** Lets go of an endpoint. */
  forget(endpoint: number): void;
  respond(endpoint: number, peer: number, stream: number, pieces: readonly Uint8Array[]): void;
  request(endpoint: number, peer: number, stream: number, message: Uint8Array): void;
  abandon(endpoint: number, peer: number, stream: number): void;
  setMessageLimit(endpoint: number, peer: number, bytes: number): void;
  queuedBytes(endpoint: number, peer: number): number | undefined;
  quietMillis(endpoint: number, peer: number): number | undefined;
  mtu(endpoint: number, peer: number): number | undefined;
  finishPeer(endpoint: number, peer: number, code: number, reason: string, graceMillis: number): void;
  closePeer(endpoint: number, peer: number, code: number, reason: string): void;
}

export function isAddon(value: unknown): value is Addon {
  return typeof value === "object" && value !== null && "revision" in value && value.revision === ADDON_REVISION;
}
