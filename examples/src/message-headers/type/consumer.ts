import { connect, type Message } from "@iggy/sdk";
import { readAll } from "../../first-partition.js";
import { describe, parseOrderEvent } from "../../orders.js";
import { rootUrl } from "../../server-address.js";

await using client = await connect(rootUrl);
for await (const message of readAll(client, "headers-type-stream", "orders")) {
  const event = parseOrderEvent(messageType(message), message.text());
  console.log(`Offset ${String(message.headers.offset)}: ${describe(event)}.`);
}

function messageType(message: Message): string {
  const type = message.userHeadersMap.get("message_type");
  if (typeof type !== "string") throw new Error("the message has no header message_type");
  return type;
}
