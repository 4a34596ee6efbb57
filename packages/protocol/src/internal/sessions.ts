import {
  checked,
  type Codec,
  exactly,
  fixedBytes,
  list,
  type Reader,
  struct,
  u32,
  u64,
  type ValueOf,
  WireError,
} from "../codec/index.js";
import { limits } from "../enums/index.js";
import { sessionIdentity, type SessionIdentity } from "../primitives/index.js";

/**
 * A registration as the metadata log holds it. The creation time of the account stops a late login from registering
 * the user of a reused id; the verifier is derived from the bind secret, which never enters a log. The session number
 * is the number of the op.
 *
 *    0  user_created_at u64
 *    8  bind_verifier   32 bytes
 */
export const registerRequest = exactly(struct("Register", { userCreatedAt: u64, bindVerifier: fixedBytes(32) }));
export type RegisterRequest = ValueOf<typeof registerRequest>;

/** A partition that could not prove that the session retired; its next primary retires it before it serves. */
const retirementDebt = struct("retirement debt", { namespace: u64, createdRevision: u64 });
export type RetirementDebt = ValueOf<typeof retirementDebt>;

const debts = list(u32, retirementDebt, { min: 1 });

const finalizeHead = struct("FinalizeSession", { identity: sessionIdentity, namespaceRevision: u64 });

export interface FinalizeSession extends ValueOf<typeof finalizeHead> {
  readonly debt: readonly RetirementDebt[];
}

/**
 * Frees a session's slot, if the namespaces are still those of the revision.
 *
 *    0  identity           session identity
 *   32  namespace_revision u64
 *   40  debt               [u32 count][16 bytes × count], or nothing
 */
export const finalizeSession: Codec<FinalizeSession> = exactly<FinalizeSession>({
  type: finalizeHead.type,
  minSize: finalizeHead.minSize,
  size: (body) => finalizeHead.size(body) + (body.debt.length === 0 ? 0 : debts.size(body.debt)),
  write: (w, body) => {
    finalizeHead.write(w, body);
    if (body.debt.length > 0) debts.write(w, body.debt);
  },
  read: (r) => ({ ...finalizeHead.read(r), debt: r.remaining === 0 ? [] : debts.read(r) }),
  sample: (s) => ({
    ...finalizeHead.sample(s),
    debt: Array.from({ length: s.integer(2) }, () => retirementDebt.sample(s)),
  }),
  rows: () => [...(finalizeHead.rows?.() ?? []), { path: "debt", type: `${debts.type}, or nothing` }],
});

/** Sessions that a partition retires for good, and up to which op its debt is paid; 0 = not told. */
export interface RetireSessions {
  readonly identities: readonly SessionIdentity[];
  readonly paidThrough: bigint;
}

const retiredIdentity = checked(
  sessionIdentity,
  ({ clientId, session, metadataWatermark }) => {
    if (clientId === 0n || session === 0n) return "a retired session has a client id and a session number";
    return metadataWatermark < session ? "the watermark of a retired session is below its number" : undefined;
  },
  (s) => {
    const session = s.bigint(64) | 1n;
    return { clientId: s.bigint(128) | 1n, session, metadataWatermark: session };
  },
);

const identitySize = sessionIdentity.minSize;
const paidThroughSize = 8;

function retireFault({ identities, paidThrough }: RetireSessions): string | undefined {
  if (identities.length > limits.sessionsPerRetirement) return "more than 128 sessions retire at once";
  return identities.length === 0 && paidThrough === 0n ? "nothing retires and nothing is paid" : undefined;
}

/**
 *    0  identities   32 bytes each, up to 128; at least one, unless a paid_through follows
 *    …  paid_through u64, present when not 0
 *
 * The length alone tells whether the last field is there: its remainder by 32 is 0 or 8.
 */
export const retireSessions = checked<RetireSessions>(
  {
    type: "RetireSessions",
    minSize: paidThroughSize,
    size: ({ identities, paidThrough }) =>
      identitySize * identities.length + (paidThrough === 0n ? 0 : paidThroughSize),
    write: (w, { identities, paidThrough }) => {
      for (const identity of identities) retiredIdentity.write(w, identity);
      if (paidThrough !== 0n) w.u64(paidThrough);
    },
    read: readRetireSessions,
    sample: (s) => {
      const identities = Array.from({ length: s.integer(3) }, () => retiredIdentity.sample(s));
      return { identities, paidThrough: identities.length === 0 ? s.bigint(64) | 1n : s.bigint(64) };
    },
    rows: () => [
      { path: "identities", type: `${sessionIdentity.type} to end` },
      { path: "paidThrough", type: "u64 when not 0" },
    ],
  },
  retireFault,
);

function readRetireSessions(r: Reader): RetireSessions {
  const at = r.offset;
  const tail = r.remaining % identitySize;
  const count = (r.remaining - tail) / identitySize;
  if ((tail !== 0 && tail !== paidThroughSize) || count > limits.sessionsPerRetirement) {
    throw new WireError("Validation", `${String(r.remaining)} bytes are no list of sessions to retire`, at);
  }
  const identities = Array.from({ length: count }, () => retiredIdentity.read(r));
  if (tail === 0) return { identities, paidThrough: 0n };
  const paidThrough = r.u64();
  if (paidThrough === 0n) throw new WireError("Validation", "0 is not written as paid", at);
  return { identities, paidThrough };
}
