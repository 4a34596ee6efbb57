/** What a stream reads and closes. */
interface Source<Item> extends AsyncIterable<Item> {
  close(): Promise<void>;
}

/** A WHATWG stream of what a reader hands over. It takes one item at a time, when it is asked to. */
export function toReadableStream<Item>(source: Source<Item>): ReadableStream<Item> {
  const iterator = source[Symbol.asyncIterator]();
  return new ReadableStream<Item>(
    {
      async pull(controller) {
        try {
          const result = await iterator.next();
          if (result.done === true) controller.close();
          else controller.enqueue(result.value);
        } catch (error) {
          // A stream that failed can not go on, so neither does what it reads.
          await source.close();
          throw error;
        }
      },
      cancel: () => source.close(),
    },
    // Nothing is taken ahead of the reader: what was taken would count as handed over.
    { highWaterMark: 0 },
  );
}
