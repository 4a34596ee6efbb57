import { ClientTransport } from "@iggy/protocol";
import type { ServerConfig } from "../../config/index.js";
import type { ConnectionLimits } from "../connection.js";
import type { Listener } from "../listener.js";
import type { Reception } from "../reception.js";
import type { SocketSlots } from "../socket-slots.js";
import { TcpListener } from "../tcp-listener.js";
import { loadTlsMaterial } from "../tls-material.js";
import { UpgradeDesk } from "./upgrade-desk.js";
import { WebSocketChannel, type WebSocketChannelOptions } from "./websocket-channel.js";

/** Largest message when the configuration names none. */
const MESSAGE_BYTES_DEFAULT = 64 * 1024 * 1024;

export interface WebSocketListenerDeps {
  readonly config: Pick<ServerConfig, "websocket" | "messageBus">;
  readonly reception: Reception;
  readonly slots: SocketSlots;
}

/** Binds the WebSocket listener, always on libuv. Rejects with the system's error, for example when the port is taken. */
export async function openWebSocketListener({ config, reception, slots }: WebSocketListenerDeps): Promise<Listener> {
  const { address, tls, ...options } = config.websocket;
  const { closeGraceMillis, handshakeGraceMillis } = config.messageBus;
  const limits = narrowed(reception.limits, config.websocket);
  const channelOptions: WebSocketChannelOptions = {
    closeGraceMillis,
    maxFrameBytes: options.maxFrameSizeBytes ?? limits.maxFrameBytes,
    masks: options.acceptUnmaskedFrames ? "optional" : "required",
  };
  const desk = new UpgradeDesk({
    graceMillis: handshakeGraceMillis,
    onUpgraded: (socket, head) => {
      const channel = new WebSocketChannel(socket, channelOptions);
      channel.attach(reception.connect(ClientTransport.websocket, channel, limits), head);
    },
  });
  const listener = new TcpListener({
    ...address,
    ...(tls.enabled ? { tls: await loadTlsMaterial(tls) } : {}),
    handshakeTimeoutMillis: handshakeGraceMillis,
    slots,
    onSocket: (socket) => desk.take(socket),
  });
  await listener.listen();
  return listener;
}

/** A write buffer of 0 is one without a limit of its own. */
function narrowed(
  limits: ConnectionLimits,
  {
    maxMessageSizeBytes = MESSAGE_BYTES_DEFAULT,
    maxWriteBufferSizeBytes = 0,
  }: Pick<ServerConfig["websocket"], "maxMessageSizeBytes" | "maxWriteBufferSizeBytes">,
): ConnectionLimits {
  const queuedBytesMax =
    maxWriteBufferSizeBytes === 0 ? limits.queuedBytesMax : Math.min(limits.queuedBytesMax, maxWriteBufferSizeBytes);
  return {
    ...limits,
    maxFrameBytes: Math.min(limits.maxFrameBytes, maxMessageSizeBytes),
    queuedBytesMax,
    queuedBytesHigh: Math.min(limits.queuedBytesHigh, queuedBytesMax),
  };
}
