import { connect } from "@iggy/sdk";
import { sendAll } from "../first-partition.js";
import { describe, orderEvents } from "../orders.js";
import { rootUrl } from "../server-address.js";

await using client = await connect(rootUrl);
const events = orderEvents(6);
// The envelope names the kind of its payload, which is JSON text of its own.
const messages = events.map(({ type, payload }) => ({
  payload: JSON.stringify({ message_type: type, payload: JSON.stringify(payload) }),
}));
await sendAll(client, "envelope-stream", "orders", messages);
for (const event of events) console.log(`Sent ${event.type}: ${describe(event)}.`);
