/** The default secret of XXH3: 192 bytes that every length of the hash mixes in at fixed offsets. */
const HEX =
  "b8fe6c3923a44bbe7c01812cf721ad1cded46de9839097db7240a4a4b7b3671f" +
  "cb79e64eccc0e578825ad07dccff7221b8084674f743248ee03590e6813a264c" +
  "3c2852bb91c300cb88d0658b1b532ea371644897a20df94e3819ef46a9deacd8" +
  "a8fa763fe39c343ff9dcbbc7c70b4f1d8a51e04bcdb45931c89f7ec9d9787364" +
  "eac5ac8334d3ebc3c581a0fffa1363eb170ddd51b7f0da49d316552629d4689e" +
  "2b16be587d47a1fc8ff8b8d17ad031ce45cb3a8f95160428afd7fbcabb4b407e";

export const SECRET_SIZE = 192;

export const secret: Uint8Array = Uint8Array.from({ length: SECRET_SIZE }, (_, i) =>
  Number.parseInt(HEX.slice(2 * i, 2 * i + 2), 16),
);

/** Little-endian words of the secret from byte `at` on: accumulation reads it at offsets that are not word aligned. */
export function secretWords(at: number, count: number): Uint32Array {
  const view = new DataView(secret.buffer);
  return Uint32Array.from({ length: count }, (_, i) => view.getUint32(at + 4 * i, true));
}
