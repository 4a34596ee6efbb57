import { type Codec, WireError } from "../codec/index.js";
import { type OptionEntry, optionsPrefixed } from "../primitives/index.js";

/**
 * Options of a changed resource as reads show them. Unreadable when the answering node does not know some critical
 * state of the resource: a mirror keeps the values that it has.
 */
export type ChangeOptions =
  | {
      readonly readable: true;
      readonly explicit: readonly OptionEntry[];
      readonly derived: readonly OptionEntry[];
    }
  | { readonly readable: false };

const readable = 0;
const unreadable = 1;

/** `[00][explicit, prefixed][derived, prefixed]`, or `[01]` */
export const changeOptions: Codec<ChangeOptions> = {
  type: "00, explicit and derived options; or 01",
  minSize: 1,
  size: (value) =>
    value.readable ? 1 + optionsPrefixed.size(value.explicit) + optionsPrefixed.size(value.derived) : 1,
  write: (w, value) => {
    w.u8(value.readable ? readable : unreadable);
    if (!value.readable) return;
    optionsPrefixed.write(w, value.explicit);
    optionsPrefixed.write(w, value.derived);
  },
  read: (r) => {
    const at = r.offset;
    const tag = r.u8();
    if (tag > unreadable) throw new WireError("UnknownDiscriminant", `${String(tag)} is no form of options`, at);
    if (tag === unreadable) return { readable: false };
    return { readable: true, explicit: optionsPrefixed.read(r), derived: optionsPrefixed.read(r) };
  },
  sample: (s) =>
    s.boolean()
      ? { readable: true, explicit: optionsPrefixed.sample(s), derived: optionsPrefixed.sample(s) }
      : { readable: false },
};
