import { connect, type HeaderValue } from "@iggy/sdk";
import { readAll } from "../../first-partition.js";
import { rootUrl } from "../../server-address.js";

await using client = await connect(rootUrl);
for await (const message of readAll(client, "headers-typed-stream", "typed")) {
  console.log(`Offset ${String(message.headers.offset)}: ${message.text()}`);
  for (const { key, value } of message.userHeaders) console.log(`  ${show(key)} = ${show(value)}`);
}

function show({ kind, value }: HeaderValue): string {
  const text = value instanceof Uint8Array ? Buffer.from(value).toString("hex") : String(value);
  return `${kind}:${text}`;
}
