/** Sizes in bytes and bounds of message data. */
export const BATCH_HEADER_SIZE = 256;
export const MESSAGE_HEADER_SIZE = 48;

export const MAX_PAYLOAD_SIZE = 64_000_000;
/** Encoded user headers of one message. */
export const MAX_USER_HEADERS_SIZE = 100_000;
/** One message at its limits, alone in a batch: the largest record in a reply. */
export const MAX_RECORD_SIZE = BATCH_HEADER_SIZE + MESSAGE_HEADER_SIZE + MAX_PAYLOAD_SIZE + MAX_USER_HEADERS_SIZE;
/** How far the origin timestamps of one batch may lie apart: about 71 minutes. */
export const MAX_TIMESTAMP_DELTA_MICROS = 0xffff_ffff;

export const MAX_PRODUCER_ID = (1n << 63n) - 1n;
export const MAX_PRODUCER_EPOCH = 0x7fff;
export const MAX_PRODUCER_SEQUENCE = 0x7fff_ffff;

/** Prefix of a poll reply, before its records. */
export const POLL_REPLY_PREFIX_SIZE = 40;
/** Entry of the section table of a fetch reply, after its u32 count. */
export const FETCH_SECTION_SIZE = 56;
export const MAX_FETCH_SECTIONS = 1000;
/** Largest reply that a single record needs: the least reply limit of a client. */
export const MAX_RECORD_REPLY_SIZE = 256 + 4 + MAX_FETCH_SECTIONS * FETCH_SECTION_SIZE + MAX_RECORD_SIZE;

/** Least byte limit of a read: a reply prefix, a batch header and a message header. */
export const MIN_READ_MAX_BYTES = POLL_REPLY_PREFIX_SIZE + BATCH_HEADER_SIZE + MESSAGE_HEADER_SIZE;
export const MAX_READ_WAIT_MICROS = 600_000_000;
export const MAX_READ_TIMEOUT_MICROS = 630_000_000;
/** How much longer than its wait a waiting read must live. */
export const MIN_READ_REPLY_MARGIN_MICROS = 1_000_000;
/** What a server keeps of a fetch's time to send its reply. */
export const FETCH_REPLY_MARGIN_MICROS = 200_000;
