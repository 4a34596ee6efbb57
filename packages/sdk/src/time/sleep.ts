import { unref } from "./timers.js";

/** Waits. Rejects with the reason of `signal`. In the background it does not keep the process alive. */
export async function sleep(
  ms: number,
  { signal, background = false }: { readonly signal?: AbortSignal; readonly background?: boolean } = {},
): Promise<void> {
  signal?.throwIfAborted();
  await new Promise<void>((resolve) => {
    const done = (): void => {
      clearTimeout(timer);
      signal?.removeEventListener("abort", done);
      resolve();
    };
    const timer = setTimeout(done, ms);
    if (background) unref(timer);
    signal?.addEventListener("abort", done, { once: true });
  });
  signal?.throwIfAborted();
}
