import { AlreadyExistsError } from "../errors/index.js";

/** What exists, made when it is missing. Who loses the race of two creators reads what the other made. */
export async function getOrCreate<T>(get: () => Promise<T | null>, create: () => Promise<T>): Promise<T> {
  const found = await get();
  if (found !== null) return found;
  try {
    return await create();
  } catch (error) {
    if (!(error instanceof AlreadyExistsError)) throw error;
    const raced = await get();
    if (raced === null) throw error;
    return raced;
  }
}
