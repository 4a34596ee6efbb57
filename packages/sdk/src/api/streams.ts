import {
  createStream,
  deleteStream,
  ErrorCode,
  getStream,
  getStreams,
  OptionScope,
  type Stream as WireStream,
  type StreamDetails as WireStreamDetails,
  updateResource,
} from "@iggy/protocol";
import { FeatureUnavailableError, ValidationError } from "../errors/index.js";
import { dateOfMicros } from "../values/duration.js";
import { type Id, toIdentifier, toName } from "../values/id.js";
import {
  encryptionKeyEntry,
  mergedEntries,
  optionEntries,
  type OptionInputs,
  type OptionValues,
  optionValues,
} from "../values/options.js";
import type { CallOptions, Calls } from "./caller.js";
import { getOrCreate } from "./get-or-create.js";
import { type Topic, topicOf } from "./topics.js";

/** How the messages of a stream are encrypted at rest. Fingerprints name keys, they reveal none. */
export interface StreamEncryption {
  readonly source: "none" | "stream" | "server" | "unknown";
  readonly keyFingerprint?: string;
  readonly kekFingerprints: readonly string[];
}

export interface Stream {
  readonly id: number;
  readonly name: string;
  readonly createdAt: Date;
  readonly sizeBytes: bigint;
  readonly messagesCount: bigint;
  readonly topicsCount: number;
  readonly options: OptionValues;
  readonly derivedOptions: OptionValues;
  readonly encryption: StreamEncryption;
}

export interface StreamDetails extends Stream {
  readonly topics: readonly Topic[];
}

export interface CreateStream {
  /** 1 to 255 bytes. */
  readonly name: string;
  /** A key of the stream's own: 32 bytes, or their base64 text. */
  readonly encryptionKey?: Uint8Array | string;
  readonly options?: OptionInputs;
}

export interface UpdateStream {
  readonly streamId: Id;
  readonly name?: string;
  readonly options?: OptionInputs;
  readonly reset?: readonly string[];
}

export class StreamApi {
  readonly #caller: Calls;

  constructor(caller: Calls) {
    this.#caller = caller;
  }

  /** One stream with its topics; null when it does not exist. */
  async get({ streamId }: { readonly streamId: Id }, options?: CallOptions): Promise<StreamDetails | null> {
    const request = { streamId: toIdentifier("streamId", streamId) };
    const found = await this.#caller.read(getStream, request, { streamId }, options);
    return found === null ? null : streamDetails(found);
  }

  /** All streams that the user may read. */
  async list(options?: CallOptions): Promise<Stream[]> {
    const { streams } = await this.#caller.read(getStreams, {}, {}, options);
    return streams.map(streamOf);
  }

  async create(stream: CreateStream, options?: CallOptions): Promise<StreamDetails> {
    const { name, encryptionKey } = stream;
    const request = {
      name: toName("name", name, ErrorCode.InvalidStreamName),
      options: mergedEntries(
        encryptionKey === undefined ? [] : [encryptionKeyEntry(encryptionKey)],
        optionEntries("stream", stream.options),
      ),
    };
    const created = await this.#caller.write(createStream, request, { name }, options);
    return { ...streamOf(created), topics: [] };
  }

  async update({ streamId, name, reset = [], ...stream }: UpdateStream, options?: CallOptions): Promise<true> {
    const typed =
      name === undefined ? [] : optionEntries("stream", { name: toName("name", name, ErrorCode.InvalidStreamName) });
    const patch = {
      target: { scope: OptionScope.stream, streamId: toIdentifier("streamId", streamId) },
      reset: [...reset],
      options: mergedEntries(typed, optionEntries("stream", stream.options)),
    };
    if (patch.options.length === 0 && reset.length === 0) {
      throw new ValidationError(
        ErrorCode.InvalidCommand,
        "stream.update changes nothing: name a value to set or a key to reset",
      );
    }
    await this.#caller.write(updateResource, patch, { streamId }, options);
    return true;
  }

  /** Deletes a stream with everything in it. */
  async delete({ streamId }: { readonly streamId: Id }, options?: CallOptions): Promise<true> {
    const request = { streamId: toIdentifier("streamId", streamId) };
    await this.#caller.write(deleteStream, request, { streamId }, options);
    return true;
  }

  /** The stream, created when it is missing. */
  async ensure(stream: CreateStream | string, options?: CallOptions): Promise<StreamDetails> {
    const wanted = typeof stream === "string" ? { name: stream } : stream;
    return getOrCreate(
      () => this.get({ streamId: wanted.name }, options),
      () => this.create(wanted, options),
    );
  }

  /** Gone from the protocol: delete the stream and create it again. */
  purge(): Promise<never> {
    return Promise.reject(new FeatureUnavailableError("stream.purge is gone from the protocol"));
  }
}

function streamOf(stream: WireStream): Stream {
  const options = optionValues(stream.options);
  const derivedOptions = optionValues(stream.derivedOptions);
  return {
    id: stream.id,
    name: stream.name,
    createdAt: dateOfMicros(stream.createdAt),
    sizeBytes: stream.sizeBytes,
    messagesCount: stream.messagesCount,
    topicsCount: stream.topicsCount,
    options,
    derivedOptions,
    encryption: encryptionOf(derivedOptions),
  };
}

const streamDetails = (details: WireStreamDetails): StreamDetails => ({
  ...streamOf(details.stream),
  topics: details.topics.map(topicOf),
});

function encryptionOf(values: OptionValues): StreamEncryption {
  const text = (key: string): string | undefined => (typeof values[key] === "string" ? values[key] : undefined);
  const source = text("encryption_key_source");
  const keyFingerprint = text("encryption_key_fingerprint");
  const kekFingerprints = text("encryption_kek_fingerprint");
  return {
    source: source === "none" || source === "stream" || source === "server" ? source : "unknown",
    ...(keyFingerprint === undefined ? {} : { keyFingerprint }),
    kekFingerprints: kekFingerprints === undefined ? [] : kekFingerprints.split(",").map((part) => part.trim()),
  };
}
