#pragma once

#include <napi.h>

/**
 * Adds the functions of hashing to `exports`. `offset` and `length` are a range of `bytes`; a wrong argument throws a
 * TypeError or a RangeError before anything is read.
 *
 *   hashKernels: string[]                     what this processor runs, the one in use first
 *   xxh3(bytes, offset, length, seed?)        bigint; the seed is a number or a bigint, 0 when left out
 *   xxh3Into(out, bytes, offset, length, seed?)  out: Uint32Array, gets the low and the high word
 *   xxh3By(kernel, bytes, offset, length, seed)  bigint, by the kernel of that name
 *
 *   xxh3StreamSize: number                    bytes of the state of a stream: a Uint8Array at an address divisible by 8
 *   xxh3StreamStart(state, seed?)
 *   xxh3StreamUpdate(state, bytes)
 *   xxh3StreamDigest(state, out)              out: Uint32Array
 *
 *   verifyBatch(bytes, offset, length, outcome): number
 *   stampBatch(bytes, offset, length, partitionId, baseOffset, baseTimestamp, outcome): number
 *   verifyAndStampBatch(the same): number
 *   sealBatch(bytes, offset, length, outcome): number
 *
 * These return 0, or the fault: 1 cut, 2 layout, 3 message checksum, 4 batch checksum. `outcome` is a Float64Array that
 * gets the position of the fault in `bytes`, the length of the batch and the index of the message at fault; without a
 * fault the position is that of the batch, and the index is the number of messages.
 */
Napi::Object InitHash(Napi::Env env, Napi::Object exports);
