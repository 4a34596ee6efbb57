import type { Codec } from "./codec.js";
import { readItems } from "./compounds.js";
import { rowsOf } from "./rows.js";
import type { Sample } from "./sample.js";
import { WireError } from "./wire-error.js";

type CountKey<H> = { [K in keyof H]: H[K] extends number ? K : never }[keyof H] & string;

/**
 * A header that tells how many items follow it: `{ [headKey]: header, [itemsKey]: items }`. A value whose list is not
 * as long as its header says is refused, since a reader would take the bytes after it for items.
 */
export function headed<HK extends string, H extends object, IK extends string, I>(
  type: string,
  headKey: HK,
  head: Codec<H>,
  countKey: CountKey<H>,
  itemsKey: IK,
  item: Codec<I>,
): Codec<{ readonly [K in HK]: H } & { readonly [K in IK]: readonly I[] }> {
  type Value = { readonly [K in HK]: H } & { readonly [K in IK]: readonly I[] };
  const build = (header: H, items: readonly I[]): Value => ({ [headKey]: header, [itemsKey]: items }) as Value;
  return {
    type,
    minSize: head.minSize,
    size: (value) => value[itemsKey].reduce((sum, entry) => sum + item.size(entry), head.size(value[headKey])),
    write: (w, value) => {
      const count = value[headKey][countKey] as number;
      const items: readonly I[] = value[itemsKey];
      if (count !== items.length) {
        throw new WireError("Validation", `${countKey} is ${String(count)}, but ${String(items.length)} items follow`);
      }
      head.write(w, value[headKey]);
      for (const entry of items) item.write(w, entry);
    },
    read: (r) => {
      const header = head.read(r);
      return build(header, readItems(r, item, header[countKey] as number));
    },
    sample: (s: Sample) => {
      const items = Array.from({ length: s.integer(3) }, () => item.sample(s));
      return build({ ...head.sample(s), [countKey]: items.length }, items);
    },
    rows: () => [...rowsOf(headKey, head), { path: itemsKey, type: `${item.type} × ${headKey}.${countKey}` }],
  };
}
