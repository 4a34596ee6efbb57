import { ErrorCode, IggyError } from "@iggy/protocol";
import type { User } from "@iggy/engine";
import type { AccessTokens, Accounts, Authenticator, TrustedIssuers } from "../auth/index.js";
import type { HttpSessions } from "../commands/index.js";
import { nullable, object, optional, type ShapeValue, text, u32, u64 } from "../json/index.js";
import { anyCredential, empty, json, publicRoute, route, type Route } from "../route/index.js";
import type { LoginDesk } from "../../sessions/login-desk.js";
import type { Clock } from "../../request.js";

export interface SignInDeps {
  readonly desk: Pick<LoginDesk, "authenticatePassword">;
  readonly accounts: Accounts;
  readonly tokens: AccessTokens;
  readonly issuers: TrustedIssuers;
  readonly authenticator: Authenticator;
  readonly sessions: HttpSessions;
  readonly clock: Clock;
  readonly log: { info(fields: object, message: string): void; warn(fields: object, message: string): void };
}

const identityShape = object({ user_id: u32, access_token: object({ token: text(), expiry: u64 }) });

const signedIn = json(200, "Whose token it is, the token, and when it expires in Unix seconds.", identityShape);
const signedOut = empty(204, "The session of the credential is over. The token itself holds until it expires.");

const tag = "Signing in";
const note = optional(nullable(text()), null);

export function signInRoutes(deps: SignInDeps): readonly Route[] {
  const { desk, accounts, tokens, issuers, authenticator, sessions, clock, log } = deps;
  const identityOf = async (user: User): Promise<ShapeValue<typeof identityShape>> => {
    const { token, expiry } = await tokens.issue(user);
    return { user_id: user.id, access_token: { token, expiry: BigInt(expiry) } };
  };
  return [
    publicRoute({
      method: "POST",
      path: "/users/login",
      tag,
      summary: "Sign in with a password",
      showsView: true,
      place: "here",
      body: object({ username: text(), password: text(), version: note, context: note }),
      answers: [signedIn],
      serve: async ({ body, peerAddress }) => {
        const outcome = await desk.authenticatePassword(body.username, body.password);
        if (outcome === undefined) throw new IggyError(ErrorCode.TransientNotAccepted);
        const user = outcome.kind === "account" ? accounts.byId(outcome.account.userId) : undefined;
        if (user === undefined) {
          log.warn({ peer: peerAddress }, "refused a login");
          throw new IggyError(ErrorCode.InvalidCredentials);
        }
        log.info({ peer: peerAddress, userId: user.id, version: shown(body.version) }, "signed in over HTTP");
        return signedIn.of(await identityOf(user));
      },
    }),
    publicRoute({
      method: "POST",
      path: "/personal-access-tokens/login",
      tag,
      summary: "Sign in with a personal access token",
      showsView: true,
      place: "here",
      body: object({ token: text() }),
      answers: [signedIn],
      serve: async ({ body, peerAddress }) => {
        const found = accounts.token(body.token, clock.nowMicros());
        if (typeof found === "string") {
          log.warn({ peer: peerAddress }, "refused a login");
          const isInactive = found === "inactive-token-owner";
          throw new IggyError(isInactive ? ErrorCode.UserInactive : ErrorCode.InvalidPersonalAccessToken);
        }
        log.info({ peer: peerAddress, userId: found.user.id }, "signed in over HTTP");
        return signedIn.of(await identityOf(found.user));
      },
    }),
    publicRoute({
      method: "POST",
      path: "/users/refresh-token",
      tag,
      summary: "Exchange an access token for a new one",
      description: "The old token holds until its own expiry.",
      showsView: true,
      place: "here",
      body: object({ token: text() }),
      answers: [signedIn],
      serve: async ({ body: { token } }) => {
        const own = token === "" ? undefined : await authenticator.ownUser(token);
        if (own !== undefined) return signedIn.of(await identityOf(own.user));
        const isForeign = token !== "" && (await issuers.verify(token)) !== undefined;
        throw new IggyError(isForeign ? ErrorCode.InvalidAccessToken : ErrorCode.Unauthenticated);
      },
    }),
    route({
      method: "DELETE",
      path: "/users/logout",
      tag,
      summary: "End the session of the credential",
      access: anyCredential,
      place: "primary",
      answers: [signedOut],
      serve: async ({ caller }) => {
        await sessions.logout(caller.credential.key);
        return signedOut.of();
      },
    }),
  ];
}

/** What a client says about itself, as far as a line of the log has room for it. */
const shown = (text: string | null): string | undefined => text?.slice(0, 64);
