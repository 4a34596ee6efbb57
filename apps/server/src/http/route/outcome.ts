import type { IntegerForm, JsonObject, JsonValue, Shape } from "../json/index.js";

/** Fields of an answer's head. */
export type Headers = Readonly<Record<string, string>>;

/** What a request is answered with. */
export interface Outcome {
  readonly status: number;
  readonly headers: Headers;
  readonly content:
    | { readonly kind: "none" }
    | { readonly kind: "json"; readonly value: JsonValue }
    | { readonly kind: "raw"; readonly type: string; readonly bytes: Uint8Array | string }
    | { readonly kind: "pieces"; readonly text: PiecedText };
}

/** JSON that is too large for one text. It is made while the client takes it. */
export interface PiecedText {
  /** Bytes that it is made from, which are held until it is sent. */
  readonly sizeBytes: number;
  readonly pieces: (integers: IntegerForm) => Iterator<string, void>;
  /** Called once, when it is sent or given up. */
  readonly release: () => void;
}

/** An answer that a route may give: its description, and how to make one. */
export interface Answer {
  readonly status: number;
  readonly description: string;
  /** Media type and schema of the content; undefined without content. */
  readonly content: { readonly type: string; readonly schema: JsonObject } | undefined;
  /** Header fields that it carries beside those of every answer, with their meaning. */
  readonly headers: Headers;
}

export interface JsonAnswer<T> extends Answer {
  of(value: T, headers?: Headers): Outcome;
}

export interface EmptyAnswer extends Answer {
  of(headers?: Headers): Outcome;
}

export interface RawAnswer extends Answer {
  of(bytes: Uint8Array | string, headers?: Headers): Outcome;
}

export interface PiecesAnswer extends Answer {
  of(text: PiecedText): Outcome;
}

const noHeaders: Headers = {};

/** An answer in JSON of a shape. */
export const json = <T extends JsonValue>(
  status: number,
  description: string,
  shape: Shape<T>,
  headers: Headers = noHeaders,
): JsonAnswer<T> => ({
  status,
  description,
  content: { type: "application/json", schema: shape.schema },
  headers,
  of: (value, fields = noHeaders) => ({ status, headers: fields, content: { kind: "json", value } }),
});

/** An answer in JSON of a shape that may be large. */
export const pieces = (status: number, description: string, shape: Shape<unknown>): PiecesAnswer => ({
  status,
  description,
  content: { type: "application/json", schema: shape.schema },
  headers: noHeaders,
  of: (text) => ({ status, headers: noHeaders, content: { kind: "pieces", text } }),
});

/** An answer without content. */
export const empty = (status: number, description: string, headers: Headers = noHeaders): EmptyAnswer => ({
  status,
  description,
  content: undefined,
  headers,
  of: (fields = noHeaders) => ({ status, headers: fields, content: { kind: "none" } }),
});

/** An answer of another media type. */
export const raw = (status: number, description: string, type: string, headers: Headers = noHeaders): RawAnswer => ({
  status,
  description,
  content: { type, schema: { type: "string" } },
  headers,
  of: (bytes, fields = noHeaders) => ({ status, headers: fields, content: { kind: "raw", type, bytes } }),
});
