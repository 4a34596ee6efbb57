import {
  describeOptions,
  encodeResponse,
  ErrorCode,
  nameOf,
  optionDescriptors,
  OptionScope,
  type OptionScopeName,
} from "@iggy/protocol";
import { refuse } from "../refusal.js";
import { read } from "./read.js";

/** The catalogue of a scope, with the default that this node has for the replication factor. */
export const readCatalogue = read(describeOptions, (context, request) => {
  const scope = nameOf<OptionScopeName>(OptionScope, request.scope);
  if (scope === undefined) return refuse(ErrorCode.InvalidCommand);
  const entries = optionDescriptors(scope, { replicationFactor: context.config.defaultReplicationFactor });
  return encodeResponse(describeOptions, { entries });
});
