import type { QuicOptions } from "../transport/quic.js";
import { integer } from "../values/check.js";
import { type ClientConfig, DEFAULT_MAX_RESPONSE_FRAME_SIZE } from "./config.js";

/** Without them: ms after which a quiet connection is kept alive, and after which a mute one is lost. */
const KEEP_ALIVE_MILLIS = 5000;
const IDLE_TIMEOUT_MILLIS = 10_000;
const WINDOW_BYTES_MAX = 0xffff_ffff;

/** What the transport of QUIC is told. */
export function quicOptions({ options = {}, tls = {}, maxResponseFrameSize }: ClientConfig): QuicOptions {
  const { serverName, initialMtu, sendWindow, receiveWindow, keepAliveInterval, maxIdleTimeout } = options;
  const whole = (name: string, value: number | undefined, min: number, max: number): number | undefined =>
    value === undefined ? undefined : integer(`options.${name}`, value, min, max);
  return {
    tls,
    serverName,
    responseBytesMax: maxResponseFrameSize ?? DEFAULT_MAX_RESPONSE_FRAME_SIZE,
    initialMtu: whole("initialMtu", initialMtu, 1200, 65_535),
    sendWindowBytes: whole("sendWindow", sendWindow, 1, WINDOW_BYTES_MAX),
    receiveWindowBytes: whole("receiveWindow", receiveWindow, 1, WINDOW_BYTES_MAX),
    keepAliveMillis: whole("keepAliveInterval", keepAliveInterval, 0, WINDOW_BYTES_MAX) ?? KEEP_ALIVE_MILLIS,
    idleTimeoutMillis: whole("maxIdleTimeout", maxIdleTimeout, 0, WINDOW_BYTES_MAX) ?? IDLE_TIMEOUT_MILLIS,
  };
}
