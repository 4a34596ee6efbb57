import { exactly, name, optional, strictBool, struct, u8, type ValueOf } from "../codec/index.js";
import { identifier, optionsPrefixed } from "../primitives/index.js";

// A patch after admission. Set keys are canonical in the explicit block; reset keys stand with their default in the
// derived one. Applying overwrites exactly these keys and their provenance. Flags are 0 or 1.

const optionalName = optional(strictBool, name);

/** stream_id · [has_name u8][name] · explicit and derived options, prefixed */
export const updateStreamResolved = exactly(
  struct("UpdateStreamResolved", {
    streamId: identifier,
    name: optionalName,
    explicitOptions: optionsPrefixed,
    derivedOptions: optionsPrefixed,
  }),
);
export type UpdateStreamResolved = ValueOf<typeof updateStreamResolved>;

/** stream_id · topic_id · [has_name u8][name] · explicit and derived options, prefixed */
export const updateTopicResolved = exactly(
  struct("UpdateTopicResolved", {
    streamId: identifier,
    topicId: identifier,
    name: optionalName,
    explicitOptions: optionsPrefixed,
    derivedOptions: optionsPrefixed,
  }),
);
export type UpdateTopicResolved = ValueOf<typeof updateTopicResolved>;

/** user_id · [has_username u8][username] · [has_status u8][status u8] · explicit and derived options, prefixed */
export const updateUserResolved = exactly(
  struct("UpdateUserResolved", {
    userId: identifier,
    username: optionalName,
    status: optional(strictBool, u8),
    explicitOptions: optionsPrefixed,
    derivedOptions: optionsPrefixed,
  }),
);
export type UpdateUserResolved = ValueOf<typeof updateUserResolved>;
