/** Most names a refusal proposes. */
const PROPOSALS_MAX = 3;

/**
 * The known names a mistyped one may have meant: edit distance at most 3 or 30 % of the longer name, nearest first,
 * then alphabetical.
 */
export function nearestNames(wanted: string, known: Iterable<string>): string[] {
  const candidates: { name: string; distance: number }[] = [];
  for (const name of new Set(known)) {
    const bound = Math.max(3, Math.floor(0.3 * Math.max(wanted.length, name.length)));
    if (Math.abs(wanted.length - name.length) > bound) continue;
    const distance = editDistance(wanted, name);
    if (distance <= bound) candidates.push({ name, distance });
  }
  candidates.sort((a, b) => a.distance - b.distance || (a.name < b.name ? -1 : 1));
  return candidates.slice(0, PROPOSALS_MAX).map((candidate) => candidate.name);
}

/** Levenshtein distance of two short names. */
function editDistance(a: string, b: string): number {
  let previous = Array.from({ length: b.length + 1 }, (_, column) => column);
  for (let row = 1; row <= a.length; row++) {
    const current = [row];
    for (let column = 1; column <= b.length; column++) {
      const substitution = (previous[column - 1] ?? 0) + (a[row - 1] === b[column - 1] ? 0 : 1);
      current.push(Math.min(substitution, (previous[column] ?? 0) + 1, (current[column - 1] ?? 0) + 1));
    }
    previous = current;
  }
  return previous[b.length] ?? 0;
}
