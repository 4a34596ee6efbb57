const MIB = 1024 * 1024;

export const serverDefaults = {
  host: "127.0.0.1",
  port: 0,
  streamsMax: 256,
  initialMtu: 1200,
  sendWindowBytes: 64 * MIB,
  receiveWindowBytes: 64 * MIB,
  streamReceiveWindowBytes: 64 * MIB,
  keepAliveMillis: 10_000,
  idleTimeoutMillis: 30_000,
  handshakeMillis: 10_000,
  messageBytesMax: 64 * MIB,
  unansweredBytesHigh: 32 * MIB,
  connectionsMax: 100,
} as const;
