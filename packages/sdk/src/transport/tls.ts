import { ErrorCode } from "@iggy/protocol";
import { X509Certificate } from "node:crypto";
import { readFile } from "node:fs/promises";
import { isIP } from "node:net";
import { connect, createSecureContext, type ConnectionOptions, type SecureContext } from "node:tls";
import { IggyError, errorOf } from "../errors/index.js";
import { asBuffer, openSocket } from "./socket.js";
import type { TcpOptions } from "./tcp.js";
import type { Transport } from "./transport.js";

export interface TlsOptions {
  /** PEM roots that replace the built-in ones. */
  readonly ca?: string | Uint8Array;
  /** File with PEM roots. */
  readonly caFile?: string;
  readonly cert?: string | Uint8Array;
  readonly key?: string | Uint8Array;
  /** Name that the certificate must carry; the host without it. */
  readonly servername?: string;
  /** False accepts any certificate. */
  readonly rejectUnauthorized?: boolean;
  /** Further options of `node:tls`. */
  readonly socket?: Partial<ConnectionOptions>;
}

export function tlsTransport(options: TlsOptions = {}, tcp: TcpOptions = {}): Transport {
  // Read once: a wrong file or certificate is the same on every dial.
  let context: Promise<SecureContext> | undefined;
  return {
    protocol: "tcp",
    present: asBuffer,
    async connect(endpoint, handlers, signal) {
      context ??= secureContext(options);
      const secure = await context;
      const servername = options.servername ?? (isIP(endpoint.host) === 0 ? endpoint.host : undefined);
      const socket = connect({
        ...options.socket,
        host: endpoint.host,
        port: endpoint.port,
        secureContext: secure,
        rejectUnauthorized: options.rejectUnauthorized ?? true,
        ...(servername === undefined ? {} : { servername }),
      });
      socket.setNoDelay(tcp.noDelay ?? true);
      if (tcp.keepAlive === true) socket.setKeepAlive(true);
      return openSocket(socket, "secureConnect", endpoint, handlers, signal);
    },
  };
}

async function secureContext(options: TlsOptions): Promise<SecureContext> {
  if (options.servername !== undefined && !/^[A-Za-z0-9_.-]{1,253}$/.test(options.servername)) {
    throw errorOf(ErrorCode.InvalidTlsDomain, `tls.servername is no host name: ${options.servername}`);
  }
  const ca = await loadRoots(options);
  try {
    return createSecureContext({
      ...(ca === undefined ? {} : { ca }),
      ...(options.cert === undefined ? {} : { cert: text(options.cert) }),
      ...(options.key === undefined ? {} : { key: text(options.key) }),
    });
  } catch (error) {
    // The cause stays out of the error: it may quote the key.
    throw errorOf(
      ErrorCode.InvalidTlsCertificate,
      `the TLS certificates do not parse: ${error instanceof Error ? error.name : "unknown"}`,
    );
  }
}

/** The roots that replace the built-in ones, PEM; undefined without such. */
export async function loadRoots({ ca, caFile }: TlsOptions): Promise<string | undefined> {
  const roots = caFile === undefined ? ca : await readRoots(caFile);
  if (roots === undefined) return undefined;
  const pem = text(roots);
  checkRoots(pem);
  return pem;
}

/** Node.js takes roots that do not parse for no roots at all, and every handshake fails. */
function checkRoots(pem: string): void {
  const certificates = pem.match(/-----BEGIN CERTIFICATE-----[^-]*-----END CERTIFICATE-----/g) ?? [];
  if (certificates.length === 0)
    throw errorOf(ErrorCode.InvalidTlsCertificate, "the TLS roots hold no PEM certificate");
  try {
    for (const certificate of certificates) new X509Certificate(certificate);
  } catch (cause) {
    throw errorOf(ErrorCode.InvalidTlsCertificate, "a certificate of the TLS roots does not parse", { cause });
  }
}

const text = (pem: string | Uint8Array): string => (typeof pem === "string" ? pem : new TextDecoder().decode(pem));

async function readRoots(file: string): Promise<string> {
  try {
    return await readFile(file, "utf8");
  } catch (error) {
    if (error instanceof IggyError) throw error;
    throw errorOf(ErrorCode.InvalidTlsCertificatePath, `the TLS roots ${file} are not readable`, { cause: error });
  }
}
