import { expect, it } from "vitest";
import { SessionLeases } from "../../src/sessions/lease.js";

it("a session expires after it was silent for longer than the lease", () => {
  const leases = new SessionLeases();
  leases.touch(1n, 0);
  leases.touch(2n, 0);
  leases.touch(2n, 900);
  expect(leases.expired([1n, 2n], 1000, 1000)).toEqual([]);
  expect(leases.expired([1n, 2n], 1001, 1000)).toEqual([1n]);
});

it("a session that recovery brought back counts from its first look", () => {
  const leases = new SessionLeases();
  expect(leases.expired([3n], 5000, 1000)).toEqual([]);
  expect(leases.expired([3n], 6000, 1000)).toEqual([]);
  expect(leases.expired([3n], 6001, 1000)).toEqual([3n]);
});

it("only live sessions can expire", () => {
  const leases = new SessionLeases();
  leases.touch(1n, 0);
  leases.forget(1n);
  expect(leases.expired([], 10_000, 1)).toEqual([]);
});

it("a connection renews the lease of the session that it is bound to, and never shortens it", () => {
  const leases = new SessionLeases();
  leases.heardOn({ binding: { client: 1n, session: 9, userId: 0 }, heardMillis: 500 });
  leases.heardOn({ binding: { client: 1n, session: 9, userId: 0 }, heardMillis: 100 });
  leases.heardOn({ binding: undefined, heardMillis: 900 });
  expect(leases.expired([1n], 1500, 1000)).toEqual([]);
  expect(leases.expired([1n], 1501, 1000)).toEqual([1n]);
});
