#include "gcm_siv.h"

#include <cstring>

#include "../hash/byte_order.h"
#include "block_arm64.h"
#include "block_x64.h"

namespace iggy::siv {

#if defined(__x86_64__) || defined(__aarch64__)

namespace {

/** Overwrites memory in a way that the compiler must keep. */
inline void wipe(void* at, size_t length) {
  std::memset(at, 0, length);
  __asm__ __volatile__("" : : "r"(at) : "memory");
}

/** `even` and `odd` are the halves of the key. */
SIV_TARGET inline void expandKey(Block even, Block odd, uint8_t* roundKeys) {
  storeBlock(roundKeys, even);
  storeBlock(roundKeys + 16, odd);
  uint32_t constant = 1;
  for (size_t i = 2; i < ROUND_KEYS; i += 2, constant <<= 1) {
    even = exclusiveOr(prefixes(even), rotatedLastWord(odd, constant));
    storeBlock(roundKeys + 16 * i, even);
    if (i + 1 == ROUND_KEYS) break;
    odd = exclusiveOr(prefixes(odd), substitutedLastWord(even));
    storeBlock(roundKeys + 16 * (i + 1), odd);
  }
}

SIV_TARGET void expandMasterKey(const uint8_t* key, uint8_t* roundKeys) {
  expandKey(loadBlock(key), loadBlock(key + 16), roundKeys);
}

/** Blocks that go through the rounds, or into one reduction, together. */
constexpr size_t LANES = 8;

/** What the key and a nonce give: the key of POLYVAL in its powers, and the key of the encryption. */
struct DerivedKeys {
  alignas(16) uint8_t encryption[16 * ROUND_KEYS];
  /** powers[i] is the key to the power i + 1; those that a short message does not need are not there. */
  Block powers[LANES];
};

SIV_TARGET inline Block multiply(Block a, Block b) {
  Product product = zeroProduct();
  addProduct(product, a, b);
  return reduce(product);
}

/** `blocks` is how many POLYVAL will take at most in one go. */
SIV_TARGET void deriveKeys(const uint8_t* master, const uint8_t* nonce, size_t blocks, DerivedKeys& keys) {
  // Each block encrypts a number and the nonce; the first half of the result is key material.
  const Block first = blockOf(static_cast<uint64_t>(load32(nonce)) << 32, load64(nonce + 4));
  Block material[6];
#pragma GCC unroll 6
  for (uint32_t i = 0; i < 6; i++) material[i] = addToCounter(first, i);
  encryptBlocks<6>(master, material);
  keys.powers[0] = joinLow(material[0], material[1]);
  expandKey(joinLow(material[2], material[3]), joinLow(material[4], material[5]), keys.encryption);
  // From two powers of about half each, so that few products wait for one another.
  const size_t count = blocks < LANES ? blocks : LANES;
  for (size_t power = 2; power <= count; power++) {
    keys.powers[power - 1] = multiply(keys.powers[power / 2 - 1], keys.powers[(power + 1) / 2 - 1]);
  }
  wipe(material, sizeof material);
}

/** Adds LANES blocks to the running value with a single reduction. */
SIV_TARGET inline Block absorbLanes(const DerivedKeys& keys, Block value, const uint8_t* data) {
  Product product = zeroProduct();
  addProduct(product, exclusiveOr(value, loadBlock(data)), keys.powers[LANES - 1]);
#pragma GCC unroll 8
  for (size_t i = 1; i < LANES; i++) addProduct(product, loadBlock(data + 16 * i), keys.powers[LANES - 1 - i]);
  return reduce(product);
}

/** The same with `count` blocks, fewer than LANES. */
SIV_TARGET inline Block absorbBlocks(const DerivedKeys& keys, Block value, const uint8_t* data, size_t count) {
  Product product = zeroProduct();
  addProduct(product, exclusiveOr(value, loadBlock(data)), keys.powers[count - 1]);
  for (size_t i = 1; i < count; i++) addProduct(product, loadBlock(data + 16 * i), keys.powers[count - 1 - i]);
  return reduce(product);
}

/** Adds bytes, padded with zeros to whole blocks. */
SIV_TARGET Block absorb(const DerivedKeys& keys, Block value, Input input) {
  const uint8_t* at = input.data;
  size_t left = input.length;
  for (; left >= 16 * LANES; at += 16 * LANES, left -= 16 * LANES) value = absorbLanes(keys, value, at);
  const size_t whole = left / 16;
  if (whole > 0) value = absorbBlocks(keys, value, at, whole);
  at += 16 * whole;
  left -= 16 * whole;
  if (left == 0) return value;
  uint8_t padded[16] = {};
  std::memcpy(padded, at, left);
  value = absorbBlocks(keys, value, padded, 1);
  wipe(padded, sizeof padded);
  return value;
}

/** The tag, once `value` has absorbed all data. */
SIV_TARGET inline Block finishTag(const DerivedKeys& keys, Block value, const uint8_t* nonce, uint64_t associatedLength,
                                  uint64_t plaintextLength) {
  const Block lengths = blockOf(8 * associatedLength, 8 * plaintextLength);
  const Block sum = multiply(exclusiveOr(value, lengths), keys.powers[0]);
  const Block mixed = exclusiveOr(sum, blockOf(load64(nonce), load32(nonce + 8)));
  Block tag = bitAnd(mixed, blockOf(~0ull, ~(1ull << 63)));
  encryptBlocks<1>(keys.encryption, &tag);
  return tag;
}

/** The counter that a tag starts. */
SIV_TARGET inline Block counterOf(Block tag) { return bitOr(tag, blockOf(0, 1ull << 63)); }

/** Encrypts or decrypts `length` bytes; the counter moves on by the blocks used. */
SIV_TARGET void applyKeystream(const uint8_t* keys, Block& counter, const uint8_t* from, uint8_t* to, size_t length) {
  Block stream[LANES];
  for (; length >= 16 * LANES; from += 16 * LANES, to += 16 * LANES, length -= 16 * LANES) {
#pragma GCC unroll 8
    for (uint32_t i = 0; i < LANES; i++) stream[i] = addToCounter(counter, i);
    counter = addToCounter(counter, LANES);
    encryptBlocks<LANES>(keys, stream);
#pragma GCC unroll 8
    for (size_t i = 0; i < LANES; i++) storeBlock(to + 16 * i, exclusiveOr(loadBlock(from + 16 * i), stream[i]));
  }
  if (length == 0) return;
  for (uint32_t i = 0; i < LANES; i++) stream[i] = addToCounter(counter, i);
  if (length > 64) encryptBlocks<LANES>(keys, stream);
  else encryptBlocks<4>(keys, stream);
  const size_t whole = length / 16;
  for (size_t i = 0; i < whole; i++) storeBlock(to + 16 * i, exclusiveOr(loadBlock(from + 16 * i), stream[i]));
  const size_t rest = length - 16 * whole;
  if (rest == 0) return;
  uint8_t last[16];
  storeBlock(last, stream[whole]);
  for (size_t i = 0; i < rest; i++) to[16 * whole + i] = from[16 * whole + i] ^ last[i];
}

/** Whole blocks that the longer of the inputs has; POLYVAL takes at least the one with the lengths. */
inline size_t blocksOf(Input associated, size_t length) {
  const size_t longest = associated.length > length ? associated.length : length;
  return longest < 32 ? 1 : longest / 16;
}

SIV_TARGET void sealWith(const uint8_t* master, const uint8_t* nonce, Input associated, Input plaintext,
                         uint8_t* sealed) {
  DerivedKeys keys;
  deriveKeys(master, nonce, blocksOf(associated, plaintext.length), keys);
  const Block value = absorb(keys, absorb(keys, zeroBlock(), associated), plaintext);
  const Block tag = finishTag(keys, value, nonce, associated.length, plaintext.length);
  std::memcpy(sealed, nonce, NONCE_SIZE);
  Block counter = counterOf(tag);
  applyKeystream(keys.encryption, counter, plaintext.data, sealed + NONCE_SIZE, plaintext.length);
  storeBlock(sealed + NONCE_SIZE + plaintext.length, tag);
  wipe(&keys, sizeof keys);
}

/** Decrypted bytes are absorbed while they are in the cache. */
constexpr size_t CHUNK = 16 * 1024;

SIV_TARGET bool openWith(const uint8_t* master, Input associated, Input sealed, uint8_t* plaintext) {
  const uint8_t* nonce = sealed.data;
  const uint8_t* ciphertext = sealed.data + NONCE_SIZE;
  const size_t length = sealed.length - OVERHEAD;
  DerivedKeys keys;
  deriveKeys(master, nonce, blocksOf(associated, length), keys);
  const Block stored = loadBlock(ciphertext + length);
  Block counter = counterOf(stored);
  Block value = absorb(keys, zeroBlock(), associated);
  for (size_t at = 0; at < length; at += CHUNK) {
    const size_t size = length - at < CHUNK ? length - at : CHUNK;
    applyKeystream(keys.encryption, counter, ciphertext + at, plaintext + at, size);
    value = absorb(keys, value, {plaintext + at, size});
  }
  const Block expected = finishTag(keys, value, nonce, associated.length, length);
  wipe(&keys, sizeof keys);
  // All bytes are compared whatever they are.
  uint8_t difference[16];
  storeBlock(difference, exclusiveOr(stored, expected));
  const bool isSame = (load64(difference) | load64(difference + 8)) == 0;
  if (!isSame && length > 0) wipe(plaintext, length);
  return isSame;
}

}  // namespace

bool isAvailable() {
  static const bool available = isSupported();
  return available;
}

Cipher::Cipher(const uint8_t* key) { expandMasterKey(key, roundKeys_); }

Cipher::~Cipher() { wipe(roundKeys_, sizeof roundKeys_); }

void Cipher::seal(const uint8_t* nonce, Input associated, Input plaintext, uint8_t* sealed) const {
  sealWith(roundKeys_, nonce, associated, plaintext, sealed);
}

bool Cipher::open(Input associated, Input sealed, uint8_t* plaintext) const {
  if (sealed.length < OVERHEAD) return false;
  return openWith(roundKeys_, associated, sealed, plaintext);
}

#else

bool isAvailable() { return false; }
Cipher::Cipher(const uint8_t*) {}
Cipher::~Cipher() {}
void Cipher::seal(const uint8_t*, Input, Input, uint8_t*) const {}
bool Cipher::open(Input, Input, uint8_t*) const { return false; }

#endif

}  // namespace iggy::siv
