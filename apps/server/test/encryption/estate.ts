import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import {
  createStream,
  createTopic,
  getStream,
  namedId,
  numericId,
  type OptionEntry,
  type Stream,
} from "@iggy/protocol";
import { developmentEnvironment, RawPartition, type RawSession, ServerProcess } from "../raw-client/index.js";

/** Server keys of the tests, in base64. */
export const serverKey = (byte: number): string => Buffer.alloc(32, byte).toString("base64");

export interface EncryptionKeys {
  readonly enabled?: boolean;
  readonly key?: string;
  readonly previous?: readonly string[];
  readonly retired?: readonly string[];
}

export const startServer = (dataDirectory: string, keys: EncryptionKeys): Promise<ServerProcess> =>
  ServerProcess.start({ dataDirectory, environment: environmentOf(keys) });

export const environmentOf = ({ enabled, key, previous, retired }: EncryptionKeys): Record<string, string> => ({
  ...developmentEnvironment,
  // The log is searched for keys as well.
  IGGY_LOGGING_FILE_ENABLED: "true",
  IGGY_LOGGING_LEVEL: "trace",
  IGGY_ENCRYPTION_ENABLED: String(enabled ?? false),
  ...(key === undefined ? {} : { IGGY_ENCRYPTION_KEY: key }),
  ...(previous === undefined ? {} : { IGGY_ENCRYPTION_PREVIOUS_KEYS: `[${previous.join(",")}]` }),
  ...(retired === undefined ? {} : { IGGY_ENCRYPTION_RETIRED_KEK_FINGERPRINTS: `[${retired.join(",")}]` }),
});

export const newStream = (session: RawSession, name: string, options: readonly OptionEntry[] = []): Promise<Stream> =>
  session.call(createStream, { name, options });

/** The first partition of a new topic in a stream that is there. */
export async function newTopic(
  session: RawSession,
  stream: string,
  options: readonly OptionEntry[] = [],
  partitionsCount = 1,
): Promise<RawPartition> {
  const streamId = namedId(stream);
  const { topic } = await session.call(createTopic, { streamId, partitionsCount, name: "topic", options });
  return RawPartition.of(session, streamId, numericId(topic.id));
}

export const partitionOf = (session: RawSession, stream: string): Promise<RawPartition> =>
  RawPartition.of(session, namedId(stream), numericId(0));

/** What a stream shows of its key, by option name without `encryption_`. */
export async function shownKey(session: RawSession, stream: string): Promise<Record<string, string>> {
  const found = await session.call(getStream, { streamId: namedId(stream) });
  if (found === null) throw new Error(`no stream ${stream}`);
  return textsOf(found.stream);
}

export const textsOf = ({ derivedOptions }: Pick<Stream, "derivedOptions">): Record<string, string> =>
  Object.fromEntries(
    derivedOptions.map(({ key, value }) => [key.replace("encryption_", ""), Buffer.from(value).toString()]),
  );

/** Every file below a directory that holds one of the byte strings, with what it holds. */
export async function filesWith(directory: string, wanted: Readonly<Record<string, Uint8Array>>): Promise<string[]> {
  const found: string[] = [];
  for (const entry of await readdir(directory, { recursive: true, withFileTypes: true })) {
    if (!entry.isFile()) continue;
    const path = join(entry.parentPath, entry.name);
    const content = await readFile(path);
    for (const [name, bytes] of Object.entries(wanted)) {
      if (content.includes(Buffer.from(bytes))) found.push(`${path}: ${name}`);
    }
  }
  return found;
}

/** The forms in which a key could have got into a file or a log. */
export function formsOf(name: string, key: Uint8Array): Record<string, Uint8Array> {
  const bytes = Buffer.from(key);
  return {
    [`${name} raw`]: bytes,
    [`${name} base64`]: Buffer.from(bytes.toString("base64").replace(/=+$/, "")),
    [`${name} hex`]: Buffer.from(bytes.toString("hex")),
    [`${name} HEX`]: Buffer.from(bytes.toString("hex").toUpperCase()),
    [`${name} list`]: Buffer.from([...bytes].join(",")),
  };
}
