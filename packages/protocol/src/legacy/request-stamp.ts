import { Operation } from "../enums/index.js";
import { xxh3_64 } from "../hash/index.js";

/**
 * What a 0.11 client puts into `request_checksum`: the XXH3-64 of the body for logins, logouts and metadata operations,
 * 0 for the others. Equal bodies carry equal stamps, so it identifies a request only together with client and session.
 */
export function legacyRequestStamp(operation: number, body: Uint8Array): bigint {
  const isStamped = operation !== Operation.NonReplicated && operation < Operation.SendMessages;
  return isStamped ? xxh3_64(body) : 0n;
}
