import { type Authentication, type MetadataMachine, tokenHash, type User } from "@iggy/engine";
import { namedId, numericId } from "@iggy/protocol";

/** A personal access token that holds now, and whose it is. */
export interface StoredToken {
  readonly user: User;
  readonly hash: string;
  /** Undefined for never. */
  readonly expiresAtMicros: number | undefined;
}

/** Users and their tokens, from committed metadata. */
export class Accounts {
  private readonly machine: MetadataMachine;

  constructor(machine: MetadataMachine) {
    this.machine = machine;
  }

  byId(userId: number): User | undefined {
    return this.machine.user(numericId(userId));
  }

  byName(username: string): User | undefined {
    return this.machine.user(namedId(username));
  }

  isActive({
    userId,
    userCreatedAtMicros,
  }: {
    readonly userId: number;
    readonly userCreatedAtMicros: number;
  }): boolean {
    const user = this.byId(userId);
    return user?.createdAtMicros === userCreatedAtMicros && user.isActive;
  }

  /** The token of a text, or why there is none. */
  token(text: string, nowMicros: number): StoredToken | Extract<Authentication, { kind: "refused" }>["reason"] {
    const authentication = this.machine.authenticateToken(text, nowMicros);
    if (authentication.kind === "refused") return authentication.reason;
    const user = this.byId(authentication.account.userId);
    const hash = tokenHash(text);
    for (const token of user?.tokens.values() ?? []) {
      if (token.hash !== hash) continue;
      const expiresAtMicros = token.expiryMicros === 0n ? undefined : Number(token.expiryMicros);
      return { user: token.user, hash, expiresAtMicros };
    }
    return "unknown-token";
  }
}
