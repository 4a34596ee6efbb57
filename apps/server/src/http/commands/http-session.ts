import type { LocalRequest } from "./local-request.js";

/** Session of one credential in the replicated client table. */
export class HttpSession {
  readonly credentialKey: string;
  readonly userId: number;
  readonly client: bigint;
  readonly session: number;
  private readonly underWay = new Set<LocalRequest>();
  private lastRequest = 0;
  private turns: Promise<unknown> = Promise.resolve();
  private waiting = 0;

  constructor(credentialKey: string, userId: number, client: bigint, session: number) {
    this.credentialKey = credentialKey;
    this.userId = userId;
    this.client = client;
    this.session = session;
  }

  get isBusy(): boolean {
    return this.underWay.size > 0 || this.waiting > 0;
  }

  /** Metadata writes that wait for their turn or have it. */
  get metadataWrites(): number {
    return this.waiting;
  }

  /** A request number that this session never used before. */
  nextRequest(): number {
    this.lastRequest++;
    return this.lastRequest;
  }

  /** Runs metadata writes one at a time, in the order in which they came. */
  inTurn<T>(write: () => Promise<T>): Promise<T> {
    this.waiting++;
    const turn = this.turns.then(write).finally(() => this.waiting--);
    this.turns = turn.catch(() => undefined);
    return turn;
  }

  begin(request: LocalRequest): void {
    this.underWay.add(request);
  }

  finish(request: LocalRequest): void {
    this.underWay.delete(request);
  }

  /** The session is over: reads that wait in it end with the code. */
  end(code: number): void {
    for (const request of this.underWay) request.cancel(code);
  }
}
