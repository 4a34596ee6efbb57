import { ErrorCode, errorEntries, provesNothingStored } from "@iggy/protocol";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { type CallState, decide, type Effect } from "../src/calls/decide.js";
import { DisconnectedError, EvictionError, IggyError, ProtocolFrameError, ResponseError } from "../src/index.js";
import { errorOf } from "../src/errors/index.js";

/*
 * Rules that hold for every error code and every kind of call, beside the sequences that other tests play through.
 */

const codes = errorEntries().map(({ code }) => code);
const effects: readonly Effect[] = ["read", "next-read", "committing-read", "write"];

const state = fc.record({
  effect: fc.constantFrom(...effects),
  target: fc.constantFrom("metadata", "partition", "replica"),
  isUncertain: fc.boolean(),
  isPinned: fc.boolean(),
  mayStartOver: fc.boolean(),
  notPrimaryInARow: fc.nat(3),
  brokenLinks: fc.nat(3),
}) satisfies fc.Arbitrary<CallState>;
const code = fc.constantFrom(...codes);

const refusal = (value: number, proven = false) => ({ kind: "refused", code: value, proven }) as const;

describe("an uncertain write", () => {
  const uncertain = state.map((call): CallState => ({ ...call, effect: "write", isUncertain: true }));

  test("is never done without the proof of a commit", () => {
    fc.assert(
      fc.property(uncertain, (call) => {
        const payload = new Uint8Array(0);
        expect(decide({ kind: "success", proven: false, payload }, call).kind).toBe("retry");
        expect(decide({ kind: "success", proven: true, payload }, call).kind).toBe("done");
      }),
    );
  });

  test("is never made new, and fails only with what is proved or can not be asked again", () => {
    fc.assert(
      fc.property(uncertain, code, (call, value) => {
        const step = decide(refusal(value), call);
        expect(step.kind).not.toBe("renew");
        if (step.kind === "fail") {
          const isFinal = value === ErrorCode.RequestAlreadyApplied || value === ErrorCode.RequestTooOld;
          expect(isFinal || (call.target === "replica" && value === ErrorCode.NotPrimary)).toBe(true);
        }
        expect(decide(refusal(value, true), call)).toMatchObject({ kind: "fail", code: value });
      }),
    );
  });
});

describe("a committing read", () => {
  const committing = state.map((call): CallState => ({ ...call, effect: "committing-read" }));

  test("is sent again only after a refusal that proves that nothing was stored", () => {
    fc.assert(
      fc.property(committing, code, (call, value) => {
        const step = decide(refusal(value), call);
        if (!provesNothingStored(value, "request")) expect(step.kind).toBe("uncertain");
      }),
    );
  });

  test("is never sent again after its link was lost", () => {
    fc.assert(
      fc.property(committing, (call) => {
        expect(decide({ kind: "lost", sent: true, error: new DisconnectedError() }, call).kind).toBe("uncertain");
        expect(decide({ kind: "lost", sent: false, error: new DisconnectedError() }, call).kind).toBe("retry");
      }),
    );
  });
});

test("a read from the stored offset is not repeated once it may have been served", () => {
  fc.assert(
    fc.property(state, (call) => {
      const read: CallState = { ...call, effect: "next-read" };
      expect(decide({ kind: "lost", sent: true, error: new DisconnectedError() }, read).kind).toBe("fail");
      expect(decide(refusal(57), read)).toMatchObject({ kind: "fail", code: 57 });
    }),
  );
});

test("a frame that was not sent makes nothing uncertain", () => {
  fc.assert(
    fc.property(state, (call) => {
      const step = decide({ kind: "lost", sent: false, error: new DisconnectedError() }, call);
      expect(step).toMatchObject({ kind: "retry", becomesUncertain: false });
    }),
  );
});

test("only one retry in a row comes without a pause", () => {
  fc.assert(
    fc.property(state, code, (call, value) => {
      const step = decide(refusal(value), call);
      if (step.kind === "retry" && !step.pause) {
        expect(value).toBe(ErrorCode.NotPrimary);
        expect(call.notPrimaryInARow).toBe(0);
      }
    }),
  );
});

test("evictions and malformed frames do not loop", () => {
  const read: CallState = {
    effect: "read",
    target: "metadata",
    isUncertain: false,
    isPinned: false,
    mayStartOver: false,
    notPrimaryInARow: 0,
    brokenLinks: 2,
  };
  const wrong = new EvictionError(3, "InvalidRequestBody", "");
  expect(decide({ kind: "lost", sent: true, error: wrong }, read).kind).toBe("fail");
  expect(decide({ kind: "lost", sent: true, error: wrong }, { ...read, effect: "write" }).kind).toBe("uncertain");
  const broken = new ProtocolFrameError(3, "");
  expect(decide({ kind: "lost", sent: true, error: broken }, read).kind).toBe("fail");
  expect(decide({ kind: "lost", sent: true, error: broken }, { ...read, brokenLinks: 1 }).kind).toBe("retry");
  const gone = new EvictionError(40, "NoSession", "");
  expect(decide({ kind: "lost", sent: true, error: gone }, read).kind).toBe("retry");
});

test("every code of the protocol has an error of the tree with its number and name", () => {
  for (const { code: value, name } of errorEntries()) {
    const error = errorOf(value, "text");
    expect(error).toBeInstanceOf(IggyError);
    expect(error).toMatchObject({ code: value, errorName: name, errorCode: value, message: "text" });
    expect(error.name).not.toBe("Error");
  }
  const unknown = errorOf(999_999, "text");
  expect(unknown).toBeInstanceOf(ResponseError);
  expect(unknown).toMatchObject({ code: 999_999, errorName: "unknown" });
});
