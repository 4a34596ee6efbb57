import { connect } from "@iggy/sdk";
import { readAll } from "../first-partition.js";
import { describe, parseOrderEvent } from "../orders.js";
import { rootUrl } from "../server-address.js";

interface Envelope {
  readonly message_type: string;
  readonly payload: string;
}

await using client = await connect(rootUrl);
for await (const message of readAll(client, "envelope-stream", "orders")) {
  const { message_type, payload } = envelopeOf(message.json());
  console.log(`Offset ${String(message.headers.offset)}: ${describe(parseOrderEvent(message_type, payload))}.`);
}

function envelopeOf(value: unknown): Envelope {
  if (typeof value === "object" && value !== null && "message_type" in value && "payload" in value) {
    const { message_type, payload } = value;
    if (typeof message_type === "string" && typeof payload === "string") return { message_type, payload };
  }
  throw new Error("the message is no envelope");
}
