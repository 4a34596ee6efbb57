import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { connectionOptionKeys, IggyError, parseConnectionString } from "../../src/index.js";

const refusal = (text: string): IggyError => {
  try {
    parseConnectionString(text);
  } catch (error) {
    if (error instanceof IggyError) return error;
    throw error;
  }
  throw new Error(`"${text}" was accepted`);
};

describe("connection strings", () => {
  it.each([
    ["iggy", "tcp"],
    ["iggy+tcp", "tcp"],
    ["iggy+quic", "quic"],
    ["iggy+http", "http"],
    ["iggy+ws", "websocket"],
  ])("%s connects over %s", (scheme, transport) => {
    expect(parseConnectionString(`${scheme}://iggy:secret@localhost:8090`)).toEqual({
      transport,
      credentials: { kind: "password", username: "iggy", password: "secret" },
      host: "localhost",
      port: 8090,
      options: {},
    });
  });

  it("takes a token where there is no colon, slashes included", () => {
    const { credentials } = parseConnectionString("iggy://AbC+/d==@127.0.0.1:8090");
    expect(credentials).toEqual({ kind: "token", token: "AbC+/d==" });
  });

  it("does not decode percent signs", () => {
    const { credentials } = parseConnectionString("iggy://us%20er:pa%40ss@h:1");
    expect(credentials).toEqual({ kind: "password", username: "us%20er", password: "pa%40ss" });
  });

  it("takes an IPv6 host in brackets only", () => {
    expect(parseConnectionString("iggy://t@[2001:db8::1]:8090")).toMatchObject({ host: "2001:db8::1", port: 8090 });
    expect(refusal("iggy://t@2001:db8::1:8090").code).toBe(8000);
  });

  it("reads the options of TCP", () => {
    const { options } = parseConnectionString(
      "iggy+tcp://u:p@h:8090?heartbeat_interval=10s&reconnection_retries=3&reconnection_interval=1m 500ms&" +
        "reestablish_after=none&tls=true&tls_domain=example.org&tls_ca_file=/etc/ca.pem&nodelay=yes&" +
        "max_pending_operations=16&max_pending_operation_bytes=1024",
    );
    expect(options).toEqual({
      heartbeatIntervalMs: 10_000,
      reconnectionRetries: 3,
      reconnectionIntervalMs: 60_500,
      reestablishAfterMs: 0,
      tls: true,
      tlsDomain: "example.org",
      tlsCaFile: "/etc/ca.pem",
      noDelay: false,
      maxPendingOperations: 16,
      maxPendingOperationBytes: 1024,
    });
  });

  it("reads the options of QUIC, WebSocket and HTTP under their own keys", () => {
    expect(
      parseConnectionString(
        "iggy+quic://u:p@h:1?reconnection_max_retries=unlimited&validate_certificate=true&initial_mtu=1400",
      ).options,
    ).toEqual({ reconnectionRetries: "unlimited", validateCertificate: true, initialMtu: 1400 });
    expect(
      parseConnectionString(
        "iggy+ws://u:p@h:1?tls_validate_certificate=true&max_frame_size=1000&accept_unmasked_frames=true",
      ).options,
    ).toEqual({ validateCertificate: true, maxFrameSize: 1000, acceptUnmaskedFrames: true });
    expect(parseConnectionString("iggy+http://u:p@h:1?retries=5&heartbeat_interval=1s").options).toEqual({
      retries: 5,
      heartbeatIntervalMs: 1000,
    });
  });

  it("takes an empty option list over WebSocket only", () => {
    expect(parseConnectionString("iggy+ws://u:p@h:1?").options).toEqual({});
    expect(refusal("iggy://u:p@h:1?").code).toBe(8000);
  });

  it("knows the keys of each transport", () => {
    expect(connectionOptionKeys("http")).toEqual(["heartbeat_interval", "retries"]);
    expect(connectionOptionKeys("tcp")).not.toContain("validate_certificate");
  });

  it.each([
    ["no scheme", "u:p@h:1", '"://"'],
    ["two schemes", "iggy://iggy://u:p@h:1", 'second "://"'],
    ["a scheme in upper case", "IGGY://u:p@h:1", "scheme"],
    ["a scheme of another protocol", "tcp://u:p@h:1", "scheme"],
    ["a name of an object", "constructor://u:p@h:1", "scheme"],
    ["no credentials", "iggy://h:1", '"@"'],
    ["empty credentials", "iggy://@h:1", '"@"'],
    ["an at sign in a password", "iggy://u:p@ss@h:1", 'second "@"'],
    ["a colon in a password", "iggy://u:p:x@h:1", 'second ":"'],
    ["a slash in a password", "iggy://u:p/x@h:1", '"/" before "@"'],
    ["a question mark in a password", "iggy://u:p?x@h:1", '"?" before "@"'],
    ["an empty password", "iggy://u:@h:1", "user name and a password"],
    ["an empty name", "iggy://:p@h:1", "user name and a password"],
    ["no port", "iggy://u:p@h", "port"],
    ["no host", "iggy://u:p@:1", "host"],
    ["port 0", "iggy://u:p@h:0", "1 to 65535"],
    ["a port over 65535", "iggy://u:p@h:65536", "1 to 65535"],
    ["a path", "iggy://u:p@h:1/x", '"/" in the port'],
    ["two question marks", "iggy://u:p@h:1?tls=true?nodelay=true", 'second "?"'],
    ["an option without a value", "iggy://u:p@h:1?tls", '"tls" takes one "="'],
    ["an option with two equal signs", "iggy://u:p@h:1?tls=a=b", '"tls" takes one "="'],
    ["an unknown option", "iggy://u:p@h:1?color=red", '"color"'],
    ["an option of another transport", "iggy://u:p@h:1?validate_certificate=true", "validate_certificate"],
    ["a zero interval", "iggy://u:p@h:1?heartbeat_interval=0", "heartbeat_interval"],
    ["a bare number as a duration", "iggy://u:p@h:1?heartbeat_interval=5", "heartbeat_interval"],
    ["no pending operations", "iggy://u:p@h:1?max_pending_operations=0", "max_pending_operations"],
    ["a bad count over WebSocket", "iggy+ws://u:p@h:1?reconnection_retries=many", "reconnection_retries"],
  ])("refuses %s", (_, text, detail) => {
    const error = refusal(text);
    expect(error.code).toBe(8000);
    expect(error.message).toContain(detail);
  });

  it.each(["iggy://u:p@h:1?reconnection_retries=many", "iggy+quic://u:p@h:1?reconnection_max_retries=-1"])(
    "reports a bad number of retries as a number: %s",
    (text) => {
      expect(refusal(text).code).toBe(84);
    },
  );

  it("gives a value or a typed refusal for any text, and never repeats credentials", () => {
    const part = fc.string({ maxLength: 8 });
    fc.assert(
      fc.property(part, part, part, (scheme, host, query) => {
        for (const text of [
          `iggy${scheme}://us3rn4me:p4ssw0rd@${host}?${query}`,
          `iggy://us3rn4me${scheme}:p4ssw0rd${host}@h:1?${query}`,
        ]) {
          try {
            parseConnectionString(text);
          } catch (error) {
            expect(error).toBeInstanceOf(IggyError);
            expect((error as IggyError).message).not.toMatch(/us3rn4me|p4ssw0rd/);
          }
        }
      }),
    );
  });
});
