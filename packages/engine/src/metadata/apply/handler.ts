import type { Codec } from "@iggy/protocol";
import { decodedBody } from "../attempt.js";
import type { OperationContext } from "./operation-context.js";
import { Refusal } from "../refusal.js";

/** Payload of a success without one. */
export const nothing = new Uint8Array(0);

/**
 * What an operation does. It decides first and changes second: a refused operation leaves the state as it was. Nothing
 * outside state and prepare may enter, so that every replica comes to the same result.
 */
export type Handler = (context: OperationContext, body: Uint8Array) => Uint8Array | Refusal;

/** A handler of decoded bodies. A body that does not decode is refused with the code of the fault (3). */
export const handler =
  <T>(layout: Codec<T>, run: (context: OperationContext, request: T) => Uint8Array | Refusal): Handler =>
  (context, body) => {
    const request = decodedBody(layout, body);
    return request instanceof Refusal ? request : run(context, request);
  };
