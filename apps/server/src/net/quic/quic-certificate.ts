import { readFile } from "node:fs/promises";
import type { Certificate, CertificatePem } from "@iggy/quic";
import { asError } from "../../as-error.js";
import type { ServerConfig } from "../../config/index.js";
import { selfSignedMaterial } from "../tls-material.js";

type CertificateConfig = ServerConfig["quic"]["certificate"];

/** The one kind of key that official clients accept when they don't validate, which is their default. */
const COMMON_KEY_KIND = "P-256";

/** The files that the configuration names, or a certificate for this run. Rejects with what is wrong with the files. */
export async function loadQuicCertificate(
  config: CertificateConfig,
  read: (pem: CertificatePem) => Certificate,
  log: { warn(fields: object, message: string): void },
): Promise<Certificate> {
  if (config.selfSigned) return read(await selfSignedMaterial());
  const certificate = await readFiles(config, read);
  const { keyKind } = certificate;
  if (keyKind !== COMMON_KEY_KIND) {
    log.warn(
      {},
      `the key of quic.certificate.key_file is ${keyKind}: clients that validate can connect, official clients in their ` +
        `default mode can't; they accept ECDSA ${COMMON_KEY_KIND} only`,
    );
  }
  return certificate;
}

async function readFiles(
  { certFile, keyFile }: CertificateConfig,
  read: (pem: CertificatePem) => Certificate,
): Promise<Certificate> {
  try {
    const [cert, key] = await Promise.all([readFile(certFile, "utf8"), readFile(keyFile, "utf8")]);
    return read({ cert, key });
  } catch (error) {
    const { message } = asError(error);
    throw new Error(`quic.certificate (${certFile}, ${keyFile}): ${message}`, { cause: error });
  }
}
