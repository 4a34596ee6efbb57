/**
 * Encrypts what leaves the client and decrypts what comes back: payloads and encoded user headers, each on its own. Ids,
 * timestamps and partitions stay in clear. The servers never see the key.
 */
export interface Encryptor {
  encrypt(data: Uint8Array): Uint8Array | Promise<Uint8Array>;
  /** Fails for bytes that this key did not encrypt. */
  decrypt(data: Uint8Array): Uint8Array | Promise<Uint8Array>;
}
