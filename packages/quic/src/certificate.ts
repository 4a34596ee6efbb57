import { createPrivateKey, type KeyObject, X509Certificate } from "node:crypto";
import type { NativeCertificate } from "./addon/index.js";
import { QuicError } from "./quic-error.js";

/** Certificate chain and private key, PEM. */
export interface CertificatePem {
  readonly cert: string;
  readonly key: string;
}

/** What a key is, as people name it: `P-256`, `P-384`, `RSA 2048`, `Ed25519`. */
export interface Certificate extends NativeCertificate {
  readonly keyKind: string;
}

/** What the addon can sign with. */
const CURVES: Readonly<Record<string, string>> = { prime256v1: "P-256", secp384r1: "P-384" };
const RSA_BITS_MIN = 2048;
const BLOCK = /-----BEGIN CERTIFICATE-----[^-]*-----END CERTIFICATE-----/g;

/**
 * Reads a chain, the leaf first, and its key. Throws a `QuicError` (`QUIC_CERTIFICATE`) that says what is wrong with which
 * of the two; it never holds a part of the key.
 */
export function readCertificate({ cert, key }: CertificatePem): Certificate {
  const chain = readChain(cert, "the certificate file");
  const leaf = chain[0];
  if (leaf === undefined) throw refused("the certificate file holds no PEM certificate");
  const privateKey = readKey(key);
  const keyKind = kindOf(privateKey);
  if (!leaf.checkPrivateKey(privateKey)) {
    throw refused("the private key does not belong to the first certificate of the certificate file");
  }
  return {
    certificates: chain.map(({ raw }) => raw),
    key: privateKey.export({ format: "der", type: "pkcs8" }),
    keyKind,
  };
}

/** Root certificates of a PEM text, DER. */
export function readRoots(pem: string): readonly Uint8Array[] {
  const roots = readChain(pem, "the root certificates");
  if (roots.length === 0) throw refused("the root certificates hold no PEM certificate");
  return roots.map(({ raw }) => raw);
}

function readChain(pem: string, what: string): readonly X509Certificate[] {
  return (pem.match(BLOCK) ?? []).map((block, at) => {
    try {
      return new X509Certificate(block);
    } catch (cause) {
      throw refused(`certificate ${at + 1} of ${what} does not parse`, cause);
    }
  });
}

function readKey(pem: string): KeyObject {
  if (/BEGIN ENCRYPTED|Proc-Type:.*ENCRYPTED/.test(pem)) {
    const remedy = "give it without a passphrase (openssl pkey -in key.pem -out plain.pem)";
    throw refused(`the private key is encrypted; ${remedy}`);
  }
  try {
    return createPrivateKey(pem);
  } catch {
    // The cause stays out: nobody checks that it holds no part of the key.
    throw refused("the private key does not parse as PEM");
  }
}

function kindOf(key: KeyObject): string {
  const { namedCurve = "", modulusLength = 0 } = key.asymmetricKeyDetails ?? {};
  switch (key.asymmetricKeyType) {
    case "ec": {
      const curve = CURVES[namedCurve];
      if (curve === undefined) throw refused(`the private key is on the curve ${namedCurve}; use P-256`);
      return curve;
    }
    case "rsa":
      if (modulusLength < RSA_BITS_MIN) throw refused(`the private key is RSA with ${modulusLength} bits; use P-256`);
      return `RSA ${modulusLength}`;
    case "ed25519":
      return "Ed25519";
    default:
      throw refused(`the private key is of the kind ${key.asymmetricKeyType ?? "unknown"}; use P-256`);
  }
}

const refused = (message: string, cause?: unknown): QuicError => new QuicError("QUIC_CERTIFICATE", message, { cause });
