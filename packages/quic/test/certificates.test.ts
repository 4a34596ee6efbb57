import { describe, expect, test } from "vitest";
import { readCertificate } from "../src/index.js";
import { fixture, pemOf } from "./support/fixtures.js";

const refusedFor = (cert: string, key: string): unknown => {
  try {
    readCertificate({ cert, key });
    return undefined;
  } catch (error) {
    return error;
  }
};

describe("certificates and keys", () => {
  test.each([
    ["p256", "P-256"],
    ["p384", "P-384"],
    ["rsa", "RSA 2048"],
    ["ed25519", "Ed25519"],
  ])("%s is read as %s", (name, kind) => {
    expect(readCertificate(pemOf(name)).keyKind).toBe(kind);
  });

  test("line ends of Windows, text around the blocks and other PEM forms of a key change nothing", () => {
    const { cert, key } = pemOf("p256");
    const plain = readCertificate({ cert, key });
    const crlf = (text: string): string => text.replaceAll("\n", "\r\n");
    expect(readCertificate({ cert: crlf(cert), key: crlf(key) })).toEqual(plain);
    expect(readCertificate({ cert: `subject=CN = localhost\n${cert}\n`, key: fixture("p256-sec1-key") })).toEqual(
      plain,
    );
  });

  test("a chain keeps its order", () => {
    const { certificates } = readCertificate(pemOf("chain"));
    expect(certificates.length).toBe(2);
  });

  test.each([
    ["an encrypted key", fixture("p256-cert"), fixture("encrypted-key"), "is encrypted"],
    ["a key of another certificate", fixture("p256-cert"), fixture("p384-key"), "does not belong"],
    ["a curve that TLS here can't use", fixture("p521-cert"), fixture("p521-key"), "secp521r1; use P-256"],
    ["no key at all", fixture("p256-cert"), "nothing", "does not parse"],
    ["no certificate at all", "nothing", fixture("p256-key"), "holds no PEM certificate"],
    [
      "a certificate that is cut short",
      fixture("p256-cert").replace(/\n.{20}/, "\n"),
      fixture("p256-key"),
      "certificate 1 of the certificate file does not parse",
    ],
  ])("%s is refused by name", (_, cert, key, message) => {
    const error = refusedFor(cert, key);
    expect(error).toMatchObject({ code: "QUIC_CERTIFICATE", message: expect.stringContaining(message) as string });
    expect(JSON.stringify(error)).not.toContain("PRIVATE KEY");
  });
});
