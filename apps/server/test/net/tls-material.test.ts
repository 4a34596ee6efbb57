import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { loadTlsMaterial } from "../../src/net/tls-material.js";

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "iggy-tls-"));
  await writeFile(join(folder, "cert.pem"), "a certificate");
  await writeFile(join(folder, "key.pem"), "a key");
});
afterAll(() => rm(folder, { recursive: true }));

const tlsOf = (selfSigned: boolean, cert: string, key = "key.pem") => ({
  enabled: true,
  selfSigned,
  certFile: join(folder, cert),
  keyFile: join(folder, key),
});

it.each([true, false])("a pair that is there is used, with self_signed %s", async (selfSigned) => {
  expect(await loadTlsMaterial(tlsOf(selfSigned, "cert.pem"))).toEqual({ cert: "a certificate", key: "a key" });
});

it("without a certificate file, self_signed makes one for the run", async () => {
  const { cert, key } = await loadTlsMaterial(tlsOf(true, "none.pem"));
  expect(cert).toContain("BEGIN CERTIFICATE");
  expect(key).toContain("PRIVATE KEY");
});

it("a certificate without its key is refused by name, not replaced", async () => {
  await expect(loadTlsMaterial(tlsOf(true, "cert.pem", "none.pem"))).rejects.toThrow(join(folder, "none.pem"));
});
