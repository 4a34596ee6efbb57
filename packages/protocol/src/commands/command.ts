import { type Codec, decode, decodeExact, empty, encode, rowsOf, WireError } from "../codec/index.js";
import { ErrorCode, IggyError } from "../errors/index.js";

/**
 * One command of the protocol: its number, names and the layouts of both bodies. `Res` includes `null` where an empty
 * reply means that the object does not exist.
 */
export interface Command<Req, Res> {
  readonly code: number;
  /** Name of the command registry, such as `stream.create`. */
  readonly name: string;
  /** Name in prose, such as `CreateStream`. */
  readonly title: string;
  /** Operation in the request header: its own for replicated commands, `NonReplicated` for reads. */
  readonly operation: number;
  readonly request: Codec<Req>;
  /** Whether bytes behind the last field of a request are refused; plain requests ignore them. */
  readonly exact: boolean;
  readonly response: Codec<NonNullable<Res>>;
  /** Whether an empty reply means "none". */
  readonly absent: boolean;
  /** False for the one command that is never answered. */
  readonly answered: boolean;
  /** Error code that a client reports for a reply it can not decode, where the command has its own. */
  readonly malformedReplyCode: number | undefined;
}

export type AnyCommand = Command<unknown, unknown>;
export type RequestOf<C> = C extends Command<infer Req, unknown> ? Req : never;
export type ResponseOf<C> = C extends Command<unknown, infer Res> ? Res : never;

interface Declaration<Req, Res> {
  readonly code: number;
  readonly name: string;
  readonly title: string;
  readonly operation: number;
  readonly request: Codec<Req>;
  readonly exact?: boolean;
  readonly response: Codec<Res>;
  readonly answered?: boolean;
  readonly malformedReplyCode?: number;
}

export function command<Req, Res extends object>(
  declaration: Declaration<Req, Res> & { readonly absent: true },
): Command<Req, Res | null>;
export function command<Req, Res extends object>(declaration: Declaration<Req, Res>): Command<Req, Res>;
export function command<Req, Res extends object>(
  declaration: Declaration<Req, Res> & { readonly absent?: true },
): Command<Req, Res | null> {
  return {
    code: declaration.code,
    name: declaration.name,
    title: declaration.title,
    operation: declaration.operation,
    request: declaration.request,
    exact: declaration.exact ?? false,
    response: declaration.response,
    absent: declaration.absent ?? false,
    answered: declaration.answered ?? true,
    malformedReplyCode: declaration.malformedReplyCode,
  };
}

export function encodeRequest<Req>(command: Command<Req, unknown>, request: Req): Uint8Array {
  return encode(command.request, request);
}

/** A malformed body throws a `WireError`, which a server answers with its code (3 unless the fault has its own). */
export function decodeRequest<Req>(command: Command<Req, unknown>, body: Uint8Array): Req {
  return command.exact ? decodeExact(command.request, body) : decode(command.request, body);
}

export function encodeResponse<Res>(command: Command<unknown, Res>, response: Res): Uint8Array {
  if (response !== null && response !== undefined) return encode(command.response, response);
  if (command.absent) return new Uint8Array(0);
  throw new IggyError(ErrorCode.InvalidCommand, `${command.title} has no reply without a value`);
}

/** Decodes the payload of a successful reply, result section stripped. `null` where an empty one means "none". */
export function decodeResponse<Res>(command: Command<unknown, Res>, payload: Uint8Array): Res {
  if (command.absent && payload.length === 0) return null as Extract<Res, null>;
  try {
    return decode(command.response, payload);
  } catch (error) {
    if (error instanceof WireError && command.malformedReplyCode !== undefined) {
      throw error.withCode(command.malformedReplyCode);
    }
    throw error;
  }
}

/** Layout of one body as rows of path and wire type, for documents. */
export function layoutTable(command: AnyCommand, body: "request" | "response" = "request"): string {
  const codec = command[body];
  if (codec === empty) return "empty";
  const rows = rowsOf("body", codec).map(({ path, type }) => `| ${path.replace(/^body\./, "")} | ${type} |`);
  return ["| Field | Type |", "| --- | --- |", ...rows].join("\n");
}
