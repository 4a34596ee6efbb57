/** Lets the process end while the timer is pending. Browsers have no such notion: there a timer is a number. */
export function unref(timer: unknown): void {
  if (isRefCounted(timer)) timer.unref();
}

interface RefCounted {
  unref(): void;
}

const isRefCounted = (timer: unknown): timer is RefCounted =>
  typeof timer === "object" && timer !== null && "unref" in timer && typeof timer.unref === "function";

/** Milliseconds of a clock that only moves forward. */
export const monotonicMs = (): number => performance.now();
