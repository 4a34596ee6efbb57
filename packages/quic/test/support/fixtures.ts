import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { CertificatePem } from "../../src/index.js";

const FOLDER = join(import.meta.dirname, "..", "fixtures");

export const fixture = (name: string): string => readFileSync(join(FOLDER, `${name}.pem`), "utf8");

/** A self-signed certificate for localhost with a key of the kind. */
export const pemOf = (kind: string): CertificatePem => ({
  cert: fixture(`${kind}-cert`),
  key: fixture(`${kind}-key`),
});
