import type { CallOptions } from "../api/caller.js";
import type { IdentityInfo, SessionFace } from "../api/session.js";
import { checkedCredentials } from "../session/credentials.js";
import type { AccessTokens } from "./access-tokens.js";

/** Sign-ins over HTTP: what they give is an access token. */
export class HttpSessionApi implements SessionFace {
  readonly #tokens: AccessTokens;

  constructor(tokens: AccessTokens) {
    this.#tokens = tokens;
  }

  async login(
    { username, password }: { readonly username: string; readonly password: string },
    options?: CallOptions,
  ): Promise<IdentityInfo> {
    return this.#tokens.login(checkedCredentials({ username, password }), options);
  }

  async loginWithToken({ token }: { readonly token: string }, options?: CallOptions): Promise<IdentityInfo> {
    return this.#tokens.login(checkedCredentials({ token }), options);
  }

  /** Ends what the server keeps for the token, and forgets the token. */
  async logout(options?: CallOptions): Promise<true> {
    await this.#tokens.logout(options);
    return true;
  }

  refreshToken(options?: CallOptions): Promise<IdentityInfo> {
    return this.#tokens.refresh(options);
  }
}
