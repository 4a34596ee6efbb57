import { Client, type ClientConfig } from "../../src/index.js";

/** A client of a scripted server, without pauses and heartbeats unless a test wants them. */
export const clientOf = (server: { readonly port: number }, config: Partial<ClientConfig> = {}): Client =>
  new Client({
    options: { host: "127.0.0.1", port: server.port },
    credentials: { username: "iggy", password: "iggy" },
    heartbeatInterval: 0,
    random: () => 0,
    reconnect: { interval: 1, maxInterval: 1 },
    ...config,
  });
