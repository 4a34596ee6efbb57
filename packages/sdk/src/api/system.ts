import {
  describeOptions,
  ErrorCode,
  getMetadataChanges,
  getSnapshot,
  getStats,
  HeaderKind,
  type HeaderKindName,
  nameOf,
  type OptionDescriptor,
  OptionFlag,
  OptionScope,
  type OptionScopeName,
  readOptionValue,
  SnapshotCompression,
  type SnapshotCompressionName,
  SnapshotType,
  type SnapshotTypeName,
  type Stats as WireStats,
} from "@iggy/protocol";
import { ValidationError } from "../errors/index.js";
import { dateOfMicros } from "../values/duration.js";
import type { OptionValue } from "../values/options.js";
import { type CallOptions, type Calls, decoding } from "./caller.js";
import {
  changesPageOf,
  type GetMetadataChanges,
  type MetadataChangesPage,
  toChangesRequest,
} from "./metadata-changes.js";

/** Figures of the node that answers. Sizes are bytes, CPU usages percent. */
export interface Stats extends Omit<WireStats, "runTime" | "startTime" | "iggyServerSemver"> {
  /** ms since the start of the server. */
  readonly runTimeMs: number;
  readonly startTime: Date;
  /** Version as one number: 0.10.0 is 10000. */
  readonly iggyServerSemver: number | null;
}

/** What a server says of one resource option. */
export interface OptionSpec {
  readonly key: string;
  /** Canonical kind of its value; `unknown` for one that is newer than this client. */
  readonly kind: HeaderKindName | "unknown";
  readonly updatable: boolean;
  readonly resettable: boolean;
  readonly secret: boolean;
  readonly readOnly: boolean;
  readonly critical: boolean;
  readonly defaultValue: OptionValue | undefined;
  readonly description: string;
}

export interface SnapshotOptions {
  /** `deflated` without it. */
  readonly compression?: SnapshotCompressionName;
  /** Everything without it. */
  readonly types?: readonly SnapshotTypeName[];
}

export class SystemApi {
  readonly #caller: Calls;
  readonly #ping: (options: CallOptions | undefined) => Promise<void>;

  constructor(caller: Calls, pingUnbound: (options: CallOptions | undefined) => Promise<void>) {
    this.#caller = caller;
    this.#ping = pingUnbound;
  }

  /** Whether the server answers. Works without a sign-in. */
  async ping(options?: CallOptions): Promise<true> {
    await this.#ping(options);
    return true;
  }

  async getStats(options?: CallOptions): Promise<Stats> {
    const { runTime, startTime, ...stats } = await this.#caller.read(getStats, {}, {}, options);
    return { ...stats, runTimeMs: Number(runTime / 1000n), startTime: dateOfMicros(startTime) };
  }

  /** The options of streams, topics or users, in catalogue order. */
  async describeOptions(
    { scope }: { readonly scope: OptionScopeName | 1 | 2 | 3 },
    options?: CallOptions,
  ): Promise<OptionSpec[]> {
    const code = typeof scope === "number" ? scope : OptionScope[scope];
    if (nameOf(OptionScope, code) === undefined) {
      throw new ValidationError(ErrorCode.InvalidCommand, "scope takes topic, stream or user");
    }
    const { entries } = await this.#caller.read(describeOptions, { scope: code }, { scope }, options);
    return entries.map(optionSpecOf);
  }

  /** Diagnostic archive of the node that answers: bytes of a ZIP file. */
  async snapshot(
    { compression = "deflated", types = ["all"] }: SnapshotOptions = {},
    options?: CallOptions,
  ): Promise<Uint8Array> {
    const request = {
      compression: SnapshotCompression[compression],
      snapshotTypes: types.map((type) => SnapshotType[type]),
    };
    return (await this.#caller.read(getSnapshot, request, {}, options)).data;
  }

  /** One page of committed metadata changes, or of the current state. */
  async getMetadataChanges(call: GetMetadataChanges, options?: CallOptions): Promise<MetadataChangesPage> {
    const page = await this.#caller.read(getMetadataChanges, toChangesRequest(call), {}, options);
    return decoding(getMetadataChanges, () => changesPageOf(page));
  }
}

function optionSpecOf(descriptor: OptionDescriptor): OptionSpec {
  const { key, kind, flags, defaultValue } = descriptor;
  const has = (flag: number): boolean => (flags & flag) !== 0;
  return {
    key,
    kind: nameOf<HeaderKindName>(HeaderKind, kind) ?? "unknown",
    updatable: has(OptionFlag.updatable),
    resettable: has(OptionFlag.resettable),
    secret: has(OptionFlag.secret),
    readOnly: has(OptionFlag.readOnly),
    critical: has(OptionFlag.critical),
    defaultValue: defaultValue.length === 0 ? undefined : readOptionValue({ key, kind, value: defaultValue })?.value,
    description: descriptor.description,
  };
}
