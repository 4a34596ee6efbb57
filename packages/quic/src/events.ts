import { EventKind, type OnEvent } from "./addon/index.js";
import type { Ending } from "./ending.js";

/** What an endpoint hears of its connections. */
export interface EndpointEvents {
  opened(peer: number, address: string): void;
  message(peer: number, stream: number, bytes: Uint8Array): void;
  stopped(peer: number, stream: number): void;
  failed(peer: number, stream: number, code: number, reason: string): void;
  drained(peer: number): void;
  closed(peer: number, ending: Ending): void;
  finished(): void;
}

/** The calls of the addon as what they mean. */
export function onEvent(events: EndpointEvents): OnEvent {
  return (kind, peer, stream, code, text = "", payload) => {
    switch (kind) {
      case EventKind.opened:
        events.opened(peer, text);
        return;
      case EventKind.message:
        if (payload instanceof Uint8Array) events.message(peer, stream, payload);
        return;
      case EventKind.stopped:
        events.stopped(peer, stream);
        return;
      case EventKind.failed:
        events.failed(peer, stream, code, text);
        return;
      case EventKind.drained:
        events.drained(peer);
        return;
      case EventKind.closed:
        events.closed(peer, { cause: typeof payload === "string" ? payload : "internal", code, reason: text });
        return;
      case EventKind.finished:
        events.finished();
        return;
    }
  };
}
