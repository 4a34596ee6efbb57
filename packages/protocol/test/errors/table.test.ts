import { describe, expect, it } from "vitest";
import {
  ErrorCode,
  errorEntries,
  errorInfo,
  errorName,
  IggyError,
  provesNothingStored,
  WireError,
} from "../../src/index.js";
import { loadVectors } from "../golden.js";

interface Vectors {
  readonly count: number;
  readonly unknown_code: { code: number; read_as: { code: number; name: string }; name_lookup: string };
  readonly errors: {
    code: number;
    name: string;
    variant: keyof typeof ErrorCode;
    http_status_0_11: number;
    http_field_0_11: string | null;
  }[];
}

const golden = loadVectors<Vectors>("errors");

/**
 * Statuses that differ from those of the 0.11.0 server: a client of 0.12.2 resends what got 503, so an unknown outcome
 * is 504 and every refusal before admission 503; and it reads every absence from 404.
 */
const statuses: Readonly<Record<number, number>> = { 9: 503, 57: 504, 89: 503, 90: 503, 1010: 404, 2011: 404 };

describe("error table", () => {
  it("holds the 267 errors with their numbers and both names", () => {
    expect(golden.count).toBe(267);
    expect(errorEntries().map(({ code, variant, name }) => ({ code, variant, name }))).toEqual(
      golden.errors.map(({ code, variant, name }) => ({ code, variant, name })),
    );
    for (const { code, variant } of golden.errors) expect(ErrorCode[variant]).toBe(code);
  });

  it("gives HTTP statuses and fields", () => {
    for (const error of golden.errors) {
      const info = errorInfo(error.code);
      expect([error.code, info.httpStatus]).toEqual([error.code, statuses[error.code] ?? error.http_status_0_11]);
      expect(info.httpField).toBe(error.http_field_0_11);
    }
  });

  it("reads an unknown number as the unspecified error", () => {
    const { code, read_as, name_lookup } = golden.unknown_code;
    expect(errorInfo(code)).toMatchObject(read_as);
    expect(errorName(code)).toBe(name_lookup);
  });

  it("says what happened in words when an error is made without a message", () => {
    expect(new IggyError(ErrorCode.StreamIdNotFound).message).toBe("no stream with this id");
    expect(new IggyError(ErrorCode.CannotReadBatchLength).message).toBe("cannot read batch length");
  });

  it("classifies what an SDK may do again", () => {
    const classes = (retry: string): number[] =>
      errorEntries()
        .map(({ code }) => errorInfo(code))
        .filter((info) => info.retry === retry)
        .map(({ code }) => code);
    expect(classes("safe")).toEqual([58, 61, 89, 90]);
    expect(classes("ambiguous")).toEqual([57]);
    expect(classes("new_request")).toEqual([87, 88, 94, 3014, 5009]);
    // The outcome of a request below the window is unknown, and still it must not go out again.
    expect(errorInfo(ErrorCode.RequestTooOld).retry).toBe("never");
  });

  it("takes only errors from before the read as proof that a committing read stored nothing", () => {
    expect(provesNothingStored(ErrorCode.NotPrimary, "section")).toBe(true);
    expect(provesNothingStored(ErrorCode.StreamIdNotFound, "section")).toBe(false);
    expect(provesNothingStored(ErrorCode.StreamIdNotFound, "request")).toBe(true);
    for (const code of [ErrorCode.Unauthenticated, ErrorCode.Unauthorized, ErrorCode.TransientNotCommitted]) {
      expect(provesNothingStored(code, "request")).toBe(false);
    }
  });

  it("keeps the code of a wire error and lets a command give another", () => {
    const error = new WireError("UnexpectedEof", "need 4 bytes", 12);
    expect(error).toMatchObject({ code: 3, codeName: "invalid_command", message: "need 4 bytes (at byte 12)" });
    expect(error.withCode(4)).toMatchObject({ code: 4, codeName: "invalid_format", message: error.message });
  });
});
