import { connect, type Message } from "@iggy/sdk";
import { gunzipSync } from "node:zlib";
import { readAll } from "../../first-partition.js";
import { rootUrl } from "../../server-address.js";

await using client = await connect(rootUrl);
for await (const message of readAll(client, "headers-compression-stream", "compressed")) {
  const text = decompressed(message);
  console.log(
    `Offset ${String(message.headers.offset)}: ${message.payload.length} bytes hold "${text.slice(0, 46)} ..."`,
  );
}

function decompressed(message: Message): string {
  const encoding = message.userHeadersMap.get("content-encoding");
  switch (encoding) {
    case undefined:
      return message.text();
    case "gzip":
      return gunzipSync(message.payload).toString();
    default:
      throw new Error(`this consumer cannot read the encoding ${String(encoding)}`);
  }
}
