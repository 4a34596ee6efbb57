import { expiryKind } from "../kinds/quantity.js";
import { textKind } from "../kinds/plain.js";
import { dormant, key, optional, required, section, tables } from "../schema.js";
import { address, bool, duration, int, optionalSize, secretText, size, text, texts } from "./declare.js";

const CERT_FILE = "core/certs/iggy_cert.pem";
const KEY_FILE = "core/certs/iggy_key.pem";
const OPTIONAL_SECRET = "Base64 or plain text; one of the two secrets serves both ways.";

const streamTls = section({
  enabled: bool(false, "Speak TLS on this listener."),
  self_signed: bool(true, "Without a certificate file, make a certificate for this run. Off: both files must exist."),
  cert_file: text(CERT_FILE, "Certificate chain, PEM."),
  key_file: text(KEY_FILE, "Private key, PEM."),
});

export const tcp = section({
  enabled: bool(true, "Listen for clients on TCP."),
  address: address("127.0.0.1:8090", "IP and port to bind; port 0 lets the system choose."),
  tls: streamTls,
});

export const quic = section({
  enabled: bool(true, "Listen for clients on QUIC."),
  address: address("127.0.0.1:8080", "IP and UDP port to bind; port 0 lets the system choose."),
  max_concurrent_bidi_streams: int(256, { min: 1, max: 2 ** 32 - 1 }, "Streams a client may keep open."),
  initial_mtu: size("1200 B", { min: "1200", max: "65535" }, "Largest datagram before path discovery."),
  send_window: size("64 MiB", {}, "Unacknowledged bytes per connection."),
  receive_window: size("64 MiB", { max: String(2 ** 32 - 1) }, "Receive window per connection."),
  stream_receive_window: size("64 MiB", { min: "1" }, "Receive window per stream; at least one frame."),
  keep_alive_interval: duration("10 s", {}, "Keep-alive period; 0 is off."),
  max_idle_timeout: duration("30 s", {}, "Idle limit; 0 is off."),
  certificate: section({
    self_signed: bool(true, "Make a certificate for this run and ignore the files."),
    cert_file: text("", "Certificate chain, PEM."),
    key_file: text("", "Private key, PEM, ECDSA P-256; official clients that do not validate accept no other kind."),
  }),
});

export const websocket = section({
  enabled: bool(true, "Listen for clients on WebSocket."),
  address: address("127.0.0.1:8092", "IP and port to bind; port 0 lets the system choose."),
  read_buffer_size: dormant(optionalSize({ min: "1", words: true }, "Read buffer; 128 KiB when unset.")),
  write_buffer_size: dormant(optionalSize({ min: "1", words: true }, "Write buffer; 128 KiB when unset.")),
  max_write_buffer_size: optionalSize(
    { words: true },
    "Reply bytes that may wait for a slow client; above it the connection is closed. 256 MiB when unset.",
  ),
  max_message_size: optionalSize({ min: "1", words: true }, "Largest message; 64 MiB when unset."),
  max_frame_size: optionalSize({ min: "1", words: true }, "Largest frame; `max_message_size` when unset."),
  accept_unmasked_frames: bool(false, "Accept frames without a mask."),
  tls: streamTls,
});

export const http = section({
  enabled: bool(true, "Serve the HTTP API."),
  address: address("127.0.0.1:3000", "IP and port to bind."),
  max_request_size: size("2 MB", { max: "256 MiB" }, "Largest request body."),
  web_ui: dormant(bool(false, "Serve the dashboard at `/ui`.")),
  cors: section({
    enabled: bool(true, "Answer cross-origin requests."),
    allowed_methods: texts(["GET", "POST", "PUT", "DELETE"], "Methods."),
    allowed_origins: texts(["*"], "Origins."),
    allowed_headers: texts(["content-type", "authorization"], "Request headers."),
    exposed_headers: texts(["iggy-view"], "Response headers a page may read."),
    allow_credentials: bool(false, "Admit credentials; needs lists without `*`."),
    allow_private_network: bool(false, "Admit requests from public to private networks."),
  }),
  jwt: section({
    algorithm: text("HS256", "HS256, HS384 or HS512."),
    issuer: text("iggy.apache.org", "Issuer of our tokens."),
    audience: text("iggy.apache.org", "Audience of our tokens."),
    valid_issuers: texts(["iggy.apache.org"], "Issuers we accept."),
    valid_audiences: texts(["iggy.apache.org"], "Audiences we accept."),
    access_token_expiry: key(expiryKind, "1 h", "Life of an access token."),
    clock_skew: duration("5 s", {}, "Tolerated clock difference."),
    not_before: duration("0 s", {}, "Delay until a token is valid."),
    encoding_secret: secretText(OPTIONAL_SECRET),
    decoding_secret: secretText(OPTIONAL_SECRET),
    use_base64_secret: bool(false, "The secrets are base64."),
    trusted_issuers: tables(256, "Foreign issuers whose tokens act as one of our users.", {
      issuer: required(textKind(), "Issuer."),
      audience: required(textKind(), "Audience."),
      jwks_url: required(textKind(), "Where the issuer's keys are."),
      username: optional(textKind(), "User the tokens act as; never root."),
    }),
  }),
  metrics: section({
    enabled: bool(true, "Serve metrics."),
    endpoint: text("/metrics", "Path of the metrics; requires authentication."),
    partitions_max: int(1000, {}, "Above this many partitions the per-partition series are left out."),
  }),
  tls: section({
    enabled: bool(false, "Speak TLS on this listener."),
    cert_file: text(CERT_FILE, "Certificate chain, PEM."),
    key_file: text(KEY_FILE, "Private key, PEM."),
  }),
});
