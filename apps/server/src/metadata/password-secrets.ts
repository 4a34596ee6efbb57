import { randomBytes } from "node:crypto";
import { hash, type Options, verify } from "@node-rs/argon2";
import type { Secrets } from "@iggy/engine";
import { TaskSlots } from "../task-slots.js";

/** Argon2id version 0x13, which are the library's defaults, at the second choice of OWASP's password storage recommendations; the work runs off the JavaScript thread. */
const COST: Options = {
  memoryCost: 19_456,
  timeCost: 2,
  parallelism: 1,
  outputLen: 32,
};
const SALT_BYTES = 16;
const NOBODY_PASSWORD_BYTES = 32;
/**
 * Hashes at a time. They run on the four threads that also serve the files: with all of them taken by sign-ins, a write
 * of 0.04 ms took 600.
 */
const HASHES_MAX = 2;

/** Password hashes by the native Argon2 library. Its first hash is what unknown users are compared with. */
export async function passwordSecrets(): Promise<Secrets> {
  const slots = new TaskSlots(HASHES_MAX);
  const hashPassword = (password: string): Promise<string> =>
    slots.run(() => hash(password, { ...COST, salt: randomBytes(SALT_BYTES) }));
  const nobody = await hashPassword(randomBytes(NOBODY_PASSWORD_BYTES).toString("base64"));
  return {
    randomBytes: (length) => randomBytes(length),
    hashPassword,
    verifyPassword: async (password, stored) => {
      const isRight = await slots.run(() => verify(stored ?? nobody, password));
      return stored !== undefined && isRight;
    },
  };
}
