import { checked, type Codec, type Reader, struct, u8, type ValueOf, WireError } from "../../codec/index.js";
import { OptionScope } from "../../enums/index.js";
import { type Identifier, identifier, type OptionEntry, optionsToEnd, resetKeys } from "../../primitives/index.js";

/** The resource that a patch changes. */
export type ResourceTarget =
  | { readonly scope: typeof OptionScope.topic; readonly streamId: Identifier; readonly topicId: Identifier }
  | { readonly scope: typeof OptionScope.stream; readonly streamId: Identifier }
  | { readonly scope: typeof OptionScope.user; readonly userId: Identifier };

/** `[scope u8]`, then the identifiers of the scope. */
export const resourceTarget: Codec<ResourceTarget> = {
  type: "scope u8, then stream and topic, stream, or user",
  minSize: 1 + identifier.minSize,
  size: (target) => {
    switch (target.scope) {
      case OptionScope.topic:
        return 1 + identifier.size(target.streamId) + identifier.size(target.topicId);
      case OptionScope.stream:
        return 1 + identifier.size(target.streamId);
      case OptionScope.user:
        return 1 + identifier.size(target.userId);
    }
  },
  write: (w, target) => {
    w.u8(target.scope);
    switch (target.scope) {
      case OptionScope.topic:
        identifier.write(w, target.streamId);
        identifier.write(w, target.topicId);
        return;
      case OptionScope.stream:
        identifier.write(w, target.streamId);
        return;
      case OptionScope.user:
        identifier.write(w, target.userId);
    }
  },
  read: readTarget,
  sample: (s) => {
    switch (s.integer(2)) {
      case 0:
        return { scope: OptionScope.topic, streamId: identifier.sample(s), topicId: identifier.sample(s) };
      case 1:
        return { scope: OptionScope.stream, streamId: identifier.sample(s) };
      default:
        return { scope: OptionScope.user, userId: identifier.sample(s) };
    }
  },
};

function readTarget(r: Reader): ResourceTarget {
  const at = r.offset;
  const scope = u8.read(r);
  switch (scope) {
    case OptionScope.topic:
      return { scope, streamId: identifier.read(r), topicId: identifier.read(r) };
    case OptionScope.stream:
      return { scope, streamId: identifier.read(r) };
    case OptionScope.user:
      return { scope, userId: identifier.read(r) };
    default:
      throw new WireError("Validation", `${String(scope)} is no option scope`, at);
  }
}

const layout = struct("UpdateResource", { target: resourceTarget, reset: resetKeys, options: optionsToEnd });

/** A patch that sets and resets nothing, or sets and resets the same key, is malformed. */
export const updateResourceRequest = checked<ValueOf<typeof layout>>(
  layout,
  ({ reset, options }) => patchFault(reset, options),
  (s) => {
    const patch = layout.sample(s);
    const options = patch.options.filter(({ key }) => !patch.reset.includes(key));
    return options.length + patch.reset.length > 0 ? { ...patch, options } : { ...patch, reset: ["key"] };
  },
);

function patchFault(reset: readonly string[], options: readonly OptionEntry[]): string | undefined {
  if (reset.length === 0 && options.length === 0) return "the patch sets and resets nothing";
  return options.some(({ key }) => reset.includes(key)) ? "a key is both set and reset" : undefined;
}
