import { asError } from "../as-error.js";
import { formatAddress, type BindAddress, type ServerConfig } from "../config/index.js";
import { inTurn } from "../in-turn.js";
import type { Listener } from "./listener.js";

export type Transport = "tcp" | "websocket" | "quic" | "http";

/** Port of each listener that runs; 0 of the others. */
export type BoundPorts = Readonly<Record<Transport, number>>;

/** `host:port` by transport. */
export type Addresses = Readonly<Partial<Record<Transport, string>>>;

type TransportConfig = Readonly<Record<Transport, { readonly enabled: boolean; readonly address: BindAddress }>>;

/** Binds the listener of a transport. Undefined where it can't be had here, which the log has been told. */
type Open = () => Promise<Listener | undefined>;

/** How to listen on each transport that this version has. */
export type ListenerOpeners = Readonly<Partial<Record<Transport, Open>>>;

const TRANSPORTS: readonly Transport[] = ["tcp", "websocket", "quic", "http"];

/** Listeners that could not be opened. Names each with its reason, so that nobody repairs them one start at a time. */
export class ListenError extends AggregateError {
  constructor(failures: readonly { readonly transport: Transport; readonly address: string; readonly error: Error }[]) {
    const list = failures.map(
      ({ transport, address, error }) =>
        `  - ${transport}.address = ${address}: ${error.message}; choose another address, or switch it off with ` +
        `${transport}.enabled (IGGY_${transport.toUpperCase()}_ENABLED)`,
    );
    super(
      failures.map(({ error }) => error),
      `${failures.length === 1 ? "a listener" : `${failures.length} listeners`} can't be opened:\n${list.join("\n")}`,
    );
    this.name = "ListenError";
  }
}

/** The listeners of a node, one for each transport that is switched on. */
export class Listeners {
  readonly ports: BoundPorts;
  /** `host:port` of each listener that runs. */
  readonly addresses: Addresses;
  private readonly listeners: readonly Listener[];

  private constructor(config: TransportConfig, open: ReadonlyMap<Transport, Listener>) {
    const portOf = (transport: Transport): number => open.get(transport)?.port ?? 0;
    this.ports = { tcp: portOf("tcp"), websocket: portOf("websocket"), quic: portOf("quic"), http: portOf("http") };
    const addresses: { [transport in Transport]?: string } = {};
    for (const [transport, { port }] of open) {
      addresses[transport] = formatAddress(config[transport].address.host, port);
    }
    this.addresses = addresses;
    this.listeners = [...open.values()];
  }

  /** Opens what is switched on. Rejects with a `ListenError`, with none left open, when one of them can't be opened. */
  static async open(config: TransportConfig, openers: ListenerOpeners): Promise<Listeners> {
    const open = new Map<Transport, Listener>();
    const failures: ConstructorParameters<typeof ListenError>[0][number][] = [];
    const openOne = async (transport: Transport): Promise<void> => {
      const { enabled, address } = config[transport];
      if (!enabled) return;
      try {
        const listener = await openers[transport]?.();
        if (listener !== undefined) open.set(transport, listener);
      } catch (error) {
        failures.push({ transport, address: formatAddress(address.host, address.port), error: asError(error) });
      }
    };
    await Promise.all(TRANSPORTS.map(openOne));
    const listeners = new Listeners(config, open);
    if (failures.length === 0) return listeners;
    await listeners.close();
    throw new ListenError(failures);
  }

  stopAccepting(): void {
    for (const listener of this.listeners) listener.stopAccepting();
  }

  destroyConnections(): void {
    for (const listener of this.listeners) listener.destroyConnections();
  }

  close(): Promise<void> {
    return inTurn(this.listeners.map((listener) => () => listener.close()));
  }
}

/** The configuration with the ports that were really bound, for tools that look for them. */
export function withBoundPorts(config: ServerConfig, ports: BoundPorts): ServerConfig {
  const bound = <Part extends { readonly address: BindAddress }>(part: Part, port: number): Part =>
    port === 0 ? part : { ...part, address: { ...part.address, port } };
  return {
    ...config,
    tcp: bound(config.tcp, ports.tcp),
    websocket: bound(config.websocket, ports.websocket),
    quic: bound(config.quic, ports.quic),
    http: bound(config.http, ports.http),
  };
}
