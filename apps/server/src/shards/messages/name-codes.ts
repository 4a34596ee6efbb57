/** A name as its place in a list that both sides share; they are the same build. */
export function codeOf<N extends string>(names: readonly N[], name: N): number {
  return names.indexOf(name);
}

export function nameOf<N extends string>(names: readonly N[], code: number): N {
  const name = names[code];
  if (name === undefined) throw new RangeError(`${code} is none of ${names.join(", ")}`);
  return name;
}
