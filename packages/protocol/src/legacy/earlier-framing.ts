import { checked, mapped, restBytes, struct, u32, u64, type ValueOf } from "../codec/index.js";

/** Bytes that the length of a request counts beside its payload: code and request id. */
const REQUEST_OVERHEAD = 12;
/** Bytes that the length of a response counts beside its payload: the request id. */
const RESPONSE_OVERHEAD = 8;

const request = struct("earlier request frame", { length: u32, code: u32, requestId: u64, payload: restBytes });
const response = struct("earlier response frame", { status: u32, length: u32, requestId: u64, payload: restBytes });

/**
 * Framing from before the 256-byte header; no peer of 0.11 or later speaks it.
 *
 *   request   length u32 (12 + payload) · code u32 · request_id u64 · payload
 *   response  status u32 · length u32 (8 + payload) · request_id u64 · payload
 */
export const earlierRequestFrame = mapped(
  checked(request, ({ length, payload }) =>
    length === REQUEST_OVERHEAD + payload.length ? undefined : "the length is not that of the frame",
  ),
  ({ code, requestId, payload }) => ({ code, requestId, payload }),
  ({ code, requestId, payload }) => ({ length: REQUEST_OVERHEAD + payload.length, code, requestId, payload }),
  (s) => ({ code: u32.sample(s), requestId: u64.sample(s), payload: restBytes.sample(s) }),
);
export type EarlierRequestFrame = ValueOf<typeof earlierRequestFrame>;

export const earlierResponseFrame = mapped(
  checked(response, ({ length, payload }) =>
    length === RESPONSE_OVERHEAD + payload.length ? undefined : "the length is not that of the frame",
  ),
  ({ status, requestId, payload }) => ({ status, requestId, payload }),
  ({ status, requestId, payload }) => ({ status, length: RESPONSE_OVERHEAD + payload.length, requestId, payload }),
  (s) => ({ status: u32.sample(s), requestId: u64.sample(s), payload: restBytes.sample(s) }),
);
export type EarlierResponseFrame = ValueOf<typeof earlierResponseFrame>;
