import { onTestFinished } from "vitest";
import {
  connectQuic,
  type Ending,
  probe,
  type QuicClient,
  type QuicConnection,
  type QuicDial,
  type QuicError,
  QuicListener,
  type QuicListenerOptions,
  readCertificate,
} from "../../src/index.js";
import { pemOf } from "./fixtures.js";
import { serverDefaults } from "./server-defaults.js";

const { available, reason } = probe();

/** For `describe.skipIf`: what needs the addon is left out where there is none. */
export const without = !available;
export const title = available ? "over the addon" : `over the addon, left out: ${reason}`;

/** One accepted connection, as a test sees it. */
export interface Accepted {
  readonly connection: QuicConnection;
  readonly messages: { readonly stream: number; readonly bytes: Uint8Array }[];
  readonly stopped: number[];
  drains: number;
  ending: Ending | undefined;
}

export interface TestServer {
  readonly listener: QuicListener;
  readonly accepted: Accepted[];
  readonly port: number;
}

type OnMessage = (connection: QuicConnection, stream: number, bytes: Uint8Array) => void;

export const echo: OnMessage = (connection, stream, bytes) => connection.respond(stream, [bytes]);
export const silent: OnMessage = () => undefined;

/** A listener that ends with the test. */
export function listen(onMessage: OnMessage = echo, options: Partial<QuicListenerOptions> = {}): TestServer {
  const accepted: Accepted[] = [];
  const listener = QuicListener.listen({
    ...serverDefaults,
    certificate: readCertificate(pemOf("p256")),
    onConnection: (connection) => {
      const seen: Accepted = { connection, messages: [], stopped: [], drains: 0, ending: undefined };
      accepted.push(seen);
      return {
        message(stream, bytes) {
          seen.messages.push({ stream, bytes });
          onMessage(connection, stream, bytes);
        },
        stopped: (stream) => seen.stopped.push(stream),
        drained: () => seen.drains++,
        closed: (ending) => (seen.ending = ending),
      };
    },
    ...options,
  });
  onTestFinished(() => listener.close());
  return { listener, accepted, port: listener.port };
}

/** A client whose replies can be waited for. */
export class TestClient {
  readonly replies = new Map<number, Uint8Array>();
  readonly failures = new Map<number, QuicError>();
  drains = 0;
  isClosed = false;
  error: QuicError | undefined;
  client!: QuicClient;

  static async connect(port: number, dial: Partial<QuicDial> = {}, signal?: AbortSignal): Promise<TestClient> {
    const test = new TestClient();
    test.client = await connectQuic(
      { host: "127.0.0.1", port, rejectUnauthorized: false, ...dial },
      {
        onReply: (stream, bytes) => test.replies.set(stream, bytes),
        onFailed: (stream, error) => test.failures.set(stream, error),
        onDrain: () => test.drains++,
        onClose: (error) => {
          test.isClosed = true;
          test.error = error;
        },
      },
      signal,
    );
    onTestFinished(() => test.client.close());
    return test;
  }

  async ask(bytes: Uint8Array): Promise<Uint8Array> {
    const stream = this.client.request(bytes);
    await until(() => this.replies.has(stream) || this.failures.has(stream) || this.isClosed);
    const reply = this.replies.get(stream);
    this.replies.delete(stream);
    if (reply === undefined) throw this.failures.get(stream) ?? this.error ?? new Error("closed");
    return reply;
  }
}

/** Waits for what events bring about. */
export async function until(holds: () => boolean, withinMillis = 15_000): Promise<void> {
  const deadline = performance.now() + withinMillis;
  while (!holds()) {
    if (performance.now() > deadline) throw new Error(`not within ${withinMillis} ms: ${holds.toString()}`);
    await new Promise((resolve) => setTimeout(resolve, 1));
  }
}
