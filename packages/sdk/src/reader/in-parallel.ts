/** Does something for every item, at most `limit` at a time. Rejects with the first error, once all under way ended. */
export async function inParallel<T>(
  items: readonly T[],
  limit: number,
  step: (item: T) => Promise<void>,
): Promise<void> {
  let next = 0;
  const failures: unknown[] = [];
  const work = async (): Promise<void> => {
    while (next < items.length && failures.length === 0) {
      const item = items[next++];
      if (item === undefined) continue;
      try {
        await step(item);
      } catch (error) {
        failures.push(error);
      }
    }
  };
  await Promise.all(Array.from({ length: Math.min(limit, items.length) }, work));
  if (failures.length > 0) throw failures[0];
}
