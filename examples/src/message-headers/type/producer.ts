import { connect } from "@iggy/sdk";
import { sendAll } from "../../first-partition.js";
import { describe, orderEvents } from "../../orders.js";
import { rootUrl } from "../../server-address.js";

await using client = await connect(rootUrl);
const events = orderEvents(6);
// The kind travels in a header, so a consumer can choose or skip a message without reading its payload.
const messages = events.map(({ type, payload }) => ({
  payload: JSON.stringify(payload),
  headers: { message_type: type },
}));
await sendAll(client, "headers-type-stream", "orders", messages);
for (const event of events) console.log(`Sent ${event.type}: ${describe(event)}.`);
