/** The smallest piece of a slab: a page. */
export const UNIT_BYTES = 4096;

/** Blocks above one page take multiples of this many, so that few sizes are in use and released blocks fit again. */
const UNITS_STEP = 4;

/** Units of a block for so many bytes. */
export function unitsFor(bytes: number): number {
  if (!Number.isSafeInteger(bytes) || bytes < 1) throw new RangeError(`a block has at least one byte, not ${bytes}`);
  const units = Math.ceil(bytes / UNIT_BYTES);
  return units === 1 ? 1 : Math.ceil(units / UNITS_STEP) * UNITS_STEP;
}
