import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { generate } from "selfsigned";
import type { ServerConfig } from "../config/index.js";

/** Certificate chain and private key of a TLS listener, PEM. */
export interface TlsMaterial {
  readonly cert: string;
  readonly key: string;
}

const VALID_DAYS = 365;

/**
 * The files that the configuration names; where the certificate file is not there, a certificate for this run if the
 * configuration asks for one of its own. That one is for loopback only, has a P-256 key (the one kind that every official
 * client accepts) and is never written to disk.
 */
export async function loadTlsMaterial(tls: ServerConfig["tcp"]["tls"]): Promise<TlsMaterial> {
  if (!tls.selfSigned || existsSync(tls.certFile)) {
    const [cert, key] = await Promise.all([readFile(tls.certFile, "utf8"), readFile(tls.keyFile, "utf8")]);
    return { cert, key };
  }
  return selfSignedMaterial();
}

/** A certificate for loopback and for this run. */
export async function selfSignedMaterial(): Promise<TlsMaterial> {
  const made = await generate([{ name: "commonName", value: "localhost" }], {
    keyType: "ec",
    curve: "P-256",
    algorithm: "sha256",
    notAfterDate: new Date(Date.now() + VALID_DAYS * 86_400_000),
    extensions: [
      {
        name: "subjectAltName",
        altNames: [
          { type: 2, value: "localhost" },
          { type: 7, ip: "127.0.0.1" },
          { type: 7, ip: "::1" },
        ],
      },
    ],
  });
  return { cert: made.cert, key: made.private };
}
