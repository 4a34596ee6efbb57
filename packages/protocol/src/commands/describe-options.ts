import { list, struct, u32 } from "../codec/index.js";
import { Operation } from "../enums/index.js";
import { command, type RequestOf, type ResponseOf } from "./command.js";
import { optionDescriptor, optionScope } from "./records/option-descriptor.js";

/**
 * The option catalogue of a scope, in catalogue order.
 *
 *   request  scope u8 (1 topic, 2 stream, 3 user)
 *   reply    [u32 count][descriptor × count]
 */
export const describeOptions = command({
  code: 13,
  name: "options.describe",
  title: "DescribeOptions",
  operation: Operation.NonReplicated,
  request: struct("DescribeOptions", { scope: optionScope }),
  response: struct("DescribeOptions reply", { entries: list(u32, optionDescriptor) }),
});
export type DescribeOptionsRequest = RequestOf<typeof describeOptions>;
export type DescribeOptionsResponse = NonNullable<ResponseOf<typeof describeOptions>>;
