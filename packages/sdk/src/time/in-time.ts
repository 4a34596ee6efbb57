const longestTimerMs = 2 ** 31 - 1;

/** Waits for work, at most so long and as long as nobody aborts; the work itself goes on. `late` makes the error. */
export async function withinTime<T>(
  work: Promise<T>,
  { timeoutMs, signal }: { readonly timeoutMs: number; readonly signal?: AbortSignal | undefined },
  late: () => Error,
): Promise<T> {
  // Who gives up first must not make the work's own failure an unhandled one.
  work.catch(() => undefined);
  signal?.throwIfAborted();
  let stop = (): void => undefined;
  let timer: ReturnType<typeof setTimeout> | undefined;
  const stopped = new Promise<"late" | "aborted">((resolve) => {
    stop = () => resolve("aborted");
    if (timeoutMs <= longestTimerMs) timer = setTimeout(() => resolve("late"), timeoutMs);
  });
  signal?.addEventListener("abort", stop, { once: true });
  try {
    return await Promise.race([
      work,
      stopped.then((how) => {
        signal?.throwIfAborted();
        throw how === "late" ? late() : new Error("aborted without a signal");
      }),
    ]);
  } finally {
    clearTimeout(timer);
    signal?.removeEventListener("abort", stop);
  }
}
