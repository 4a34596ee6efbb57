import { describe, expect, test } from "vitest";
import { Client, formatConnectionString, parseConnectionString } from "../src/index.js";

describe("parsing", () => {
  test.each([
    ["iggy://u:p@h:1", { transport: "TCP", options: { host: "h", port: 1 } }],
    [
      "iggy+tcp://u:p@h:1?tls=true&tls_domain=d",
      { transport: "TLS", tls: { servername: "d", rejectUnauthorized: true } },
    ],
    ["iggy+tcp://u:p@[::1]:1?nodelay=true", { options: { host: "::1", port: 1, noDelay: true } }],
    ["iggy+ws://u:p@h:1?tls=true", { transport: "WSS", tls: { rejectUnauthorized: false } }],
    ["iggy+ws://u:p@h:1?", { transport: "WS" }],
    [
      "iggy+ws://u:p@h:1?max_message_size=2000&max_frame_size=1000&accept_unmasked_frames=true",
      { options: { maxMessageSize: 2000 }, maxResponseFrameSize: 1000 },
    ],
    [
      "iggy+quic://u:p@h:1?initial_mtu=1300&keep_alive_interval=9&validate_certificate=true&reconnection_max_retries=3",
      {
        transport: "QUIC",
        options: { initialMtu: 1300, keepAliveInterval: 9 },
        tls: { rejectUnauthorized: true },
        reconnect: { maxRetries: 3 },
      },
    ],
    ["iggy+http://u:p@h:1?retries=7", { transport: "HTTP", http: { retries: 7 } }],
    ["iggy://tok/en+=@h:1", { credentials: { token: "tok/en+=" } }],
    ["iggy://u:p%40@h:1?reconnection_retries=unlimited", { credentials: { username: "u", password: "p%40" } }],
  ])("%s", (text, expected) => {
    expect(parseConnectionString(text)).toMatchObject(expected);
  });

  test.each([
    ["iggy://u:p@h", 8000],
    ["iggy://u:p@h:0", 8000],
    ["iggy://u:p@h:1?", 8000],
    ["iggy://u:@h:1", 8000],
    ["iggy://u:p@h:1?a=b=c", 8000],
    ["iggy://u:p@h:1?unknown=1", 8000],
    ["iggy://u:p@h:1?heartbeat_interval=0", 8000],
    ["iggy://u:p@h:1?reconnection_retries=many", 84],
    ["iggy+ws://u:p@h:1?reconnection_retries=many", 8000],
    ["iggy+http://u:p@h:1?nodelay=true", 8000],
    ["iggy+quic://u:p@h:1?reconnection_retries=3", 8000],
    ["kafka://u:p@h:1", 8000],
  ])("%s is refused", (text, code) => {
    expect(() => parseConnectionString(text)).toThrow(expect.objectContaining({ code }));
  });
});

const hard = "p@s:s/w?o#r%40d";

test("a password that breaks the grammar: the error names the character and the way out, and holds none of it", () => {
  for (const text of [`iggy://user:${hard}@h:1`, `iggy://user:x/${hard}@h:1`, "iggy://user:hid?den@h:1"]) {
    let error: unknown;
    try {
      parseConnectionString(text);
    } catch (thrown) {
      error = thrown;
    }
    expect(error).toMatchObject({ code: 8000 });
    const { message, stack } = error as Error;
    expect(message).toMatch(/"[@:/?]"|"\/"/);
    expect(message).toContain("apart from the string");
    for (const part of ["w?o#r", "s/w", "hid", "den@"]) expect(`${message}${stack ?? ""}`).not.toContain(part);
  }
  // Percent-encoding is no way out: nothing is decoded. The options object is one.
  expect(parseConnectionString(`iggy://user:${encodeURIComponent(hard)}@h:1`).credentials).toMatchObject({
    password: encodeURIComponent(hard),
  });
  expect(() => new Client({ credentials: { username: "user", password: hard } })).not.toThrow();
});

describe("formatting", () => {
  test.each([
    "iggy+tcp://u:pp@h:1",
    "iggy+tcp://u:pp@[::1]:1?tls=true&tls_domain=d.example&tls_ca_file=/ca.pem&nodelay=false",
    "iggy+tcp://u:pp@h:1?heartbeat_interval=7000ms&reconnection_retries=unlimited&reconnection_interval=20ms&reestablish_after=9ms",
    "iggy+ws://u:pp@h:1?tls=true&tls_validate_certificate=true&max_message_size=2000&max_frame_size=1000",
    "iggy+quic://u:pp@h:1?validate_certificate=true&reconnection_max_retries=4&response_buffer_size=5000&initial_mtu=1300",
    "iggy+http://u:pp@h:1?retries=2",
    "iggy+tcp://tok/en=@h:1?max_pending_operations=5&max_pending_operation_bytes=1000",
  ])("%s comes back as it was", (text) => {
    const config = parseConnectionString(text);
    const formatted = formatConnectionString(config, { redact: false });
    expect(parseConnectionString(formatted)).toEqual(config);
  });

  test("shows no credentials unless it is told to", () => {
    for (const text of ["iggy://user:secret@h:1", "iggy://secret@h:1"]) {
      expect(formatConnectionString(parseConnectionString(text))).toBe("iggy+tcp://***:***@h:1");
    }
    expect(formatConnectionString({ credentials: () => Promise.resolve({ token: "secret" }) })).not.toContain("secret");
  });

  test("credentials that no string carries are refused without being shown", () => {
    const config = { credentials: { username: "user", password: hard } };
    expect(() => formatConnectionString(config, { redact: false })).toThrow(expect.objectContaining({ code: 8000 }));
    expect(() => formatConnectionString(config, { redact: false })).not.toThrow(hard);
  });
});
