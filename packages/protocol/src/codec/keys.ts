/** The keys of a literal object under their own names. The language types them as any strings. */
export const keysOf = <T extends object>(record: T): (keyof T & string)[] =>
  Object.keys(record) as (keyof T & string)[];
