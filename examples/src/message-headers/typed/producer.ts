import { connect, type HeaderEntry, HeaderKeyFactory, HeaderValue } from "@iggy/sdk";
import { sendAll } from "../../first-partition.js";
import { rootUrl } from "../../server-address.js";

/** A value of every kind. Keys are text here; the last two show that a key has a kind as well. */
const headers: HeaderEntry[] = [
  { key: "raw", value: HeaderValue.Raw(Uint8Array.of(0xca, 0xfe)) },
  { key: "string", value: HeaderValue.String("Grüße") },
  { key: "bool", value: HeaderValue.Bool(true) },
  { key: "int8", value: HeaderValue.Int8(-8) },
  { key: "int16", value: HeaderValue.Int16(-1600) },
  { key: "int32", value: HeaderValue.Int32(-320_000) },
  { key: "int64", value: HeaderValue.Int64(-64_000_000_000n) },
  { key: "int128", value: HeaderValue.Int128(-(2n ** 100n)) },
  { key: "uint8", value: HeaderValue.Uint8(8) },
  { key: "uint16", value: HeaderValue.Uint16(1600) },
  { key: "uint32", value: HeaderValue.Uint32(320_000) },
  { key: "uint64", value: HeaderValue.Uint64(2n ** 63n) },
  { key: "uint128", value: HeaderValue.Uint128(2n ** 127n) },
  { key: "float32", value: HeaderValue.Float32(0.5) },
  { key: "float64", value: HeaderValue.Float64(Math.PI) },
  { key: HeaderKeyFactory.Uint32(42), value: "a numeric key" },
  { key: HeaderKeyFactory.Raw(Uint8Array.of(1, 2, 3)), value: "a key of bytes" },
];

await using client = await connect(rootUrl);
await sendAll(client, "headers-typed-stream", "typed", [{ payload: "a message with headers of every kind", headers }]);
console.log(`Sent a message with ${headers.length} headers.`);
