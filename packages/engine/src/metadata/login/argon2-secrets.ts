import { decodeBase64, encodeBase64 } from "@iggy/protocol";
import { argon2idAsync } from "@noble/hashes/argon2.js";
import { utf8ToBytes } from "@noble/hashes/utils.js";
import { equalBytes } from "./constant-time.js";
import type { Secrets } from "./secrets.js";

export interface Argon2Cost {
  readonly memoryKiB: number;
  readonly passes: number;
  readonly lanes: number;
}

/** The second choice of OWASP's password storage recommendations. */
export const defaultArgon2Cost: Argon2Cost = { memoryKiB: 19_456, passes: 2, lanes: 1 };

const SALT_BYTES = 16;
const HASH_BYTES = 32;
/** Hashes are this server's own, yet a damaged one must not cost without bound. */
const maxCost: Argon2Cost = { memoryKiB: 1_048_576, passes: 64, lanes: 64 };

const pattern = /^\$argon2id\$v=19\$m=(\d{1,7}),t=(\d{1,2}),p=(\d{1,2})\$([A-Za-z0-9+/]+)\$([A-Za-z0-9+/]+)$/;

/**
 * Argon2id (version 0x13, 32 bytes of output) in plain JavaScript, hashes as PHC strings. At the default cost a hash takes
 * a quarter of a second and more, and the thread does nothing else meanwhile.
 */
export function argon2Secrets(
  randomBytes: (length: number) => Uint8Array,
  cost: Argon2Cost = defaultArgon2Cost,
): Secrets {
  const hash = async (password: Uint8Array): Promise<string> => {
    const salt = randomBytes(SALT_BYTES);
    return phcString(cost, salt, await digest(password, salt, cost, HASH_BYTES));
  };
  // What an unknown user is compared with: a hash like any other, of a password that nobody will ever find.
  const nobody = phcString(cost, new Uint8Array(SALT_BYTES), new Uint8Array(HASH_BYTES));
  return {
    randomBytes,
    hashPassword: (password) => hash(utf8ToBytes(password)),
    verifyPassword: async (password, stored) => {
      const isEqual = await verify(utf8ToBytes(password), stored ?? nobody);
      return stored !== undefined && isEqual;
    },
  };
}

const digest = (
  password: Uint8Array,
  salt: Uint8Array,
  { memoryKiB, passes, lanes }: Argon2Cost,
  length: number,
): Promise<Uint8Array> =>
  argon2idAsync(password, salt, { m: memoryKiB, t: passes, p: lanes, dkLen: length, version: 0x13 });

const unpadded = (bytes: Uint8Array): string => encodeBase64(bytes).replace(/=+$/, "");

const phcString = ({ memoryKiB, passes, lanes }: Argon2Cost, salt: Uint8Array, hash: Uint8Array): string =>
  `$argon2id$v=19$m=${String(memoryKiB)},t=${String(passes)},p=${String(lanes)}$${unpadded(salt)}$${unpadded(hash)}`;

async function verify(password: Uint8Array, stored: string): Promise<boolean> {
  const [, memory, passes, lanes, saltText = "", hashText = ""] = pattern.exec(stored) ?? [];
  const cost = { memoryKiB: Number(memory), passes: Number(passes), lanes: Number(lanes) };
  const salt = padded(saltText);
  const hash = padded(hashText);
  if (salt === undefined || hash === undefined || !isWithin(cost) || hash.length < 4) return false;
  return equalBytes(await digest(password, salt, cost, hash.length), hash);
}

const padded = (text: string): Uint8Array | undefined => decodeBase64(text.padEnd(Math.ceil(text.length / 4) * 4, "="));

const isWithin = ({ memoryKiB, passes, lanes }: Argon2Cost): boolean =>
  memoryKiB >= 8 * lanes &&
  memoryKiB <= maxCost.memoryKiB &&
  passes >= 1 &&
  passes <= maxCost.passes &&
  lanes >= 1 &&
  lanes <= maxCost.lanes;
