#pragma once

#include <cstddef>
#include <cstdint>

namespace iggy::hash {

constexpr uint64_t PRIME32_1 = 0x9E3779B1;
constexpr uint64_t PRIME32_2 = 0x85EBCA77;
constexpr uint64_t PRIME32_3 = 0xC2B2AE3D;
constexpr uint64_t PRIME64_1 = 0x9E3779B185EBCA87;
constexpr uint64_t PRIME64_2 = 0xC2B2AE3D27D4EB4F;
constexpr uint64_t PRIME64_3 = 0x165667B19E3779F9;
constexpr uint64_t PRIME64_4 = 0x85EBCA77C2B2AE63;
constexpr uint64_t PRIME64_5 = 0x27D4EB2F165667C5;
constexpr uint64_t PRIME_MX1 = 0x165667919E3779F9;
constexpr uint64_t PRIME_MX2 = 0x9FB21C651E98DF25;

/** One stripe meets the eight accumulators at once; a block is as many stripes as the secret has keys for. */
constexpr size_t STRIPE_SIZE = 64;
constexpr size_t STRIPES_PER_BLOCK = 16;
constexpr size_t BLOCK_SIZE = STRIPE_SIZE * STRIPES_PER_BLOCK;
constexpr size_t SECRET_SIZE = 192;

/** Where in the secret each use starts; stripe n of a block uses its bytes from 8n on. */
constexpr size_t KEY_STEP = 8;
constexpr size_t SCRAMBLE_KEY = SECRET_SIZE - STRIPE_SIZE;
constexpr size_t LAST_STRIPE_KEY = SECRET_SIZE - STRIPE_SIZE - 7;
constexpr size_t MERGE_KEY = 11;

/** Longest input of the forms without accumulators. */
constexpr size_t SHORT_MAX = 240;

/** The default secret of the algorithm. */
extern const uint8_t DEFAULT_SECRET[SECRET_SIZE];

}  // namespace iggy::hash
