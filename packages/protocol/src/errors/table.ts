/** Placeholder of the first commit; the full table follows with chapter 05. */
export function errorName(code: number): string {
  return `error_${String(code)}`;
}
