import { isUnspecified, type BindAddress } from "../kinds/address.js";
import type { ServerConfig } from "../keys.js";
import { rule, type Rule } from "./rule.js";

const BOTH_FILES = "is needed: TLS without `self_signed` loads both files";
const NOT_FOUND = "does not exist";
const MIB = 2 ** 20;

/** The listener whose address stands for the node: the first enabled one. */
export function publishedListener(config: ServerConfig): { key: string; address: BindAddress } | undefined {
  const candidates = [
    { key: "tcp.address", listener: config.tcp },
    { key: "websocket.address", listener: config.websocket },
    { key: "quic.address", listener: config.quic },
    { key: "http.address", listener: config.http },
  ];
  const first = candidates.find(({ listener }) => listener.enabled);
  return first && { key: first.key, address: first.listener.address };
}

const hasWildcardWithoutName = (config: ServerConfig, listenerKey: string): boolean => {
  const published = publishedListener(config);
  return (
    !config.cluster.enabled &&
    config.node.advertisedAddress === undefined &&
    published?.key === listenerKey &&
    isUnspecified(published.address.host)
  );
};

const WILDCARD = (key: string): Rule =>
  rule(
    key,
    (config) => hasWildcardWithoutName(config, key),
    "is a wildcard that clients cannot dial: set `node.advertised_address` (IGGY_NODE_ADVERTISED_ADDRESS) to the host they use",
  );

/** Both files of an enabled TLS listener that makes no certificate of its own must be there. */
function tlsFileRules(
  prefix: string,
  tlsOf: (config: ServerConfig) => { loads: boolean; certFile: string; keyFile: string },
): Rule[] {
  const files = [
    [`${prefix}.cert_file`, (config: ServerConfig) => tlsOf(config).certFile],
    [`${prefix}.key_file`, (config: ServerConfig) => tlsOf(config).keyFile],
  ] as const;
  return files.flatMap(([key, file]) => [
    rule(key, (config) => tlsOf(config).loads && file(config) === "", BOTH_FILES),
    rule(
      key,
      (config, host) => tlsOf(config).loads && file(config) !== "" && !host.fileExists(file(config)),
      NOT_FOUND,
    ),
  ]);
}

const IS_NO_BASE64 = "must be standard base64 with padding: `use_base64_secret` is on";
const HTTP_METHODS: ReadonlySet<string> = new Set("GET HEAD POST PUT DELETE PATCH OPTIONS TRACE CONNECT".split(" "));

const isBase64 = (text: string): boolean => Buffer.from(text, "base64").toString("base64") === text;

const isWebAddress = (text: string): boolean =>
  URL.canParse(text) && ["http:", "https:"].includes(new URL(text).protocol);

const websocketMessageMax = ({ websocket }: ServerConfig): number => websocket.maxMessageSizeBytes ?? 64 * MIB;

/** Rules of the listeners. */
export const transportRules: readonly Rule[] = [
  WILDCARD("tcp.address"),
  WILDCARD("websocket.address"),
  WILDCARD("quic.address"),
  WILDCARD("http.address"),
  ...tlsFileRules("tcp.tls", ({ tcp: { enabled, tls } }) => ({
    ...tls,
    loads: enabled && tls.enabled && !tls.selfSigned,
  })),
  ...tlsFileRules("websocket.tls", ({ websocket: { enabled, tls } }) => ({
    ...tls,
    loads: enabled && tls.enabled && !tls.selfSigned,
  })),
  ...tlsFileRules("http.tls", ({ http: { enabled, tls } }) => ({ ...tls, loads: enabled && tls.enabled })),
  ...tlsFileRules("quic.certificate", ({ quic: { enabled, certificate } }) => ({
    ...certificate,
    loads: enabled && !certificate.selfSigned,
  })),
  rule(
    "http.jwt.algorithm",
    ({ http }) => http.enabled && !["HS256", "HS384", "HS512"].includes(http.jwt.algorithm),
    "must be HS256, HS384 or HS512",
  ),
  rule(
    "http.jwt.access_token_expiry",
    ({ http }) => http.enabled && http.jwt.accessTokenExpiry === "server_default",
    "must be a duration or `never_expire`: this is the server's default",
  ),
  rule(
    "http.jwt.encoding_secret",
    ({ http }) => http.jwt.useBase64Secret && !isBase64(http.jwt.encodingSecret.reveal()),
    IS_NO_BASE64,
  ),
  rule(
    "http.jwt.decoding_secret",
    ({ http }) => http.jwt.useBase64Secret && !isBase64(http.jwt.decodingSecret.reveal()),
    IS_NO_BASE64,
  ),
  rule(
    "http.jwt.trusted_issuers",
    ({ http }) => http.jwt.trustedIssuers.some(({ issuer, audience }) => issuer === "" || audience === ""),
    "need an `issuer` and an `audience` each",
  ),
  rule(
    "http.jwt.trusted_issuers",
    ({ http }) => !http.jwt.trustedIssuers.every(({ jwksUrl }) => isWebAddress(jwksUrl)),
    "need an http or https `jwks_url` each",
  ),
  rule(
    "http.jwt.trusted_issuers",
    ({ http }) => http.jwt.trustedIssuers.some(({ username = "" }) => username === ""),
    "need a `username` each: the user, not root, that their tokens act as",
  ),
  rule(
    "http.cors.allowed_methods",
    ({ http: { cors } }) => cors.allowedMethods.some((method) => method !== "" && !HTTP_METHODS.has(method)),
    "may hold methods of HTTP in capital letters only",
  ),
  rule(
    "http.cors.allowed_origins",
    ({ http: { cors } }) => cors.allowedOrigins.indexOf("*", 1) > 0,
    "may hold `*` as the first entry only",
  ),
  rule(
    "http.cors.allow_credentials",
    ({ http: { cors } }) =>
      cors.allowCredentials &&
      [cors.allowedOrigins, cors.allowedHeaders, cors.exposedHeaders].some(
        (list) => list.length === 0 || list.includes("*"),
      ),
    "needs explicit `allowed_origins`, `allowed_headers` and `exposed_headers`, without `*`",
  ),
  rule("http.metrics.endpoint", ({ http }) => !http.metrics.endpoint.startsWith("/"), "must start with `/`"),
  rule(
    "websocket.max_message_size",
    (config) => websocketMessageMax(config) > config.messageBus.maxMessageSizeBytes && isGiven(config),
    "must be at most `message_bus.max_message_size`",
  ),
  rule(
    "websocket.max_frame_size",
    (config) => (config.websocket.maxFrameSizeBytes ?? 0) > websocketMessageMax(config),
    "must be at most `websocket.max_message_size`",
  ),
  rule(
    "websocket.max_write_buffer_size",
    ({ websocket: { maxWriteBufferSizeBytes = 0, writeBufferSizeBytes = 128 * 1024 } }) =>
      maxWriteBufferSizeBytes !== 0 && maxWriteBufferSizeBytes <= writeBufferSizeBytes,
    "must be above `websocket.write_buffer_size`",
  ),
  rule(
    "quic.stream_receive_window",
    ({ quic }) => quic.streamReceiveWindowBytes > quic.receiveWindowBytes,
    "must be at most `quic.receive_window`",
  ),
];

const isGiven = ({ websocket }: ServerConfig): boolean => websocket.maxMessageSizeBytes !== undefined;
