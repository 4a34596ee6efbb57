#pragma once

#include <cstddef>
#include <cstdint>

namespace iggy::siv {

constexpr size_t KEY_SIZE = 32;
constexpr size_t NONCE_SIZE = 12;
constexpr size_t TAG_SIZE = 16;
/** What sealing adds: the nonce in front, the tag behind. */
constexpr size_t OVERHEAD = NONCE_SIZE + TAG_SIZE;
/** Bytes of a plaintext, and of associated data, that the algorithm allows. */
constexpr uint64_t MAX_SIZE = 1ull << 36;

struct Input {
  const uint8_t* data;
  size_t length;
};

/** Whether this processor has the instructions; nothing else here may be called where it has not. */
bool isAvailable();

/**
 * AES-256-GCM-SIV (RFC 8452) under one key. The expanded key, and all that is derived from it, is wiped when it is done
 * with.
 */
class Cipher {
 public:
  explicit Cipher(const uint8_t* key);
  ~Cipher();
  Cipher(const Cipher&) = delete;
  Cipher& operator=(const Cipher&) = delete;

  /** Writes `nonce ++ ciphertext ++ tag` to `sealed`, which does not overlap the input. */
  void seal(const uint8_t* nonce, Input associated, Input plaintext, uint8_t* sealed) const;

  /**
   * Writes the plaintext, shorter by OVERHEAD, which does not overlap the input. False when the bytes are not what this
   * key sealed; the output is then all zeros.
   */
  bool open(Input associated, Input sealed, uint8_t* plaintext) const;

 private:
  alignas(16) uint8_t roundKeys_[16 * 15];
};

}  // namespace iggy::siv
