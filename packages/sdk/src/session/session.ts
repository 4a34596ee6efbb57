import { randomBytes, randomId } from "./random-identity.js";

const bindSecretSize = 32;

/**
 * The identity that the client shows to the cluster, and what it has seen of its metadata. A reset makes a new one; the
 * fence tells old from new.
 */
export class Session {
  #clientId = randomId();
  #bindSecret = randomBytes(bindSecretSize);
  #registerId = randomId();
  #epoch = 0n;
  #userId: number | undefined;
  #watermark = 0n;
  #fence = 0;
  #signIn = 0;

  /** Client id of the session: random, never 0. */
  get clientId(): bigint {
    return this.#clientId;
  }

  /** Proof of ownership for further connections: a credential, so it goes into login and bind frames and nowhere else. */
  get bindSecret(): Uint8Array {
    return this.#bindSecret;
  }

  /** Identifier of the registration; the same on every retry of it. */
  get registerId(): bigint {
    return this.#registerId;
  }

  /** Number of the session, 0 without one. */
  get epoch(): bigint {
    return this.#epoch;
  }

  get isBound(): boolean {
    return this.#epoch !== 0n;
  }

  get userId(): number | undefined {
    return this.#userId;
  }

  /** Highest metadata commit that a reply of this session named: what a node must have applied before it answers. */
  get watermark(): bigint {
    return this.#watermark;
  }

  /** Rises with every reset. Frames and links of a lower fence belong to a session that is gone. */
  get fence(): number {
    return this.#fence;
  }

  /** Rises with every sign-in, sign-out and disconnect that the caller asked for. Work never moves over to the next one. */
  get signIn(): number {
    return this.#signIn;
  }

  observe(commit: bigint): void {
    if (commit > this.#watermark) this.#watermark = commit;
  }

  established(epoch: bigint, userId: number): void {
    this.#epoch = epoch;
    this.#userId = userId;
  }

  /** Forgets the session and makes the identity of the next one. */
  reset(): void {
    this.#clientId = randomId();
    this.#bindSecret = randomBytes(bindSecretSize);
    this.#registerId = randomId();
    this.#epoch = 0n;
    this.#userId = undefined;
    this.#watermark = 0n;
    this.#fence++;
  }

  /** The caller signs in as somebody, or out. */
  callerChanged(): void {
    this.#signIn++;
  }
}
