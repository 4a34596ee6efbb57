import { connectQuic } from "./client.js";
import { probe } from "./probe.js";

/** What `@iggy/sdk` takes as `options.provider`, and finds by itself in Node.js where this package is installed. */
export const quicProvider = { probe, connect: connectQuic } as const;
