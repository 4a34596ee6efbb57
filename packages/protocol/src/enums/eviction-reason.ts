import { nameOf } from "./code-tables.js";

/** Why a server ends a connection with an eviction frame. 0 is invalid. */
export const EvictionReason = {
  Reserved: 0,
  NoSession: 1,
  ClientReleaseTooLow: 2,
  ClientReleaseTooHigh: 3,
  InvalidRequestOperation: 4,
  InvalidRequestBody: 5,
  InvalidRequestBodySize: 6,
  SessionTooLow: 7,
  SessionReleaseMismatch: 8,
  InvalidCredentials: 9,
  InvalidToken: 10,
  UserInactive: 11,
  SessionError: 12,
  StaleClient: 13,
  IncompatibleProtocol: 14,
  MalformedLogin: 15,
} as const;

export type EvictionReasonName = keyof typeof EvictionReason;

export const evictionReasonName = (code: number): EvictionReasonName | undefined => nameOf(EvictionReason, code);
