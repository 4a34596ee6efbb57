import type { MetadataMachine } from "@iggy/engine";
import { NO_SESSION } from "../request.js";

/** Whether what a request was admitted with still holds: its session has not ended, or it had none that could end. */
export const isSessionLive = (machine: MetadataMachine, client: bigint, session: number): boolean =>
  session === NO_SESSION || machine.isLiveSession(client, session);
