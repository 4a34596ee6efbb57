import type { MetadataEffect, MetadataMachine, PartitionStats } from "@iggy/engine";
import { formatAddress, type ServerConfig } from "../config/index.js";
import type { CommandTable } from "../dispatch/command-table.js";
import type { Directory } from "../dispatch/directory.js";
import type { PartitionChoice } from "../dispatch/partition-choice.js";
import type { Listener } from "../net/listener.js";
import type { SocketSlots } from "../net/socket-slots.js";
import { loadTlsMaterial } from "../net/tls-material.js";
import type { ConnectionFacts } from "../node/connection-facts.js";
import type { Clock } from "../request.js";
import type { SessionLeases } from "../sessions/lease.js";
import type { LoginDesk, Registry } from "../sessions/login-desk.js";
import { Accounts, AccessTokens, Authenticator, TrustedIssuers } from "./auth/index.js";
import { CommandRunner, endSession, HttpSessions } from "./commands/index.js";
import { docsRoutes } from "./docs/index.js";
import { messageRoutes } from "./messages/index.js";
import { metricsRoutes, NodeMetrics } from "./metrics/index.js";
import { resourceRoutes } from "./resources/index.js";
import type { Route } from "./route/index.js";
import { buildApp, HttpListener, nodeServer } from "./server/index.js";

export interface HttpServiceDeps {
  readonly config: Pick<ServerConfig, "http" | "messageBus" | "metadata" | "sharding">;
  readonly machine: MetadataMachine;
  readonly directory: Directory;
  readonly choice: PartitionChoice;
  readonly metadata: Registry & Parameters<typeof endSession>[0];
  readonly desk: Pick<LoginDesk, "authenticatePassword">;
  readonly commands: CommandTable;
  readonly partitionStats: PartitionStats;
  readonly connections: () => Promise<readonly ConnectionFacts[]>;
  readonly leases: SessionLeases;
  readonly clock: Clock;
  /** View of the metadata group. */
  readonly view: () => number;
  readonly serverVersion: string;
  readonly log: {
    info(fields: object, message: string): void;
    warn(fields: object, message: string): void;
    error(fields: object, message: string): void;
  };
}

/** The HTTP API of a node: routes, credentials, and the sessions behind them. */
export class HttpService {
  readonly routes: readonly Route[];
  private readonly deps: HttpServiceDeps;
  private readonly sessions: HttpSessions;
  private readonly runner: CommandRunner;
  private readonly authenticator: Authenticator;
  private readonly metrics: NodeMetrics;
  private answering = 0;
  private isReady = false;
  private isDraining = false;

  constructor(deps: HttpServiceDeps) {
    const { config, machine, metadata, clock, log } = deps;
    const { jwt } = config.http;
    this.deps = deps;
    const accounts = new Accounts(machine);
    const tokens = new AccessTokens(jwt, clock);
    const issuers = new TrustedIssuers(jwt, clock, log);
    refuseRootIssuers(config.http, accounts);
    this.authenticator = new Authenticator({ accounts, tokens, issuers, clock });
    this.sessions = new HttpSessions({
      registry: metadata,
      clientsTableMax: config.metadata.clientsTableMax,
      leases: deps.leases,
      clock,
      end: (session) => endSession(metadata, session),
      log,
    });
    this.runner = new CommandRunner({
      commands: deps.commands,
      sessions: this.sessions,
      clock,
      isActive: (account) => accounts.isActive(account),
      isDraining: () => this.isDraining,
    });
    this.metrics = new NodeMetrics({
      machine,
      partitionStats: deps.partitionStats,
      connections: deps.connections,
      serverVersion: deps.serverVersion,
      partitionsMax: config.http.metrics.partitionsMax,
    });
    const api = [
      ...resourceRoutes({
        runner: this.runner,
        signIn: {
          desk: deps.desk,
          accounts,
          tokens,
          issuers,
          authenticator: this.authenticator,
          sessions: this.sessions,
          clock,
          log,
        },
        readinessFaults: () => this.readinessFaults(),
        clock,
      }),
      ...messageRoutes({ runner: this.runner, directory: deps.directory, choice: deps.choice, clock }),
      ...(config.http.metrics.enabled ? metricsRoutes(this.metrics, config.http.metrics.endpoint) : []),
    ];
    this.routes = [...api, ...docsRoutes(api, deps.serverVersion)];
  }

  /** Requests of HTTP clients that are under way: their answers are not sent yet, or the planes still have them. */
  get requestsInFlight(): number {
    return Math.max(this.answering, this.runner.requestsInFlight);
  }

  async listen(slots: SocketSlots): Promise<Listener> {
    const { http, messageBus } = this.deps.config;
    const tls = http.tls.enabled ? await loadTlsMaterial({ ...http.tls, selfSigned: false }) : undefined;
    const app = buildApp({
      config: http,
      routes: this.routes,
      authenticator: this.authenticator,
      serverFactory: (handler) => nodeServer(handler, tls, messageBus.handshakeGraceMillis),
      begun: () => {
        this.answering++;
        this.metrics.countRequest();
      },
      ended: () => this.answering--,
      heard: ({ credential }) => this.sessions.heard(credential.key),
      view: this.deps.view,
      isDraining: () => this.isDraining,
      log: this.deps.log,
    });
    const listener = await HttpListener.open(app, http.address, slots);
    const address = formatAddress(http.address.host, listener.port);
    this.deps.log.info({ address, tls: http.tls.enabled }, "listening for HTTP");
    return listener;
  }

  /** The node serves from now on. */
  ready(): void {
    this.isReady = true;
  }

  /** Learns what committed operations ended. */
  follow(effects: readonly MetadataEffect[]): void {
    this.sessions.follow(effects);
  }

  /** Sessions with a request under way are heard of, before it is decided which have been silent. */
  hearBusy(): void {
    this.sessions.heardBusy();
  }

  /** From now on every request is refused as not admitted. */
  drain(): void {
    this.isDraining = true;
  }

  close(): void {
    this.drain();
    this.sessions.close();
    this.metrics.close();
  }

  private readinessFaults(): readonly string[] {
    if (this.isDraining) return ["the node is stopping"];
    return this.isReady ? [] : ["the node is starting"];
  }
}

/** Tokens of others never act as the root user. */
function refuseRootIssuers({ jwt }: ServerConfig["http"], accounts: Accounts): void {
  const asRoot = jwt.trustedIssuers.find(({ username }) => username !== undefined && accounts.byName(username)?.isRoot);
  if (asRoot === undefined) return;
  throw new Error(
    `http.jwt.trusted_issuers: tokens of ${asRoot.issuer} would act as the root user, which is refused; name another user`,
  );
}
