import { parseArgs } from "node:util";
import { rootUrl } from "../server-address.js";

/** What the basic producer and consumer take from their command lines. */
export interface BasicArguments {
  /** Its scheme names the transport. */
  readonly url: string;
  readonly stream: string;
  readonly topic: string;
  readonly partitionId: number;
  readonly consumerId: number;
  readonly messageBytes: number;
  readonly messagesPerBatch: number;
  /** The program ends after this many batches. */
  readonly batches: number;
  readonly intervalMs: number;
}

const OPTIONS = {
  url: { type: "string", default: rootUrl },
  stream: { type: "string", default: "basic-stream" },
  topic: { type: "string", default: "basic-topic" },
  partition: { type: "string", default: "0" },
  consumer: { type: "string", default: "1" },
  "message-size": { type: "string", default: "64" },
  "messages-per-batch": { type: "string", default: "100" },
  batches: { type: "string", default: "10" },
  interval: { type: "string", default: "100" },
} as const;

/** Reads the command line. Prints the options and ends the program when it makes no sense. */
export function basicArguments(): BasicArguments {
  try {
    const { values } = parseArgs({ options: OPTIONS });
    return {
      url: values.url,
      stream: values.stream,
      topic: values.topic,
      partitionId: wholeNumber("--partition", values.partition),
      consumerId: wholeNumber("--consumer", values.consumer),
      messageBytes: wholeNumber("--message-size", values["message-size"]),
      messagesPerBatch: wholeNumber("--messages-per-batch", values["messages-per-batch"]),
      batches: wholeNumber("--batches", values.batches),
      intervalMs: wholeNumber("--interval", values.interval),
    };
  } catch (error) {
    console.error(error instanceof Error ? error.message : error);
    console.error(`Options, with their defaults: ${usage()}`);
    process.exit(2);
  }
}

function wholeNumber(option: string, text: string): number {
  if (!/^\d{1,9}$/.test(text)) throw new Error(`${option} takes a whole number, not ${text}`);
  return Number(text);
}

function usage(): string {
  return Object.entries(OPTIONS)
    .map(([name, option]) => `--${name} ${option.default}`)
    .join(" ");
}
