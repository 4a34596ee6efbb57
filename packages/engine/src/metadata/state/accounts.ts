import { type Permissions, ROOT_USER_ID, UserStatus } from "@iggy/protocol";
import type { ResourceOptions } from "./resource-options.js";

export interface UserFields {
  readonly id: number;
  /** Tells the account from an earlier one of the same id. */
  readonly createdAtMicros: number;
  readonly username: string;
  /** A `UserStatus` code. */
  readonly status: number;
  /** PHC string. */
  readonly passwordHash: string;
  readonly permissions: Permissions | null;
  readonly options: ResourceOptions;
}

export class User {
  readonly id: number;
  readonly createdAtMicros: number;
  username: string;
  status: number;
  passwordHash: string;
  permissions: Permissions | null;
  options: ResourceOptions;
  readonly tokens = new Map<string, AccessToken>();

  constructor(fields: UserFields) {
    this.id = fields.id;
    this.createdAtMicros = fields.createdAtMicros;
    this.username = fields.username;
    this.status = fields.status;
    this.passwordHash = fields.passwordHash;
    this.permissions = fields.permissions;
    this.options = fields.options;
  }

  get isRoot(): boolean {
    return this.id === ROOT_USER_ID;
  }

  get isActive(): boolean {
    return this.status === UserStatus.active;
  }
}

export interface AccessToken {
  readonly user: User;
  readonly name: string;
  /** Lower-case hex of the BLAKE3-256 of the token's text, which is kept nowhere. */
  readonly hash: string;
  /** µs since the epoch; 0 = never. */
  readonly expiryMicros: bigint;
}

export const isExpired = (token: AccessToken, nowMicros: number): boolean =>
  token.expiryMicros !== 0n && token.expiryMicros <= BigInt(nowMicros);
