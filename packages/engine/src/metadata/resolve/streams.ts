import { admitCreate, createStream, ErrorCode, Operation, type OptionEntry, sortOptions } from "@iggy/protocol";
import { attempt } from "../attempt.js";
import { Refusal } from "../refusal.js";
import { wrappedKeyOptions } from "../state/stream-encryption.js";
import type { Resolution } from "./resolution.js";
import { deny, propose, resolver } from "./resolver.js";

const isKey = ({ key }: OptionEntry): boolean => key === "encryption_key";

/** Whether the messages are encrypted is decided here. The log holds the wrapped key; the key itself is erased. */
export const resolveCreateStream = resolver(createStream, (context, request) => {
  const { name } = request;
  const admitted = attempt(() => admitCreate("stream", request.options, { name }));
  if (admitted instanceof Refusal) return deny(admitted.code);
  const { streamKeys } = context.inputs.secrets;
  const chosen = admitted.explicit.find(isKey);
  const erase = (): void => {
    for (const { value } of request.options.filter(isKey)) value.fill(0);
    chosen?.value.fill(0);
  };
  // Without a server key nothing could wrap it.
  if (chosen !== undefined && streamKeys === undefined) {
    erase();
    return deny(ErrorCode.StreamEncryptionUnavailable);
  }
  const options = admitted.explicit.filter((entry) => !isKey(entry));
  const proposal = (more: readonly OptionEntry[]): Resolution =>
    propose(Operation.CreateStream, createStream.request, { name, options: sortOptions([...options, ...more]) });
  const wrapping = streamKeys?.wrapNew(chosen?.value);
  if (wrapping === undefined) return proposal([]);
  return wrapping.finally(erase).then((wrapSet) => proposal(wrappedKeyOptions(wrapSet)));
});
