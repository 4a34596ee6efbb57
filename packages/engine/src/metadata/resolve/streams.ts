import { admitCreate, createStream, ErrorCode, Operation } from "@iggy/protocol";
import { attempt } from "../attempt.js";
import { Refusal } from "../refusal.js";
import { deny, propose, resolver } from "./resolver.js";

export const resolveCreateStream = resolver(createStream, (_context, request) => {
  const options = attempt(() => admitCreate("stream", request.options, { name: request.name }));
  if (options instanceof Refusal) return deny(options.code);
  // A key of its own needs a server key to wrap it, and this server has none.
  if (options.explicit.some(({ key }) => key === "encryption_key")) return deny(ErrorCode.StreamEncryptionUnavailable);
  return propose(Operation.CreateStream, createStream.request, { name: request.name, options: options.explicit });
});
