import { connect } from "@iggy/sdk";
import { gzipSync } from "node:zlib";
import { sendAll } from "../../first-partition.js";
import { rootUrl } from "../../server-address.js";

// The server stores what it gets: a client that wants compressed payloads compresses them and says so in a header.
await using client = await connect(rootUrl);
const messages = Array.from({ length: 10 }, (_, index) => {
  const text = `${index + 1}. ${"All work and no play makes Jack a dull boy. ".repeat(20)}`;
  const payload = gzipSync(text);
  console.log(`Compressed ${Buffer.byteLength(text)} bytes to ${payload.length}.`);
  return { payload, headers: { "content-encoding": "gzip" } };
});
await sendAll(client, "headers-compression-stream", "compressed", messages);
console.log(`Sent ${messages.length} messages.`);
