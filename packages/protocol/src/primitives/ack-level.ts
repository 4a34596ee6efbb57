import { codeOf, u8, type ValueOf } from "../codec/index.js";
import { AckLevelCode } from "../enums/index.js";

/** What an offset write waits for. `no_ack` shortens the path on a single-replica partition only. */
export const ackLevel = codeOf("acknowledgement level", u8, AckLevelCode);
export type AckLevel = ValueOf<typeof ackLevel>;
