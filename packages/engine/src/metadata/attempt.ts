import { type Codec, type Command, decode, decodeRequest, IggyError } from "@iggy/protocol";
import { refuse, type Refusal } from "./refusal.js";

/** What a check of the protocol package gives, or its refusal. */
export function attempt<T>(check: () => T): T | Refusal {
  try {
    return check();
  } catch (error) {
    if (error instanceof IggyError) return refuse(error.code);
    throw error;
  }
}

/** The value of a body in the log; malformed ones are refused with the code of the fault (3). */
export const decodedBody = <T>(layout: Codec<T>, body: Uint8Array): T | Refusal => attempt(() => decode(layout, body));

/** The request of a client; some commands refuse bytes behind it. */
export const decodedRequest = <Req>(command: Command<Req, unknown>, body: Uint8Array): Req | Refusal =>
  attempt(() => decodeRequest(command, body));
