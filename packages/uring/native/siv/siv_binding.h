#pragma once

#include <napi.h>

/**
 * Adds AES-256-GCM-SIV (RFC 8452) to `exports`. Every array is a Uint8Array. A wrong type, size or range, and an output
 * that overlaps an input, throw a TypeError or a RangeError before anything is read; so does every function where the
 * processor lacks the instructions (`sivAvailable` is false).
 *
 *   sivAvailable: boolean
 *   sivSealInto(key 32, nonce 12, plaintext, output, associated?)
 *       output is 28 bytes longer than the plaintext and gets nonce ++ ciphertext ++ tag
 *   sivOpenInto(key 32, sealed, output, associated?): boolean
 *       output is 28 bytes shorter than `sealed`; false, and an output of zeros, for what this key did not seal
 *
 * Whole message batches: each payload, and the user headers of each message that has some, are one section. `offset`
 * and `length` are a range of `bytes` that starts with the batch.
 *
 *   sivMeasureBatch(bytes, offset, length, outcome): number
 *       `outcome[1]` is the length of the batch, `outcome[2]` the number of its sections
 *   sivSealBatch(key, nonces, bytes, offset, length, output, outcome): number
 *       12 bytes of `nonces` and 28 bytes of growth for each section
 *   sivOpenBatch(key, bytes, offset, length, output, outcome): number
 *       28 bytes less for each section
 *
 * They return 0 or the fault: 1 cut, 2 layout, 5 a section that this key did not seal; `outcome[0]` has its position in
 * `bytes`, and the output, where there was one to write to, is all zeros. Lengths, frame checksums and the batch checksum
 * of the output are made to fit; the checksums of the input are not looked at.
 */
Napi::Object InitSiv(Napi::Env env, Napi::Object exports);
