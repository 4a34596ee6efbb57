/** Runs once after so long; gives how to cancel it. */
export function afterTimeout(delayMillis: number, run: () => void): () => void {
  const timer = setTimeout(run, delayMillis);
  return () => clearTimeout(timer);
}
