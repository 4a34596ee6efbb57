import type { IggyError } from "../errors/index.js";
import { checkedCredentials, type CredentialsSource, type Secret } from "./credentials.js";

type State =
  /** Ask the configuration on each sign-in. */
  | { readonly kind: "configured" }
  /** Credentials of an explicit login, or of a configured one that changed since. */
  | { readonly kind: "remembered"; readonly secret: Secret }
  /** Nobody signs in by itself: signed out, or refused. */
  | { readonly kind: "none"; readonly refusal: IggyError | undefined };

/** Where the credentials of the next automatic sign-in come from. */
export class SignInSource {
  readonly #configured: CredentialsSource | undefined;
  #state: State;
  #current: Secret | undefined;

  constructor(configured: CredentialsSource | undefined) {
    this.#configured = typeof configured === "object" ? checkedCredentials(configured).reveal() : configured;
    this.#state = this.#initial();
  }

  /** Why nobody signs in, when a server refused. */
  get refusal(): IggyError | undefined {
    return this.#state.kind === "none" ? this.#state.refusal : undefined;
  }

  get canSignIn(): boolean {
    return this.#state.kind !== "none";
  }

  async next(): Promise<Secret | undefined> {
    switch (this.#state.kind) {
      case "none":
        return undefined;
      case "remembered":
        this.#current = this.#state.secret;
        return this.#current;
      case "configured": {
        const source = this.#configured;
        if (source === undefined) return undefined;
        this.#current = checkedCredentials(typeof source === "function" ? await source() : source);
        return this.#current;
      }
    }
  }

  remember(secret: Secret): void {
    this.#state = { kind: "remembered", secret };
  }

  /** A server refused for good, or the caller signed out: no automatic sign-in until the caller asks for one. */
  forget(refusal?: IggyError): void {
    this.#state = { kind: "none", refusal };
    this.#current = undefined;
  }

  /** Back to what the client was made with. */
  restore(): void {
    this.#state = this.#initial();
  }

  /** The signed-in user changed its password or name, and the change is committed. */
  changed(change: { readonly username?: string; readonly password?: string }): void {
    // Credentials that a function hands out are its business.
    if (this.#state.kind === "configured" && typeof this.#configured === "function") return;
    if (this.#current === undefined || this.#state.kind === "none") return;
    this.remember(this.#current.with(change));
  }

  /** Name of the user that signed in with a password. */
  get username(): string | undefined {
    return this.#current?.username;
  }

  #initial(): State {
    return this.#configured === undefined ? { kind: "none", refusal: undefined } : { kind: "configured" };
  }
}
